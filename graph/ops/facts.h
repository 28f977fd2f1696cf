// Facts that ONNX's schemas do not state about an op: one row per op, one table per family.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "graph/ops/multiply_adds.h"
#include "graph/ops/row_rules.h"

namespace onward {

// The treatment of an op of floats by mixed precision.
enum class AutocastClass {
  kLower,   // gains much from 16-bit floats and loses little
  kFull,    // stays in float32: its sums or its range need it
  kFollow,  // takes the widest of its inputs' dtypes
};

// The treatment of an op of 16-bit floats by a pass, for devices that compute in float32.
enum class Widening {
  kNever,
  kComputes,  // it runs in float32
  kMoves,     // it moves, chooses or compares elements: float32 where its inputs are that already
};

struct OpFacts {
  std::string_view op;
  std::string_view domain = "";
  AutocastClass autocast = AutocastClass::kFull;
  Widening widening = Widening::kNever;
  Products (*multiply_adds)(const Graph& graph, const Node& node) = nullptr;
  bool random = false;            // two runs on equal inputs may differ
  bool view = false;              // output 0 has the elements of input 0 in their order
  bool reads_shape_only = false;  // of input 0, not its elements
  RowRule rows = nullptr;         // null: rows of a batch may influence each other
};

// Finds the row of an op of ai.onnx (""), onward or com.microsoft. Null for an op without a row:
// nothing is known of it, so it stays full and nothing is assumed.
const OpFacts* FindFacts(std::string_view op, std::string_view domain);

// Reads the node's row; empty where the node lacks an input that the row reads.
Products MultiplyAddsOf(const Graph& graph, const Node& node);

absl::Span<absl::Span<const OpFacts> (*const)()> FactFamilies();

// Rows by family. Autocast classes of ai.onnx follow the autocast lists of PyTorch 2 where those
// speak.
absl::Span<const OpFacts> AllReduceFacts();
absl::Span<const OpFacts> AttentionFacts();
absl::Span<const OpFacts> BinaryFacts();
absl::Span<const OpFacts> CastFacts();
absl::Span<const OpFacts> ConstantFacts();
absl::Span<const OpFacts> ControlFlowFacts();
absl::Span<const OpFacts> ConvFacts();
absl::Span<const OpFacts> CopyFacts();
absl::Span<const OpFacts> GatherScatterFacts();
absl::Span<const OpFacts> LayoutFacts();
absl::Span<const OpFacts> LossFacts();
absl::Span<const OpFacts> MatmulFacts();
absl::Span<const OpFacts> NormalizationFacts();
absl::Span<const OpFacts> PoolFacts();
absl::Span<const OpFacts> QuantizeFacts();
absl::Span<const OpFacts> RandomFacts();
absl::Span<const OpFacts> RecurrentFacts();
absl::Span<const OpFacts> ReduceFacts();
absl::Span<const OpFacts> RequireFacts();
absl::Span<const OpFacts> ResizeFacts();
absl::Span<const OpFacts> SequenceFacts();
absl::Span<const OpFacts> SignalFacts();
absl::Span<const OpFacts> SoftmaxFacts();
absl::Span<const OpFacts> StopGradientFacts();
absl::Span<const OpFacts> StringFacts();
absl::Span<const OpFacts> UnaryFacts();

}  // namespace onward

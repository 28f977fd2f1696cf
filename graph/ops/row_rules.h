// Rules by which ops pass on the rows of a batch: whether an output's row needs the same row of the
// inputs alone, and along which axis the rows lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward {

// The relation of a value to the rows of a batch.
struct Rows {
  enum class Kind : uint8_t {
    kNone,   // it depends neither on the rows nor on their number
    kCount,  // it depends on their number alone
    kAlong,  // each row's part lies along `axis`, in the rows' order, and depends on this row alone
    kPlace,  // likewise, and each element is its row's number
    kIndex,  // likewise, and the first element of each vector along the last axis is its row's
             // number
    kMixed,  // rows may influence each other
  };
  Kind kind = Kind::kNone;
  int64_t axis = 0;

  static Rows Along(int64_t axis) { return {Kind::kAlong, axis}; }
};

// A node one of whose inputs has rows along an axis, and none is mixed.
struct RowNode {
  const Graph& graph;
  const Node& node;
  absl::Span<const Rows> inputs;  // kNone for those that are omitted
  const Dim& batch;               // the number of rows

  // Returns whether input i has rows along an axis.
  bool is_along(size_t i) const {
    return i < inputs.size() && inputs[i].kind == Rows::Kind::kAlong;
  }
  // Null where it is omitted or its rank is not known.
  const SymbolicDims* shape(size_t i) const;
  const SymbolicDims* output_shape() const;  // of the first output
  // Returns whether input i is the same for all rows where another one has them at `from_end` axes
  // from the end.
  bool broadcasts_to(size_t i, int64_t from_end) const;
};

// The rows of the node's output; nullopt where rows may influence each other. The caller compares
// the output's dims with what is returned.
using RowRule = std::optional<Rows> (*)(const RowNode& at, size_t output);

// Rows along axis 0 of the first input stay there; other inputs have none.
std::optional<Rows> FirstAxisRows(const RowNode& at, size_t output);
// Rows along axis 0 of any inputs stay there.
std::optional<Rows> FirstAxesRows(const RowNode& at, size_t output);
std::optional<Rows> ElementwiseRows(const RowNode& at, size_t output);  // with broadcasting
// Along the axis of attribute or second input `axis` (-1 where it is missing) elements are mixed.
std::optional<Rows> AlongAxisRows(const RowNode& at, size_t output);
std::optional<Rows> FromAxisRows(const RowNode& at,
                                 size_t output);                   // along all axes from `axis` on
std::optional<Rows> ReduceRows(const RowNode& at, size_t output);  // over `axes`
std::optional<Rows> ArgReduceRows(const RowNode& at, size_t output);
std::optional<Rows> ReshapeRows(const RowNode& at, size_t output);  // elements in equal order
std::optional<Rows> TransposeRows(const RowNode& at, size_t output);
std::optional<Rows> ConcatRows(const RowNode& at, size_t output);
std::optional<Rows> SliceRows(const RowNode& at, size_t output);
std::optional<Rows> SplitRows(const RowNode& at, size_t output);
std::optional<Rows> PadRows(const RowNode& at, size_t output);
std::optional<Rows> MatrixRows(const RowNode& at, size_t output);  // each matrix by itself
std::optional<Rows> TileRows(const RowNode& at, size_t output);
std::optional<Rows> DftRows(const RowNode& at, size_t output);
std::optional<Rows> EinsumRows(const RowNode& at, size_t output);
std::optional<Rows> DeformConvRows(const RowNode& at, size_t output);
std::optional<Rows> CausalConvRows(const RowNode& at, size_t output);
std::optional<Rows> OneHotRows(const RowNode& at, size_t output);
std::optional<Rows> ReverseSequenceRows(const RowNode& at, size_t output);
std::optional<Rows> MaxPoolRows(const RowNode& at, size_t output);  // indices count all rows
std::optional<Rows> BatchNormalizationRows(const RowNode& at, size_t output);
std::optional<Rows> AttentionRows(const RowNode& at, size_t output);
std::optional<Rows> DropoutRows(const RowNode& at, size_t output);  // of inference
std::optional<Rows> QuantizeRows(const RowNode& at, size_t output);
std::optional<Rows> ExpandRows(const RowNode& at, size_t output);
std::optional<Rows> GatherRows(const RowNode& at, size_t output);
std::optional<Rows> GatherNDRows(const RowNode& at, size_t output);
std::optional<Rows> GatherElementsRows(const RowNode& at, size_t output);
std::optional<Rows> MatMulRows(const RowNode& at, size_t output);
std::optional<Rows> QuantizedMatMulRows(const RowNode& at, size_t output);
std::optional<Rows> GemmRows(const RowNode& at, size_t output);
std::optional<Rows> RecurrentRows(const RowNode& at, size_t output);

}  // namespace onward

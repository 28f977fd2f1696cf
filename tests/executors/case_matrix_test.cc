// Every case of every family by the ways to its values that are not a kernel alone: inference, with
// sizes and with ranks that are not known before the run, through the op's formula or function
// body, and from exported models of all opsets. tests/kernels/cases_test.cc runs the kernels of the
// CPU, tests/emulated_cuda/cases_test.cc those of a device.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onnx_io/expand_functions.h"
#include "onward/export.h"
#include "onward/import.h"
#include "onward/session.h"
#include "onward/status.h"
#include "tests/cases/case_model.h"
#include "tests/cases/cases.h"

namespace onward {
namespace {

using cases::OpCase;

// Cases, as "<op> <case>", for which a way does not give the expected values, and why.
using Gaps = std::map<std::string, std::string>;

enum class Sizes { kKnown, kSymbols, kOpenRanks };

Model ModelOf(const OpCase& c, Sizes sizes) {
  Model model = cases::CaseModel(c, 0);
  GraphEdit edit(model.graph);
  for (const ValueId id : model.graph.inputs()) {
    Type& type = edit.type(id);
    if (sizes == Sizes::kOpenRanks) type.shape.reset();
    if (sizes != Sizes::kSymbols) continue;
    for (size_t axis = 0; axis < type.shape->size(); ++axis)
      (*type.shape)[axis] = SymbolDim(absl::StrCat(model.graph.value(id).name, "_", axis));
  }
  return model;
}

// The first difference of what the model computes from what the case expects, or an error.
std::string Difference(const OpCase& c, absl::StatusOr<Model> model) {
  if (!model.ok()) return std::string(model.status().message());
  SessionOptions options;
  options.num_threads = 1;
  const auto session = Session::Create(*std::move(model), options);
  if (!session.ok()) return std::string(session.status().message());
  return cases::CaseDifference(c, **session);
}

// Runs every case by `way`, which returns what went wrong, and holds the gaps to be what goes
// wrong.
void ExpectAll(std::string (*way)(const OpCase& c), const Gaps& gaps) {
  std::set<std::string> used;
  for (const OpCase& c : cases::AllCases()) {
    const std::string name = absl::StrCat(c.op, " ", c.name);
    const std::string wrong = way(c);
    if (wrong.empty()) continue;
    if (gaps.count(name) != 0) {
      used.insert(name);
    } else {
      ADD_FAILURE() << name << ": " << wrong;
    }
  }
  for (const auto& [gap, reason] : gaps)
    EXPECT_EQ(used.count(gap), 1u) << gap << " is no gap any longer: " << reason;
}

// Compares the types that inference gives the outputs with the expected tensors.
std::string Inferred(const OpCase& c) {
  Model model = ModelOf(c, Sizes::kKnown);
  const absl::Status status = InferGraph(model.graph);
  if (!status.ok()) return std::string(status.message());
  size_t output = 0;
  for (const Tensor& expected : c.expected) {
    if (expected.empty()) continue;
    const Type& type = model.graph.type(model.graph.outputs()[output++]);
    const Type actual = Type::Tensor(expected.dtype(), expected.dims());
    if (type.dtype == DType::kUndefined || !actual.CompatibleWith(type))
      return absl::StrCat("inferred ", type.ToString(), ", is ", actual.ToString());
  }
  return "";
}

TEST(CaseMatrix, TypesAreInferred) { ExpectAll(Inferred, {}); }

std::string WithSymbols(const OpCase& c) { return Difference(c, ModelOf(c, Sizes::kSymbols)); }

TEST(CaseMatrix, SizesMayBeSymbols) { ExpectAll(WithSymbols, {}); }

std::string WithOpenRanks(const OpCase& c) { return Difference(c, ModelOf(c, Sizes::kOpenRanks)); }

TEST(CaseMatrix, RanksMayBeOpen) { ExpectAll(WithOpenRanks, {}); }

// By the op's formula or function body; nothing for ops without.
std::string InParts(const OpCase& c) {
  Model model = ModelOf(c, Sizes::kKnown);
  const auto expand = [&] {
    ONWARD_RETURN_IF_ERROR(InferGraph(model.graph));
    return onnx_io::ExpandFunctions(
        model.graph, [&](const Graph& graph, NodeId id) { return graph.node(id).op_type != c.op; });
  };
  const absl::Status status = expand();
  if (!status.ok()) return std::string(status.message());
  const std::vector<NodeId> nodes = model.graph.node_ids();
  if (nodes.size() == 1 && model.graph.node(nodes[0]).op_type == c.op) return "";
  return Difference(c, std::move(model));
}

// Function bodies of the standard that do not compute what the op's text says.
const Gaps kBodyGaps = {
    {"BlackmanWindow blackmanwindow_one", "divides by a size of 0"},
    {"Clip clip_bf16", "is of an opset whose Where has no bfloat16"},
    {"DynamicQuantizeLinear dynamic_3", "divides by a range of 0"},
    {"Gelu gelu_0_f16", "rounds each step to 16 bits"},
    {"Gelu gelu_1_bf16", "rounds each step to 16 bits"},
    {"HammingWindow hammingwindow_one", "divides by a size of 0"},
    {"HannWindow hannwindow_one", "divides by a size of 0"},
    {"HardSigmoid hardsigmoid_1_bf16", "rounds each step to 16 bits"},
    {"HardSigmoid hardsigmoid_1_f16", "rounds each step to 16 bits"},
    {"LayerNormalization layer_broadcast_scale",
     "flattens, so that a scale of several axes is lost"},
    {"LinearAttention linear_attention_no_steps", "reshapes no elements to a size of -1"},
    {"MeanVarianceNormalization bf16", "has a constant of float32"},
    {"MeanVarianceNormalization f16", "has a constant of float32"},
    {"MeanVarianceNormalization f64", "has a constant of float32"},
    {"RMSNormalization rms_mixed", "multiplies float16 by float32"},
    {"Range widest", "computes the number of elements in the elements' type"},
    {"ReduceLogSumExp lse_large", "overflows in Exp"},
    {"Shrink shrink_u16", "negates unsigned integers"},
    {"Shrink shrink_u32", "negates unsigned integers"},
    {"Shrink shrink_u64", "negates unsigned integers"},
    {"Shrink shrink_u8", "negates unsigned integers"},
    {"SoftmaxCrossEntropyLoss sce_bf16", "is of an opset whose NegativeLogLikelihoodLoss has none"},
};

TEST(CaseMatrix, PartsGiveTheSame) { ExpectAll(InParts, kBodyGaps); }

absl::StatusOr<Model> Reimported(const OpCase& c, int64_t opset) {
  Model model = ModelOf(c, Sizes::kKnown);
  ONWARD_RETURN_IF_ERROR(InferGraph(model.graph));
  ExportOptions options;
  options.opset = opset;
  ONWARD_ASSIGN_OR_RETURN(const std::string bytes, ExportBytes(model, options));
  return ImportBytes(bytes);
}

std::string Exported(const OpCase& c) { return Difference(c, Reimported(c, 0)); }

TEST(CaseMatrix, ExportedModelsGiveTheSame) { ExpectAll(Exported, {}); }

// The opsets that say what the case computes; the others are refused by name.
std::string ExportedAsOld(const OpCase& c) {
  for (int64_t opset = 11; opset <= 28; ++opset) {
    absl::StatusOr<Model> model = Reimported(c, opset);
    if (model.status().code() == absl::StatusCode::kUnimplemented) continue;
    const std::string wrong = Difference(c, std::move(model));
    if (!wrong.empty()) return absl::StrCat("opset ", opset, ": ", wrong);
  }
  return "";
}

TEST(CaseMatrix, ModelsOfOldOpsetsGiveTheSame) {
  Gaps gaps;  // ops that are written as their bodies
  for (const char* name :
       {"BlackmanWindow blackmanwindow_one", "Gelu gelu_0_f16", "Gelu gelu_1_bf16",
        "HammingWindow hammingwindow_one", "HannWindow hannwindow_one",
        "LayerNormalization layer_broadcast_scale", "LinearAttention linear_attention_no_steps",
        "RMSNormalization rms_mixed", "SoftmaxCrossEntropyLoss sce_bf16"})
    gaps[name] = kBodyGaps.at(name);
  ExpectAll(ExportedAsOld, gaps);
}

}  // namespace
}  // namespace onward

#include "quantization/products.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executors/evaluate.h"
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"

namespace onward::quantization {
namespace {

bool IsWeight(const Graph& graph, ValueId id) {
  const Tensor* constant = FixedConstant(graph, id);
  if (constant == nullptr || constant->num_elements() == 0) return false;
  const DType dtype = constant->dtype();
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// Recognizes ops of com.microsoft by what their names share.
bool IsQuantizedOfMicrosoft(const Node& node) {
  if (node.domain != kMicrosoftDomain) return false;
  for (const char* part :
       {"QLinear", "Quantize", "NBits", "Bnb4", "MatMulInteger", "QMoE", "QGemm"})
    if (absl::StrContains(node.op_type, part)) return true;
  return false;
}

int64_t LargestConstant(const Graph& graph) {
  int64_t bytes = 0;
  for (int i = 0; i < graph.num_values(); ++i) {
    const Tensor* constant = graph.constant({i});
    if (constant != nullptr) bytes = std::max(bytes, constant->byte_size());
  }
  return bytes;
}

}  // namespace

bool IsQuantized(const Node& node) {
  if (IsQuantizedOfMicrosoft(node)) return true;
  if (!node.domain.empty()) return false;
  for (const OpFacts& facts : QuantizeFacts())
    if (facts.op == node.op_type) return true;
  return false;
}

std::vector<WeightedProduct> WeightedProducts(const Graph& graph) {
  std::vector<WeightedProduct> products;
  const auto order = graph.TopologicalOrder();
  if (!order.ok()) return products;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    const bool conv = node.Is("Conv"), gemm = node.Is("Gemm");
    if (!conv && !gemm && !node.Is("MatMul")) continue;
    WeightedProduct product = {id, node.inputs[0], node.inputs[1], InputOf(node, 2)};
    if (!IsWeight(graph, product.weight) || graph.is_constant(product.data)) continue;
    if (!conv && graph.constant(product.weight)->rank() != 2) continue;
    if (gemm && node.attributes.Int("transA", 0) != 0) continue;
    const bool rows_are_outputs = conv || (gemm && node.attributes.Int("transB", 0) != 0);
    product.output_axis = rows_are_outputs ? 0 : 1;
    product.input_axis = rows_are_outputs ? 1 : 0;
    products.push_back(product);
  }
  return products;
}

absl::Status CheckNotQuantized(const Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (const Subgraph& body : node.subgraphs) {
      if (absl::Status status = CheckNotQuantized(*body.graph); !status.ok()) return status;
    }
    if (IsQuantized(node))
      return absl::InvalidArgumentError(
          absl::StrCat("the model is quantized already: it has ", graph.Describe(id),
                       "; quantize the model of floats that it was made of"));
  }
  return absl::OkStatus();
}

absl::Status PrepareProducts(Model& model) {
  ONWARD_RETURN_IF_ERROR(CheckNotQuantized(model.graph));
  PassOptions options;
  // Also an embedding whose transpose is the matrix of the logits.
  options.max_folded_bytes = std::max(options.max_folded_bytes, LargestConstant(model.graph));
  options.evaluate = [](const Graph& graph, NodeId id) {
    return executors::EvaluateOnCpu(graph, id);
  };
  const std::vector<Pass> passes = {{"fold_constants", FoldConstants},
                                    {"eliminate_identity", EliminateIdentity},
                                    {"fuse_batch_norm", FuseBatchNorm},
                                    {"eliminate_dead", EliminateDead}};
  return RunPasses(model, passes, options).status();
}

std::vector<float> ToFloats(const Tensor& tensor) {
  std::vector<float> floats(static_cast<size_t>(tensor.num_elements()));
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    const auto elements = tensor.span<typename decltype(tag)::type>();
    for (size_t i = 0; i < elements.size(); ++i) floats[i] = static_cast<float>(elements[i]);
  });
  return floats;
}

Tensor FromFloats(absl::Span<const float> elements, DType dtype, DimsView dims) {
  Tensor tensor(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < elements.size(); ++i) tensor.mutable_data<T>()[i] = T(elements[i]);
  });
  return tensor;
}

}  // namespace onward::quantization

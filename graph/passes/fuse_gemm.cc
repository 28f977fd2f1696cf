// MatMul of matrices and the addition of a bias row become Gemm.
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

bool GemmHas(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint32:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

// Returns whether adding `bias` to a product of rank 2 leaves its shape: certain when the bias is a
// row of as many elements as the product has columns, or one element.
bool IsBiasRow(const Graph& graph, ValueId bias, ValueId product) {
  const Type& type = graph.type(bias);
  const Type& to = graph.type(product);
  if (!type.is_tensor() || !type.shape || type.shape->size() > 2) return false;
  const SymbolicDims& dims = *type.shape;
  if (dims.empty()) return true;
  if (dims.size() == 2 && !(dims[0] == Dim(1))) return false;
  return dims.back() == Dim(1) || dims.back().SameAs((*to.shape)[1]);
}

std::optional<Patch> MatMulAdd(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId product = node.inputs[i], bias = node.inputs[1 - i];
    const Node* matmul = MadeBy(graph, product, "MatMul");
    if (matmul == nullptr || !ReadOnce(graph, product) || product == bias) continue;
    if (RankOf(graph, matmul->inputs[0]) != 2 || RankOf(graph, matmul->inputs[1]) != 2 ||
        RankOf(graph, product) != 2 || !GemmHas(graph.type(product).dtype) ||
        !IsBiasRow(graph, bias, product)) {
      continue;
    }
    Patch patch(graph);
    patch.Replace(node.outputs[0],
                  patch.AddNode("Gemm", {matmul->inputs[0], matmul->inputs[1], bias}));
    return patch;
  }
  return std::nullopt;
}

// Gemm(Transpose(a), b) and Gemm(a, Transpose(b)).
std::optional<Patch> GemmTranspose(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const Node* transpose = MadeBy(graph, node.inputs[i], "Transpose");
    if (transpose == nullptr) continue;
    const std::vector<int64_t> perm = transpose->attributes.Ints("perm", {1, 0});
    if (perm != std::vector<int64_t>{1, 0}) continue;
    const char* attribute = i == 0 ? "transA" : "transB";
    Attributes attributes = node.attributes;
    attributes.Set(attribute, int64_t{attributes.Int(attribute, 0) == 0});
    std::vector<ValueId> inputs = node.inputs;
    inputs[i] = transpose->inputs[0];
    Patch patch(graph);
    patch.Replace(node.outputs[0], patch.AddNode("Gemm", std::move(inputs), std::move(attributes)));
    return patch;
  }
  return std::nullopt;
}

constexpr Rule kRules[] = {
    {"fuse_gemm", "Add", MatMulAdd},
    {"fuse_gemm_transpose", "Gemm", GemmTranspose},
};

}  // namespace

absl::StatusOr<int> FuseGemm(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward

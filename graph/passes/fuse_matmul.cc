// MatMul and Gemm with what surrounds them become onward.FusedMatMul: transposes and a factor
// before them; bias, sum, activation and the transpose of a matrix after them.
#include <utility>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/activation.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// A product as FusedMatMul's inputs and attributes.
struct Product {
  ValueId inputs[4];  // A, B, bias, residual
  Attributes attributes;
};

bool IsFused(const Node& node) { return node.Is("FusedMatMul", kOnwardDomain); }

// Returns whether `bias` has one element per column of `product`.
bool IsRowFor(const Graph& graph, ValueId bias, ValueId product) {
  const Type& type = graph.type(bias);
  const Type& to = graph.type(product);
  return type.is_tensor() && type.shape && type.shape->size() == 1 && to.shape &&
         !to.shape->empty() && (*type.shape)[0].SameAs(to.shape->back());
}

std::optional<Product> ReadGemm(const Graph& graph, const Node& node) {
  Product product{{node.inputs[0], node.inputs[1], InputOf(node, 2), {}}, {}};
  const float beta = node.attributes.Float("beta", 1.0f);
  if (beta == 0) product.inputs[2] = {};
  if (product.inputs[2].valid() &&
      (beta != 1 || !IsRowFor(graph, product.inputs[2], node.outputs[0]))) {
    return std::nullopt;
  }
  for (const char* name : {"transA", "transB"}) {
    product.attributes.Set(name, int64_t{node.attributes.Int(name, 0) != 0});
  }
  product.attributes.Set("alpha", node.attributes.Float("alpha", 1.0f));
  return product;
}

// kNarrow: of any float, else of float32 alone.
template <bool kNarrow>
std::optional<Product> ReadProduct(const Graph& graph, const Node& node) {
  const DType dtype = graph.type(node.outputs[0]).dtype;
  if (dtype != DType::kFloat32 && !(kNarrow && IsFloating(dtype))) return std::nullopt;
  if (node.Is("Gemm")) return ReadGemm(graph, node);
  if (node.Is("MatMul")) {
    if (RankOf(graph, node.inputs[0]) < 2 || RankOf(graph, node.inputs[1]) < 2) return std::nullopt;
    return Product{{node.inputs[0], node.inputs[1], {}, {}}, {}};
  }
  if (!IsFused(node) || !HasNoActivation(node)) return std::nullopt;
  return Product{{node.inputs[0], node.inputs[1], InputOf(node, 2), InputOf(node, 3)},
                 node.attributes};
}

// The product that makes `value`, if nothing else reads it.
template <bool kNarrow>
std::optional<Product> ProductAt(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid() || !ReadOnce(graph, value)) return std::nullopt;
  return ReadProduct<kNarrow>(graph, graph.node(maker));
}

Patch Finish(const Graph& graph, ValueId replaced, const Product& product) {
  Patch patch(graph);
  std::vector<ValueId> inputs(product.inputs, product.inputs + 4);
  while (!inputs.back().valid()) inputs.pop_back();
  patch.Replace(replaced,
                patch.AddNode("FusedMatMul", std::move(inputs), product.attributes, kOnwardDomain));
  return patch;
}

template <bool kNarrow>
std::optional<Patch> Sum(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId at = node.inputs[i], other = node.inputs[1 - i];
    std::optional<Product> product = ProductAt<kNarrow>(graph, at);
    if (!product || other == at) continue;
    if (!product->inputs[2].valid() && IsRowFor(graph, other, at) && RankOf(graph, at) >= 2) {
      product->inputs[2] = other;
    } else if (!product->inputs[3].valid() && SameShape(graph.type(other), graph.type(at))) {
      product->inputs[3] = other;
    } else {
      continue;
    }
    return Finish(graph, node.outputs[0], *product);
  }
  return std::nullopt;
}

template <bool kNarrow>
std::optional<Patch> Activation(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<ActivationCall> call = ReadActivation(graph, node);
  std::optional<Product> product = call ? ProductAt<kNarrow>(graph, call->input) : std::nullopt;
  if (!product) return std::nullopt;
  SetActivation(*call, product->attributes);
  return Finish(graph, node.outputs[0], *product);
}

// x of x * factor or x / divisor, if nothing else reads the result.
std::optional<WithScalar> Scaled(const Graph& graph, ValueId value) {
  if (const Node* node = MadeBy(graph, value, "Mul")) return SplitScalar(graph, *node);
  const Node* node = MadeBy(graph, value, "Div");
  if (node == nullptr) return std::nullopt;
  std::optional<WithScalar> split = SplitScalar(graph, *node);
  if (!split || split->other != node->inputs[0] || split->scalar == 0) return std::nullopt;
  split->scalar = 1 / split->scalar;
  return split;
}

// False where an attribute is not precise enough.
bool MultiplyAlpha(Product& product, double factor, DType dtype) {
  const double alpha = product.attributes.Float("alpha", 1.0f) * factor;
  product.attributes.Set("alpha", static_cast<float>(alpha));
  return FitsAttribute(alpha, dtype);
}

// (A B) * factor, where nothing was added yet.
template <bool kNarrow>
std::optional<Patch> ScaledAfter(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<WithScalar> split = Scaled(graph, node.outputs[0]);
  std::optional<Product> product = split ? ProductAt<kNarrow>(graph, split->other) : std::nullopt;
  if (!product || product->inputs[2].valid() || product->inputs[3].valid()) return std::nullopt;
  if (!MultiplyAlpha(*product, split->scalar, graph.type(node.outputs[0]).dtype))
    return std::nullopt;
  return Finish(graph, node.outputs[0], *product);
}

// (A * factor) B.
template <bool kNarrow>
std::optional<Patch> ScaledBefore(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  std::optional<Product> product = ReadProduct<kNarrow>(graph, node);
  for (size_t i = 0; product && i < 2; ++i) {
    if (!ReadOnce(graph, product->inputs[i])) continue;
    const std::optional<WithScalar> split = Scaled(graph, product->inputs[i]);
    if (!split || RankOf(graph, split->other) < 2) continue;
    product->inputs[i] = split->other;
    if (!MultiplyAlpha(*product, split->scalar, graph.type(node.outputs[0]).dtype))
      return std::nullopt;
    return Finish(graph, node.outputs[0], *product);
  }
  return std::nullopt;
}

// The permutation without the swap of the last two dims that the product does itself; empty when
// the copy that remains would not keep rows together.
std::vector<int64_t> WithoutSwap(std::vector<int64_t> perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 2) return {};
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  if (perm.back() != rank - 1) return {};
  return perm;
}

template <bool kNarrow>
std::optional<Patch> Transposed(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  std::optional<Product> product = ReadProduct<kNarrow>(graph, node);
  for (size_t i = 0; product && i < 2; ++i) {
    const ValueId operand = product->inputs[i];
    const Node* transpose = MadeBy(graph, operand, "Transpose");
    if (transpose == nullptr) continue;
    const std::vector<int64_t> perm = WithoutSwap(PermOf(graph, *transpose));
    if (perm.empty()) continue;
    bool identity = true;
    for (size_t d = 0; d < perm.size(); ++d) identity &= perm[d] == static_cast<int64_t>(d);
    if (!identity && !ReadOnce(graph, operand)) continue;  // another copy would be made
    const char* attribute = i == 0 ? "transA" : "transB";
    product->attributes.Set(attribute, int64_t{product->attributes.Int(attribute, 0) == 0});
    if (identity) {
      product->inputs[i] = transpose->inputs[0];
      return Finish(graph, node.outputs[0], *product);
    }
    Patch patch(graph);
    std::vector<ValueId> inputs(product->inputs, product->inputs + 4);
    inputs[i] = patch.AddNode("Transpose", {transpose->inputs[0]}, {{"perm", perm}});
    while (!inputs.back().valid()) inputs.pop_back();
    patch.Replace(node.outputs[0], patch.AddNode("FusedMatMul", std::move(inputs),
                                                 product->attributes, kOnwardDomain));
    return patch;
  }
  return std::nullopt;
}

// (A B)^T of matrices is B^T A^T, as gradients of transposed weights have it. A constant B stays
// where kernels pack it.
template <bool kNarrow>
std::optional<Patch> TransposedAfter(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  std::optional<Product> product = ProductAt<kNarrow>(graph, node.inputs[0]);
  if (!product || product->inputs[2].valid() || product->inputs[3].valid() ||
      RankOf(graph, product->inputs[0]) != 2 || RankOf(graph, product->inputs[1]) != 2 ||
      FixedConstant(graph, product->inputs[1]) != nullptr ||
      PermOf(graph, node) != std::vector<int64_t>{1, 0})
    return std::nullopt;
  const bool trans_a = product->attributes.Int("transA", 0) != 0;
  const bool trans_b = product->attributes.Int("transB", 0) != 0;
  std::swap(product->inputs[0], product->inputs[1]);
  product->attributes.Set("transA", int64_t{!trans_b});
  product->attributes.Set("transB", int64_t{!trans_a});
  return Finish(graph, node.outputs[0], *product);
}

// A product on rows that were flattened before it and are unflattened after it: the product of the
// whole, on which what follows can be fused.
template <bool kNarrow>
std::optional<Patch> Flattened(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId flat = node.inputs[0];
  std::optional<Product> product = ProductAt<kNarrow>(graph, flat);
  if (!product || product->inputs[3].valid() || RankOf(graph, flat) != 2 ||
      product->attributes.Int("transA", 0) != 0 || RankOf(graph, product->inputs[1]) != 2) {
    return std::nullopt;
  }
  const Node* before = MadeBy(graph, product->inputs[0], "Reshape");
  if (before == nullptr) return std::nullopt;
  const ValueId x = before->inputs[0];
  const int rank = RankOf(graph, x);
  if (rank < 3 || RankOf(graph, node.outputs[0]) != rank) return std::nullopt;
  const SymbolicDims& from = *graph.type(x).shape;
  const SymbolicDims& to = *graph.type(node.outputs[0]).shape;
  if (!from.back().SameAs(graph.type(product->inputs[0]).shape->back()) ||
      !to.back().SameAs(graph.type(flat).shape->back())) {
    return std::nullopt;
  }
  for (size_t i = 0; i + 1 < from.size(); ++i) {
    if (!from[i].SameAs(to[i])) return std::nullopt;
  }
  product->inputs[0] = x;
  return Finish(graph, node.outputs[0], *product);
}

template <bool kNarrow>
constexpr Rule kRules[] = {
    {"fuse_matmul_flattened", "Reshape", Flattened<kNarrow>},
    {"fuse_matmul_transpose", "MatMul", Transposed<kNarrow>},
    {"fuse_matmul_transpose", "onward.FusedMatMul", Transposed<kNarrow>},
    {"fuse_matmul_transposed", "Transpose", TransposedAfter<kNarrow>},
    {"fuse_matmul_scale", "MatMul", ScaledBefore<kNarrow>},
    {"fuse_matmul_scale", "onward.FusedMatMul", ScaledBefore<kNarrow>},
    {"fuse_matmul_scale", "Mul", ScaledAfter<kNarrow>},
    {"fuse_matmul_scale", "Div", ScaledAfter<kNarrow>},
    {"fuse_matmul_sum", "Add", Sum<kNarrow>},
    {"fuse_matmul_activation", "", Activation<kNarrow>},
};

}  // namespace

absl::StatusOr<int> FuseMatMul(Graph& graph, const PassOptions& options, int& budget) {
  return options.fuses_narrow_floats ? ApplyRules(graph, kRules<true>, budget)
                                     : ApplyRules(graph, kRules<false>, budget);
}

}  // namespace onward

// Arithmetic around products of 8-bit integers becomes one op: what dynamic quantization writes
// (Cast, scales, bias), and convolutions and products between DequantizeLinear and QuantizeLinear,
// or behind DequantizeLinear alone.
// Sums of the latter are exact instead of rounded in float32, and are rounded once: results may
// differ by one unit from those of the floats.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/dequantized.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// The last dim, or -1.
int64_t LastDim(const Graph& graph, ValueId id) {
  const Type& type = graph.type(id);
  if (!type.shape || type.shape->empty() || !type.shape->back().known()) return -1;
  return type.shape->back().value();
}

// Mul(Cast(MatMulInteger(a, b)), Mul(a_scale, b_scale)).
std::optional<Patch> ScaledProduct(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const Node* cast = MadeBy(graph, node.inputs[i], "Cast");
    const Node* scales = MadeBy(graph, node.inputs[1 - i], "Mul");
    if (cast == nullptr || scales == nullptr || !ReadOnce(graph, node.inputs[i])) continue;
    const Node* product = MadeBy(graph, cast->inputs[0], "MatMulInteger");
    if (product == nullptr || !ReadOnce(graph, cast->inputs[0])) continue;
    if (graph.type(node.outputs[0]).dtype != DType::kFloat32) continue;
    const int64_t columns = LastDim(graph, cast->inputs[0]);
    for (size_t s = 0; s < 2; ++s) {
      const ValueId a_scale = scales->inputs[s], b_scale = scales->inputs[1 - s];
      const int64_t count = LineSize(graph, b_scale);
      if (!IsOneFloat(graph, a_scale) || (count != 1 && (count != columns || count < 1))) continue;
      if (RankOf(graph, cast->inputs[0]) < 1) continue;
      Patch patch(graph);
      patch.Replace(node.outputs[0],
                    patch.AddNode("MatMulIntegerToFloat",
                                  {product->inputs[0], product->inputs[1], a_scale, b_scale,
                                   InputOf(*product, 2), InputOf(*product, 3)},
                                  {}, kMicrosoftDomain));
      return patch;
    }
  }
  return std::nullopt;
}

std::optional<Patch> ProductBias(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId sum = node.inputs[i], bias = node.inputs[1 - i];
    const NodeId maker = Maker(graph, sum);
    if (!maker.valid() || !ReadOnce(graph, sum)) continue;
    const Node& product = graph.node(maker);
    if (!product.Is("MatMulIntegerToFloat", kMicrosoftDomain) || InputOf(product, 6).valid()) {
      continue;
    }
    if (RankOf(graph, bias) != 1 || LineSize(graph, bias) != LastDim(graph, sum)) continue;
    std::vector<ValueId> inputs = product.inputs;
    inputs.resize(7);
    inputs[6] = bias;
    Patch patch(graph);
    patch.Replace(node.outputs[0], patch.AddNode("MatMulIntegerToFloat", std::move(inputs),
                                                 product.attributes, kMicrosoftDomain));
    return patch;
  }
  return std::nullopt;
}

// The zero point, or a constant of zeros in its place.
ValueId ZeroOf(Patch& patch, const Graph& graph, const Quantized& source) {
  if (source.zero.valid()) return source.zero;
  const std::optional<Dims> dims = graph.type(source.scale).static_dims();
  Tensor zeros(graph.type(source.x).dtype, *dims);
  std::memset(zeros.raw_mutable_data(), 0, static_cast<size_t>(zeros.byte_size()));
  return patch.AddConstant("", std::move(zeros));
}

// The int32 bias in units of x_scale * w_scale; invalid when it is something else.
ValueId IntegerBias(const Graph& graph, ValueId bias, const Quantized& x, const Quantized& w) {
  const Node* linear = MadeBy(graph, bias, "DequantizeLinear");
  if (linear == nullptr || graph.type(linear->inputs[0]).dtype != DType::kInt32) return {};
  const Tensor* scale = FixedConstant(graph, linear->inputs[1]);
  const Tensor* x_scale = FixedConstant(graph, x.scale);
  const Tensor* w_scale = FixedConstant(graph, w.scale);
  if (scale == nullptr || x_scale == nullptr || w_scale == nullptr ||
      scale->dtype() != DType::kFloat32) {
    return {};
  }
  if (const ValueId zero = InputOf(*linear, 2); zero.valid()) {
    const Tensor* zeros = FixedConstant(graph, zero);
    if (zeros == nullptr) return {};
    for (const int64_t value : ToInt64(zeros->view())) {
      if (value != 0) return {};
    }
  }
  const int64_t count = scale->num_elements(), per = w_scale->num_elements();
  for (int64_t i = 0; i < std::max(count, per); ++i) {
    const float expected = x_scale->data<float>()[0] * w_scale->data<float>()[per == 1 ? 0 : i];
    const float given = scale->data<float>()[count == 1 ? 0 : i];
    if (count != 1 && per != 1 && count != per) return {};
    if (!(std::abs(given - expected) <= 1e-5f * std::abs(expected))) return {};
  }
  return linear->inputs[0];
}

// The result of QuantizeLinear on a value that only it reads.
struct Result {
  ValueId scale, zero;
};
std::optional<Result> ResultOf(const Graph& graph, const Node& quantize) {
  const Result result = {InputOf(quantize, 1), InputOf(quantize, 2)};
  if (!result.zero.valid() || !IsOneFloat(graph, result.scale) ||
      !IsByte(graph.type(quantize.outputs[0]).dtype) || !ReadOnce(graph, quantize.inputs[0])) {
    return std::nullopt;
  }
  return result;
}

std::optional<Patch> QuantizedConv(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* conv = MadeBy(graph, node.inputs[0], "Conv");
  const std::optional<Result> y = ResultOf(graph, node);
  if (conv == nullptr || !y) return std::nullopt;
  const std::optional<Quantized> x = PerTensor(graph, conv->inputs[0]);
  const std::optional<Quantized> w = PerAxis(graph, conv->inputs[1], 0);
  if (!x || !w) return std::nullopt;
  ValueId bias;
  if (InputOf(*conv, 2).valid()) {
    bias = IntegerBias(graph, conv->inputs[2], *x, *w);
    if (!bias.valid()) return std::nullopt;
  }
  Patch patch(graph);
  std::vector<ValueId> inputs = {x->x,     x->scale, ZeroOf(patch, graph, *x),
                                 w->x,     w->scale, ZeroOf(patch, graph, *w),
                                 y->scale, y->zero};
  if (bias.valid()) inputs.push_back(bias);
  patch.Replace(node.outputs[0], patch.AddNode("QLinearConv", std::move(inputs), conv->attributes));
  return patch;
}

std::optional<Patch> QuantizedMatMul(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* product = MadeBy(graph, node.inputs[0], "MatMul");
  const std::optional<Result> y = ResultOf(graph, node);
  if (product == nullptr || !y) return std::nullopt;
  const std::optional<Quantized> a = PerTensor(graph, product->inputs[0]);
  std::optional<Quantized> b = PerTensor(graph, product->inputs[1]);
  if (!b && RankOf(graph, product->inputs[1]) == 2) b = PerAxis(graph, product->inputs[1], 1);
  if (!a || !b) return std::nullopt;
  Patch patch(graph);
  const ValueId a_zero = ZeroOf(patch, graph, *a), b_zero = ZeroOf(patch, graph, *b);
  patch.Replace(node.outputs[0],
                patch.AddNode("QLinearMatMul",
                              {a->x, a->scale, a_zero, b->x, b->scale, b_zero, y->scale, y->zero}));
  return patch;
}

// Relu before QuantizeLinear whose zero point is the least code, which saturates alike.
std::optional<Patch> SaturatedRelu(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* relu = MadeBy(graph, node.inputs[0], "Relu");
  const DType dtype = graph.type(node.outputs[0]).dtype;
  if (relu == nullptr || !IsByte(dtype)) return std::nullopt;
  if (const ValueId zero = InputOf(node, 2); zero.valid() || dtype == DType::kInt8) {
    const Tensor* zeros = zero.valid() ? FixedConstant(graph, zero) : nullptr;
    if (zeros == nullptr) return std::nullopt;
    for (const int64_t value : ToInt64(zeros->view())) {
      if (value != (dtype == DType::kInt8 ? -128 : 0)) return std::nullopt;
    }
  }
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = relu->inputs[0];
  patch.Replace(node.outputs[0],
                patch.AddNode("QuantizeLinear", std::move(inputs), node.attributes));
  return patch;
}

// Add and Mul between DequantizeLinear, with one scale each, and QuantizeLinear.
std::optional<Patch> QuantizedBinary(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const bool adds = MadeBy(graph, node.inputs[0], "Add") != nullptr;
  const Node* binary = MadeBy(graph, node.inputs[0], adds ? "Add" : "Mul");
  const std::optional<Result> y = ResultOf(graph, node);
  if (binary == nullptr || !y) return std::nullopt;
  const std::optional<Quantized> a = PerTensor(graph, binary->inputs[0]);
  const std::optional<Quantized> b = PerTensor(graph, binary->inputs[1]);
  const DType dtype = graph.type(node.outputs[0]).dtype;
  if (!a || !b || graph.type(a->x).dtype != dtype || graph.type(b->x).dtype != dtype)
    return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode(adds ? "QLinearAdd" : "QLinearMul",
                              {a->x, a->scale, a->zero, b->x, b->scale, b->zero, y->scale, y->zero},
                              {}, kMicrosoftDomain));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_integer_matmul", "MatMul", IntegerProduct},
    {"fuse_integer_gemm", "Gemm", IntegerProduct},
    {"fuse_scaled_product", "Mul", ScaledProduct},
    {"fuse_product_bias", "Add", ProductBias},
    {"absorb_relu", "QuantizeLinear", SaturatedRelu},
    {"fuse_quantized_conv", "QuantizeLinear", QuantizedConv},
    {"fuse_quantized_matmul", "QuantizeLinear", QuantizedMatMul},
    {"fuse_quantized_binary", "QuantizeLinear", QuantizedBinary},
};

}  // namespace

absl::StatusOr<int> FuseQuantized(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.excess_precision) return 0;
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward

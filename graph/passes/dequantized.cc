#include "graph/passes/dequantized.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"

namespace onward {

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

// The number of elements of a value of known shape and rank 0 or 1, else -1.
int64_t LineSize(const Graph& graph, ValueId id) {
  if (!id.valid()) return -1;
  const std::optional<Dims> dims = graph.type(id).static_dims();
  if (!dims || dims->size() > 1) return -1;
  return dims->empty() ? 1 : (*dims)[0];
}

bool IsOneFloat(const Graph& graph, ValueId id) {
  return LineSize(graph, id) == 1 && graph.type(id).dtype == DType::kFloat32;
}

namespace {

std::optional<Quantized> QuantizedSource(const Graph& graph, const Node& linear) {
  const Quantized source = {linear.inputs[0], InputOf(linear, 1), InputOf(linear, 2)};
  if (!source.x.valid() || !IsByte(graph.type(source.x).dtype) ||
      linear.attributes.Int("block_size", 0) != 0 ||
      graph.type(source.scale).dtype != DType::kFloat32)
    return std::nullopt;
  return source;
}

Tensor Transposed(const Tensor& bytes) {
  const int64_t rows = bytes.dims()[0], columns = bytes.dims()[1];
  Tensor to(bytes.dtype(), Dims{columns, rows});
  const auto* from = static_cast<const uint8_t*>(bytes.raw_data());
  auto* codes = static_cast<uint8_t*>(to.raw_mutable_data());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) codes[j * rows + i] = from[i * columns + j];
  }
  return to;
}

}  // namespace

std::optional<Product> ProductOf(const Graph& graph, const Node& node) {
  Product product = {node.inputs[0], node.inputs[1], InputOf(node, 2)};
  if (!product.data.valid() || !product.matrix.valid()) return std::nullopt;
  if (node.Is("MatMul")) return product;
  const Attributes& attributes = node.attributes;
  if (attributes.Int("transA", 0) != 0 || attributes.Float("alpha", 1) != 1) return std::nullopt;
  product.transposed = attributes.Int("transB", 0) != 0;
  if (!product.bias.valid()) return product;
  const std::optional<Dims> bias = graph.type(product.bias).static_dims();
  const std::optional<Dims> matrix = graph.type(product.matrix).static_dims();
  if (attributes.Float("beta", 1) != 1 || !bias || !matrix || bias->size() != 1)
    return std::nullopt;
  if ((*bias)[0] != (*matrix)[product.transposed ? 0 : 1]) return std::nullopt;
  return product;
}

std::optional<Quantized> PerTensor(const Graph& graph, ValueId value) {
  const Node* linear = MadeBy(graph, value, "DequantizeLinear");
  if (linear == nullptr || !IsOneFloat(graph, linear->inputs[1])) return std::nullopt;
  return QuantizedSource(graph, *linear);
}

std::optional<Quantized> ScaledPerAxis(const Graph& graph, ValueId value, int64_t axis) {
  const Node* linear = MadeBy(graph, value, "DequantizeLinear");
  if (linear == nullptr) return std::nullopt;
  const int64_t count = LineSize(graph, linear->inputs[1]);
  const int64_t rank = RankOf(graph, linear->inputs[0]);
  int64_t given = linear->attributes.Int("axis", 1);
  if (given < 0) given += rank;
  if (count < 1 || (count > 1 && given != axis)) return std::nullopt;
  const std::optional<Quantized> source = QuantizedSource(graph, *linear);
  return source && FixedConstant(graph, source->scale) != nullptr ? source : std::nullopt;
}

std::optional<Quantized> PerAxis(const Graph& graph, ValueId value, int64_t axis) {
  const std::optional<Quantized> source = ScaledPerAxis(graph, value, axis);
  return source && FixedConstant(graph, source->x) != nullptr ? source : std::nullopt;
}

std::optional<Patch> IntegerProduct(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<Product> product = ProductOf(graph, node);
  if (!product || RankOf(graph, product->matrix) != 2 || RankOf(graph, product->data) < 1)
    return std::nullopt;
  // Between two of them it becomes a product whose result is integers, too.
  const NodeId reader = OnlyReader(graph, node.outputs[0]);
  if (reader.valid() && graph.node(reader).Is("QuantizeLinear") && node.Is("MatMul"))
    return std::nullopt;
  const std::optional<Quantized> a = PerTensor(graph, product->data);
  const std::optional<Quantized> b = PerAxis(graph, product->matrix, product->transposed ? 0 : 1);
  if (!a || !b) return std::nullopt;
  Patch patch(graph);
  ValueId codes = b->x;
  if (product->transposed)
    codes = patch.AddConstant(graph.value(b->x).name, Transposed(*graph.constant(b->x)));
  std::vector<ValueId> inputs = {a->x, codes, a->scale, b->scale, a->zero, b->zero};
  if (product->bias.valid()) inputs.push_back(product->bias);
  patch.Replace(node.outputs[0],
                patch.AddNode("MatMulIntegerToFloat", std::move(inputs), {}, kMicrosoftDomain));
  return patch;
}

}  // namespace onward

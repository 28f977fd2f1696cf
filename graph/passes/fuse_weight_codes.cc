// Constant weights stay integers: a product of floats by a dequantized matrix reads its codes, and
// a Gather of dequantized rows gathers codes.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/dequantized.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {
namespace {

// The int4 matrix and its scales by lines of `block` codes, two a byte, eight added to each.
struct Packed {
  Tensor codes, scales;
  int64_t k = 0, n = 0;
};

Packed PackBlocks(const Tensor& matrix, const Tensor& scales, bool transposed, int64_t block) {
  Packed packed;
  packed.n = matrix.dims()[transposed ? 0 : 1];
  packed.k = matrix.dims()[transposed ? 1 : 0];
  const int64_t n = packed.n, k = packed.k, blocks = (k + block - 1) / block;
  std::vector<int8_t> codes(static_cast<size_t>(n * k));
  UnpackSubByte(DType::kInt4, matrix.raw_data(), n * k, codes.data());
  packed.codes = Tensor(DType::kUint8, Dims{n, blocks, block / 2});
  packed.scales = Tensor(DType::kFloat32, Dims{n, blocks});
  auto* bytes = packed.codes.mutable_data<uint8_t>();
  std::fill_n(bytes, n * blocks * block / 2, uint8_t{0x88});
  const float* from = scales.data<float>();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t b = 0; b < blocks; ++b)
      packed.scales.mutable_data<float>()[j * blocks + b] =
          from[transposed ? j * blocks + b : b * n + j];
    for (int64_t i = 0; i < k; ++i) {
      const int code = codes[static_cast<size_t>(transposed ? j * k + i : i * n + j)] + 8;
      uint8_t& byte = bytes[(j * blocks * block + i) / 2];
      byte = static_cast<uint8_t>(i % 2 == 0 ? (byte & 0xf0) | code : (byte & 0x0f) | code << 4);
    }
  }
  return packed;
}

// The longest block of codes that divides rows of `k`, else one that pads them.
int64_t BlockOf(int64_t k) {
  for (int64_t block = 256; block >= 16; block /= 2)
    if (k % block == 0) return block;
  return 32;
}

// The 8-bit matrix [k, n], or [n, k] where `transposed`, as [n, blocks, block] of uint8; codes of
// int8 are 128 more.
Tensor ByteBlocks(const Tensor& matrix, bool transposed, int64_t k, int64_t n, int64_t block) {
  const int64_t blocks = (k + block - 1) / block, row = blocks * block;
  const uint8_t shift = matrix.dtype() == DType::kInt8 ? 0x80 : 0;
  Tensor codes = Tensor::Zeros(DType::kUint8, Dims{n, blocks, block});
  const auto* from = static_cast<const uint8_t*>(matrix.raw_data());
  auto* to = codes.mutable_data<uint8_t>();
  constexpr int64_t kTile = 64;  // lines of both that a cache holds
  for (int64_t i0 = 0; i0 < k; i0 += kTile) {
    for (int64_t j0 = 0; j0 < n; j0 += kTile) {
      for (int64_t j = j0; j < std::min(n, j0 + kTile); ++j)
        for (int64_t i = i0; i < std::min(k, i0 + kTile); ++i)
          to[j * row + i] = from[transposed ? j * k + i : i * n + j] ^ shift;
    }
  }
  return codes;
}

// `line`, of one element or of one for each row, for each of `blocks` of each of n rows.
template <typename T>
Tensor ForEachBlock(const T* line, bool one, int64_t n, int64_t blocks) {
  Tensor all(kDTypeOf<T>, Dims{n, blocks});
  for (int64_t j = 0; j < n; ++j)
    std::fill_n(all.mutable_data<T>() + j * blocks, blocks, line[one ? 0 : j]);
  return all;
}

// The zero points as codes of ByteBlocks.
std::vector<uint8_t> ShiftedZeros(const Tensor& zeros) {
  const auto* bytes = static_cast<const uint8_t*>(zeros.raw_data());
  std::vector<uint8_t> shifted(bytes, bytes + zeros.num_elements());
  for (uint8_t& zero : shifted) zero ^= zeros.dtype() == DType::kInt8 ? 0x80 : 0;
  return shifted;
}

// Returns what a Transpose of two axes swaps, or `value` where no such node makes it.
ValueId Untransposed(const Graph& graph, ValueId value) {
  const Node* transpose = MadeBy(graph, value, "Transpose");
  if (transpose == nullptr || RankOf(graph, value) != 2) return value;
  return transpose->attributes.Ints("perm", {1, 0})[0] == 1 ? transpose->inputs[0] : value;
}

// MatMulNBits of the product by `weights`: codes, scales and maybe zero points.
Patch NBitsProduct(const Graph& graph, const Node& node, const Product& product, int64_t k,
                   int64_t n, int64_t bits, int64_t block, std::vector<Tensor> weights) {
  Patch patch(graph);
  std::vector<ValueId> inputs = {product.data};
  for (Tensor& tensor : weights) inputs.push_back(patch.AddConstant("", std::move(tensor)));
  if (product.bias.valid()) {
    inputs.resize(5);
    inputs.push_back(product.bias);
  }
  const Attributes attributes = {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}};
  patch.Replace(node.outputs[0],
                patch.AddNode("MatMulNBits", std::move(inputs), attributes, kMicrosoftDomain));
  return patch;
}

// A MatMul or Gemm with a constant matrix of int4 in blocks.
std::optional<Patch> BlockedProduct(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<Product> product = ProductOf(graph, node);
  if (!product || RankOf(graph, product->data) < 1) return std::nullopt;
  const Node* linear = MadeBy(graph, product->matrix, "DequantizeLinear");
  if (linear == nullptr || !ReadOnce(graph, product->matrix) || InputOf(*linear, 2).valid())
    return std::nullopt;
  const Tensor* matrix = FixedConstant(graph, linear->inputs[0]);
  const Tensor* scales = FixedConstant(graph, linear->inputs[1]);
  const int64_t block = linear->attributes.Int("block_size", 0);
  const int64_t axis = linear->attributes.Int("axis", 1);
  if (matrix == nullptr || scales == nullptr || matrix->dtype() != DType::kInt4 ||
      scales->dtype() != DType::kFloat32 || matrix->rank() != 2 || block < 16 ||
      (block & (block - 1)) != 0 || axis != (product->transposed ? 1 : 0))
    return std::nullopt;
  Packed packed = PackBlocks(*matrix, *scales, product->transposed, block);
  std::vector<Tensor> weights;
  weights.push_back(std::move(packed.codes));
  weights.push_back(std::move(packed.scales));
  return NBitsProduct(graph, node, *product, packed.k, packed.n, 4, block, std::move(weights));
}

// The same of 8-bit integers with one scale, or one a column; they or the matrix may be transposed.
std::optional<Patch> ByteProduct(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<Product> product = ProductOf(graph, node);
  // Data of integers make another product (fuse_quantized).
  if (!product || RankOf(graph, product->data) < 1 || PerTensor(graph, product->data) ||
      graph.type(product->data).dtype != DType::kFloat32)
    return std::nullopt;
  const ValueId source = Untransposed(graph, product->matrix);
  bool transposed = product->transposed != (source != product->matrix);
  const std::optional<Quantized> weight = ScaledPerAxis(graph, source, transposed ? 0 : 1);
  if (!weight || RankOf(graph, source) != 2) return std::nullopt;
  const ValueId codes = Untransposed(graph, weight->x);
  transposed = transposed != (codes != weight->x);
  if (FixedConstant(graph, codes) == nullptr) return std::nullopt;
  const Tensor* zeros = weight->zero.valid() ? FixedConstant(graph, weight->zero) : nullptr;
  if (weight->zero.valid() && zeros == nullptr) return std::nullopt;
  const Tensor &matrix = *graph.constant(codes), &scales = *graph.constant(weight->scale);
  const int64_t k = matrix.dims()[transposed ? 1 : 0], n = matrix.dims()[transposed ? 0 : 1];
  const int64_t block = BlockOf(k), blocks = (k + block - 1) / block;
  std::vector<Tensor> weights;
  weights.push_back(ByteBlocks(matrix, transposed, k, n, block));
  weights.push_back(ForEachBlock(scales.data<float>(), scales.num_elements() == 1, n, blocks));
  // Without zero points they are 128, that of int8.
  std::vector<uint8_t> shifted = {matrix.dtype() == DType::kInt8 ? uint8_t{0x80} : uint8_t{0}};
  if (zeros != nullptr) shifted = ShiftedZeros(*zeros);
  if (std::any_of(shifted.begin(), shifted.end(), [](uint8_t code) { return code != 0x80; }))
    weights.push_back(ForEachBlock(shifted.data(), shifted.size() == 1, n, blocks));
  return NBitsProduct(graph, node, *product, k, n, 8, block, std::move(weights));
}

// A Gather of a dequantized constant with one scale.
std::optional<Patch> GatheredCodes(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<Quantized> data = PerTensor(graph, node.inputs[0]);
  if (!data || FixedConstant(graph, data->x) == nullptr ||
      graph.type(node.outputs[0]).dtype != DType::kFloat32)
    return std::nullopt;
  Patch patch(graph);
  const ValueId codes = patch.AddNode("Gather", {data->x, node.inputs[1]}, node.attributes);
  std::vector<ValueId> inputs = {codes, data->scale};
  if (data->zero.valid()) inputs.push_back(data->zero);
  patch.Replace(node.outputs[0], patch.AddNode("DequantizeLinear", std::move(inputs)));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_nbits_matmul", "MatMul", BlockedProduct}, {"fuse_nbits_gemm", "Gemm", BlockedProduct},
    {"fuse_bytes_matmul", "MatMul", ByteProduct},    {"fuse_bytes_gemm", "Gemm", ByteProduct},
    {"gather_codes", "Gather", GatheredCodes},
};

}  // namespace

absl::StatusOr<int> FuseWeightCodes(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.excess_precision) return 0;
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward

// The products of DequantizeLinear, for fuse_quantized and fuse_weight_codes.
#pragma once

#include <optional>

#include "graph/rewrite/patch.h"
#include "onward/graph.h"

namespace onward {

bool IsByte(DType dtype);

// The number of elements of a value of known shape and rank 0 or 1, else -1.
int64_t LineSize(const Graph& graph, ValueId id);

bool IsOneFloat(const Graph& graph, ValueId id);

// One side of DequantizeLinear: x, scale and zero point of 8-bit integers.
struct Quantized {
  ValueId x, scale, zero;
};

// The dequantized value with one scale.
std::optional<Quantized> PerTensor(const Graph& graph, ValueId value);
// The dequantized value with one constant scale, or one per index of `axis`.
std::optional<Quantized> ScaledPerAxis(const Graph& graph, ValueId value, int64_t axis);
// The same of a constant.
std::optional<Quantized> PerAxis(const Graph& graph, ValueId value, int64_t axis);

// A MatMul or Gemm as data times a matrix, plus a bias where there is one.
struct Product {
  ValueId data, matrix, bias;
  bool transposed = false;  // the matrix is [N, K]
};
std::optional<Product> ProductOf(const Graph& graph, const Node& node);

// A MatMul or Gemm of dequantized data and a dequantized constant matrix: MatMulIntegerToFloat.
std::optional<Patch> IntegerProduct(const Graph& graph, NodeId root);
}  // namespace onward

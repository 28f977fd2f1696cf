// The products of DequantizeLinear, for fuse_quantized.
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
// The dequantized constant with one scale, or one per index of `axis`.
std::optional<Quantized> PerAxis(const Graph& graph, ValueId value, int64_t axis);

// A MatMul or Gemm of dequantized data and a dequantized constant matrix: MatMulIntegerToFloat.
std::optional<Patch> IntegerProduct(const Graph& graph, NodeId root);
// A MatMul or Gemm with a constant matrix of int4 in blocks: MatMulNBits.
std::optional<Patch> BlockedProduct(const Graph& graph, NodeId root);

}  // namespace onward

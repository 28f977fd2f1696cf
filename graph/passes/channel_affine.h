// Arithmetic on weights for folding a per-channel scale and shift into the product before it.
#pragma once

#include <optional>
#include <vector>

#include "onward/graph.h"

namespace onward {

// y[c] = scale[c] * x[c] + shift[c] over channel axis 1, as constants of one node.
struct ChannelAffine {
  ValueId input;
  std::vector<double> scale;  // one per channel, or one for all
  std::vector<double> shift;  // likewise
};

// Reads a BatchNormalization in inference, or a Mul, Div, Add or Sub by a constant that varies at
// most over axis 1 of a result of `rank` with `channels` channels. nullopt when the node is none of
// these or its numbers are not finite.
std::optional<ChannelAffine> ReadChannelAffine(const Graph& graph, const Node& node, int rank,
                                               int64_t channels);

// Elements of a constant float tensor (float32, float64, float16, bfloat16); nullopt for others.
std::optional<std::vector<double>> FloatElements(const Graph& graph, ValueId id);
// A tensor of `dtype` (one of those four), each element rounded once.
Tensor FloatTensor(DType dtype, DimsView dims, const std::vector<double>& values);

// `weight` with every element multiplied by factors[channel], where channel = offset(flat index).
// The dtype is one of those four.
Tensor ScaleWeight(const Tensor& weight, const std::vector<double>& factors,
                   const std::vector<int32_t>& channel_of_block, int64_t block);

}  // namespace onward

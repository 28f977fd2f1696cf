#include "graph/passes/channel_affine.h"

#include <algorithm>
#include <cmath>

#include "graph/rewrite/match.h"

namespace onward {

std::optional<std::vector<double>> FloatElements(const Graph& graph, ValueId id) {
  const Tensor* constant = FixedConstant(graph, id);
  if (constant == nullptr) return std::nullopt;
  std::optional<std::vector<double>> result;
  DispatchDType(FloatTypes(), constant->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    result.emplace();
    result->reserve(static_cast<size_t>(constant->num_elements()));
    for (const T& element : constant->span<T>()) {
      if constexpr (std::is_same_v<T, double>) {
        result->push_back(element);
      } else {
        result->push_back(static_cast<double>(static_cast<float>(element)));
      }
    }
  });
  return result;
}

Tensor FloatTensor(DType dtype, DimsView dims, const std::vector<double>& values) {
  Tensor tensor(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = tensor.mutable_data<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, double>) {
        data[i] = values[i];
      } else {
        data[i] = T(static_cast<float>(values[i]));
      }
    }
  });
  return tensor;
}

Tensor ScaleWeight(const Tensor& weight, const std::vector<double>& factors,
                   const std::vector<int32_t>& channel_of_block, int64_t block) {
  Tensor scaled(weight.dtype(), weight.dims());
  DispatchDType(FloatTypes(), weight.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = weight.data<T>();
    T* to = scaled.mutable_data<T>();
    for (int32_t channel : channel_of_block) {
      const double factor = factors[factors.size() == 1 ? 0 : static_cast<size_t>(channel)];
      for (int64_t i = 0; i < block; ++i) {
        if constexpr (std::is_same_v<T, double>) {
          *to++ = *from++ * factor;
        } else {
          *to++ = T(static_cast<float>(static_cast<double>(static_cast<float>(*from++)) * factor));
        }
      }
    }
  });
  return scaled;
}

namespace {

bool Finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::optional<ChannelAffine> ReadBatchNorm(const Graph& graph, const Node& node, int64_t channels) {
  if (node.attributes.Int("training_mode", 0) != 0 || node.inputs.size() < 5) return std::nullopt;
  if (node.outputs.size() > 1) return std::nullopt;
  std::vector<double> parameters[4];
  for (int i = 0; i < 4; ++i) {
    const auto elements = FloatElements(graph, node.inputs[static_cast<size_t>(i + 1)]);
    if (!elements || static_cast<int64_t>(elements->size()) != channels) return std::nullopt;
    parameters[i] = *elements;
  }
  const auto& [scale, bias, mean, variance] = parameters;
  const double epsilon = node.attributes.Float("epsilon", 1e-5f);
  ChannelAffine affine{node.inputs[0], {}, {}};
  for (size_t c = 0; c < scale.size(); ++c) {
    affine.scale.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    affine.shift.push_back(bias[c] - mean[c] * affine.scale[c]);
  }
  return affine;
}

// Returns whether a constant of `dims` varies at most over axis 1 when broadcast to `rank` dims.
bool PerChannel(DimsView dims, int rank, int64_t channels) {
  const int offset = rank - static_cast<int>(dims.size());
  if (offset < 0) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool channel_axis = offset + static_cast<int>(i) == 1;
    if (dims[i] != 1 && !(channel_axis && dims[i] == channels)) return false;
  }
  return true;
}

std::optional<ChannelAffine> ReadArithmetic(const Graph& graph, const Node& node, int rank,
                                            int64_t channels) {
  if (node.inputs.size() != 2) return std::nullopt;
  const int constant = FixedConstant(graph, node.inputs[1]) != nullptr ? 1 : 0;
  const bool ordered = node.Is("Sub") || node.Is("Div");
  if (ordered && constant == 0) return std::nullopt;
  const ValueId id = node.inputs[static_cast<size_t>(constant)];
  auto elements = FloatElements(graph, id);
  if (!elements || elements->empty() || !PerChannel(graph.constant(id)->dims(), rank, channels)) {
    return std::nullopt;
  }
  ChannelAffine affine{node.inputs[static_cast<size_t>(1 - constant)], {1.0}, {0.0}};
  if (node.Is("Mul")) affine.scale = *elements;
  if (node.Is("Add")) affine.shift = *elements;
  if (node.Is("Sub") || node.Is("Div")) {
    for (double& value : *elements) value = node.Is("Sub") ? -value : 1 / value;
    (node.Is("Sub") ? affine.shift : affine.scale) = *elements;
  }
  return affine;
}

}  // namespace

std::optional<ChannelAffine> ReadChannelAffine(const Graph& graph, const Node& node, int rank,
                                               int64_t channels) {
  std::optional<ChannelAffine> affine;
  if (node.Is("BatchNormalization")) {
    affine = ReadBatchNorm(graph, node, channels);
  } else if (node.Is("Mul") || node.Is("Add") || node.Is("Sub") || node.Is("Div")) {
    affine = ReadArithmetic(graph, node, rank, channels);
  }
  if (affine && (!Finite(affine->scale) || !Finite(affine->shift))) return std::nullopt;
  return affine;
}

}  // namespace onward

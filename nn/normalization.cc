#include "onward/nn/normalization.h"

#include <limits>

#include "graph/ir/graph_edit.h"
#include "nn/shape_of.h"

namespace onward::nn {
namespace {

Tensor Filled(DType dtype, int64_t count, double value) {
  return Draw(init::Constant(value), dtype, {count}, 0, "");
}

// The parameter, or a constant where the module has none.
Expr Or(const Expr& parameter, const Expr& x, const std::vector<int64_t>& shape, double value) {
  if (parameter.valid() || !x.valid()) return parameter;
  return x.sink()->Constant(Draw(init::Constant(value), x.dtype(), shape, 0, ""),
                            value == 0 ? "zeros" : "ones");
}

}  // namespace

BatchNorm::BatchNorm(Module& parent, std::string_view name, int64_t channels,
                     const Options& options)
    : Layer(parent, name), channels_(channels), options_(options) {
  if (!Require(channels >= 1, "needs at least one channel")) return;
  if (options.affine) {
    weight = AddParameter("weight", {channels}, init::Ones());
    bias = AddParameter("bias", {channels}, init::Zeros());
  }
  if (!options.track_running_stats) return;
  running_mean = AddBuffer("running_mean", Filled(dtype(), channels, 0));
  running_var = AddBuffer("running_var", Filled(dtype(), channels, 1));
}

Expr BatchNorm::Forward(const Expr& x) {
  if (!HasChannels(x, channels_, 0, "a batch normalization")) return {};
  if (!options_.track_running_stats) return OfBatch(x);
  const std::vector<int64_t> shape = {channels_};
  return Op("BatchNormalization",
            {x, Or(weight, x, shape, 1), Or(bias, x, shape, 0), running_mean, running_var},
            {{"epsilon", static_cast<float>(options_.eps)},
             {"momentum", static_cast<float>(1 - options_.momentum)}});
}

// The standard's node in training has running statistics; here there are none.
Expr BatchNorm::OfBatch(const Expr& x) {
  const int64_t rank = KnownRank(x, "BatchNorm");
  if (rank < 2) return {};
  std::vector<int64_t> others = {0}, shape(static_cast<size_t>(rank - 1), 1);
  for (int64_t i = 2; i < rank; ++i) others.push_back(i);
  shape[0] = channels_;
  const Expr centered = x - ReduceMean(x, others);
  const Expr variance = ReduceMean(centered * centered, others);
  const Expr y = centered / Sqrt(variance + options_.eps);
  return weight.valid() ? y * Reshape(weight, shape) + Reshape(bias, shape) : y;
}

LayerNorm::LayerNorm(Module& parent, std::string_view name, std::vector<int64_t> shape,
                     const Options& options)
    : Layer(parent, name), shape_(std::move(shape)), options_(options) {
  if (!Require(!shape_.empty(), "needs the sizes of at least one axis")) return;
  if (!options.elementwise_affine) return;
  weight = AddParameter("weight", shape_, init::Ones());
  if (options.bias) bias = AddParameter("bias", shape_, init::Zeros());
}

Expr LayerNorm::Forward(const Expr& x) {
  std::vector<Expr> inputs = {x, Or(weight, x, shape_, 1)};
  if (bias.valid()) inputs.push_back(bias);
  return Op("LayerNormalization", inputs,
            {{"axis", -static_cast<int64_t>(shape_.size())},
             {"epsilon", static_cast<float>(options_.eps)}});
}

RMSNorm::RMSNorm(Module& parent, std::string_view name, int64_t size, const Options& options)
    : Layer(parent, name), size_(size), options_(options) {
  if (options.elementwise_affine) weight = AddParameter("weight", {size}, init::Ones());
}

Expr RMSNorm::Forward(const Expr& x) {
  double eps = options_.eps;
  if (eps == 0) {
    eps = x.dtype() == DType::kFloat64    ? std::numeric_limits<double>::epsilon()
          : x.dtype() == DType::kFloat16  ? 0x1p-10
          : x.dtype() == DType::kBFloat16 ? 0x1p-7
                                          : std::numeric_limits<float>::epsilon();
  }
  return Op("RMSNormalization", {x, Or(weight, x, {size_}, 1)},
            {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(eps)}});
}

GroupNorm::GroupNorm(Module& parent, std::string_view name, int64_t groups, int64_t channels,
                     const Options& options)
    : Layer(parent, name), groups_(groups), channels_(channels), options_(options) {
  if (!Require(groups >= 1 && channels % groups == 0, "the groups must divide the channels") ||
      !options.affine)
    return;
  weight = AddParameter("weight", {channels}, init::Ones());
  bias = AddParameter("bias", {channels}, init::Zeros());
}

Expr GroupNorm::Forward(const Expr& x) {
  if (!HasChannels(x, channels_, 0, "a group normalization")) return {};
  return Op("GroupNormalization", {x, Or(weight, x, {channels_}, 1), Or(bias, x, {channels_}, 0)},
            {{"num_groups", groups_}, {"epsilon", static_cast<float>(options_.eps)}});
}

InstanceNorm::InstanceNorm(Module& parent, std::string_view name, int64_t channels,
                           const Options& options)
    : Layer(parent, name), channels_(channels), options_(options) {
  if (!Require(channels >= 1, "needs at least one channel")) return;
  if (options.affine) {
    weight = AddParameter("weight", {channels}, init::Ones());
    bias = AddParameter("bias", {channels}, init::Zeros());
  }
  if (!options.track_running_stats) return;
  running_mean = AddBuffer("running_mean", Filled(dtype(), channels, 0));
  running_var = AddBuffer("running_var", Filled(dtype(), channels, 1));
}

Expr InstanceNorm::Forward(const Expr& x) {
  if (!HasChannels(x, channels_, 0, "an instance normalization")) return {};
  const std::vector<int64_t> shape = {channels_};
  if (options_.track_running_stats) {
    if (!Require(x.sink() == &sink(), "cannot keep running statistics in a body of control flow"))
      return {};
    const Expr y =
        Op("BatchNormalization",
           {x, Or(weight, x, shape, 1), Or(bias, x, shape, 0), running_mean, running_var},
           {{"epsilon", static_cast<float>(options_.eps)},
            {"momentum", static_cast<float>(1 - options_.momentum)}});
    if (!y.valid()) return {};
    Graph& graph = sink().graph();
    GraphEdit(graph).node(graph.value(y.id()).producer).metadata[kPerInstanceKey] = "1";
    return y;
  }
  return Op("InstanceNormalization",
            {x, Or(weight, x, {channels_}, 1), Or(bias, x, {channels_}, 0)},
            {{"epsilon", static_cast<float>(options_.eps)}});
}

Expr LocalResponseNorm::operator()(const Expr& x) const {
  if (!x.valid()) return {};
  if (size % 2 == 1) {
    return Op("LRN", {x},
              {{"size", size},
               {"alpha", static_cast<float>(alpha)},
               {"beta", static_cast<float>(beta)},
               {"bias", static_cast<float>(k)}});
  }
  // With an even size, PyTorch has the longer half before the channel, the standard behind it.
  const int64_t rank = KnownRank(x, "LocalResponseNorm");
  if (rank < 2) return {};
  std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
  pads[1] = size / 2;
  pads[static_cast<size_t>(rank) + 1] = size / 2 - 1;
  const Expr squares = Op("Pad", {x * x, x.sink()->Ints(pads)});
  Expr sum;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t end = i + 1 == size ? std::numeric_limits<int64_t>::max() : i + 1 - size;
    const Expr shifted = Slice(squares, {i}, {end}, {1});
    sum = i == 0 ? shifted : sum + shifted;
  }
  return x / Pow(sum * (alpha / static_cast<double>(size)) + k, ScalarLike(x, beta));
}

}  // namespace onward::nn

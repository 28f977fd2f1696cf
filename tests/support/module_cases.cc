#include "tests/support/module_cases.h"

#include <limits>

#include "onward/nn/activation.h"
#include "onward/nn/adaptive_log_softmax.h"
#include "onward/nn/conv.h"
#include "onward/nn/distance.h"
#include "onward/nn/dropout.h"
#include "onward/nn/embedding.h"
#include "onward/nn/fractional_max_pool.h"
#include "onward/nn/lazy.h"
#include "onward/nn/linear.h"
#include "onward/nn/normalization.h"
#include "onward/nn/pad.h"
#include "onward/nn/pool.h"
#include "onward/nn/rearrange.h"
#include "onward/nn/recurrent.h"
#include "onward/nn/recurrent_cell.h"
#include "onward/nn/spectral_norm.h"
#include "onward/nn/weight_norm.h"

namespace onward::testing {
namespace {

using namespace nn;  // NOLINT: a table of modules
using Cases = std::map<std::string, MakeModule>;

// A layer, or a function, of the first input.
template <typename M, typename... Arguments>
MakeModule Of(Arguments... arguments) {
  return [=](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{M(root, "", arguments...)(x[0])};
  };
}
MakeModule Of(Function function) {
  return [=](Module&, const std::vector<Expr>& x) { return std::vector<Expr>{function(x[0])}; };
}

void AddConv(Cases& cases) {
  ConvOptions options;
  options.stride = 2;
  options.padding = 1;
  options.dilation = 2;
  options.groups = 2;
  cases["conv1d"] = Of<Conv1d>(4, 6, 3, options);
  options = {};
  options.stride = {1, 2};
  options.padding = {2, 1};
  cases["conv2d"] = Of<Conv2d>(3, 4, Sizes{3, 2}, options);
  options = {};
  options.same = true;
  options.bias = false;
  cases["conv2d_same"] = Of<Conv2d>(3, 4, Sizes{3, 4}, options);
  options = {};
  options.padding = {2, 1};
  const std::pair<const char*, PaddingMode> modes[] = {{"reflect", PaddingMode::kReflect},
                                                       {"replicate", PaddingMode::kReplicate},
                                                       {"circular", PaddingMode::kCircular}};
  for (const auto& [name, mode] : modes) {
    options.padding_mode = mode;
    cases[std::string("conv2d_") + name] = Of<Conv2d>(2, 3, 3, options);
  }
  options = {};
  options.padding = 1;
  cases["conv3d"] = Of<Conv3d>(2, 3, 2, options);
  ConvTransposeOptions transposed;
  transposed.stride = 2;
  cases["conv_transpose3d"] = Of<ConvTranspose3d>(2, 3, 2, transposed);
  transposed.dilation = 2;
  transposed.bias = false;
  cases["conv_transpose2d"] = Of<ConvTranspose2d>(2, 3, 3, transposed);
  transposed = {};
  transposed.stride = 2;
  transposed.padding = transposed.output_padding = 1;
  transposed.groups = 2;
  cases["conv_transpose1d"] = Of<ConvTranspose1d>(4, 6, 3, transposed);
}

void AddLinear(Cases& cases) {
  cases["linear"] = Of<Linear>(4, 3);
  cases["linear_plain"] = Of<Linear>(4, 3, Linear::Options{false});
  cases["bilinear"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{Bilinear(root, "", 3, 4, 2)(x[0], x[1])};
  };
  cases["flatten"] = Of(Flatten());
  cases["flatten_middle"] = Of(Flatten{1, 2});
  cases["unflatten"] = Of(Unflatten{1, {2, 3}});
  cases["sequential"] = [](Module& root, const std::vector<Expr>& x) {
    Sequential net(root, "");
    net.Add<Conv2d>(1, 2, 3);
    net.Add(ReLU());
    net.Add(Flatten());
    net.Add<Linear>(32, 3);
    return std::vector<Expr>{net(x[0])};
  };
}

void AddNormalization(Cases& cases) {
  cases["batch_norm1d"] = Of<BatchNorm1d>(3);
  cases["batch_norm1d_train"] = Of<BatchNorm1d>(3, BatchNormOptions{1e-5, 0.3});
  cases["batch_norm2d_train"] = Of<BatchNorm2d>(3, BatchNormOptions{1e-3});
  cases["batch_norm3d"] = Of<BatchNorm3d>(2, BatchNormOptions{1e-5, 0.1, false});
  cases["batch_norm_untracked"] = Of<BatchNorm2d>(3, BatchNormOptions{1e-5, 0.1, true, false});
  cases["layer_norm"] = Of<LayerNorm>(std::vector<int64_t>{3, 4});
  cases["layer_norm_without_bias"] = Of<LayerNorm>(4, LayerNormOptions{1e-3, true, false});
  cases["layer_norm_plain"] = Of<LayerNorm>(4, LayerNormOptions{1e-5, false});
  cases["rms_norm"] = Of<RMSNorm>(4);
  cases["rms_norm_plain"] = Of<RMSNorm>(4, RMSNormOptions{1e-3, false});
  cases["group_norm"] = Of<GroupNorm>(2, 4);
  cases["group_norm_plain"] = Of<GroupNorm>(3, 6, GroupNormOptions{1e-5, false});
  cases["instance_norm"] = Of<InstanceNorm2d>(3, InstanceNormOptions{1e-5, true});
  cases["instance_norm_plain"] = Of<InstanceNorm1d>(3);
}

// Of ids and then offsets or weights.
MakeModule Bag(const EmbeddingBagOptions& options, bool weights = false) {
  return [=](Module& root, const std::vector<Expr>& x) {
    EmbeddingBag bag(root, "", 7, 3, options);
    if (x.size() == 1) return std::vector<Expr>{bag(x[0])};
    return std::vector<Expr>{weights ? bag(x[0], {}, x[1]) : bag(x[0], x[1])};
  };
}

void AddTracked(Cases& cases) {
  InstanceNormOptions options = {1e-5, true, 0.1, true};
  cases["instance_norm_tracked"] = Of<InstanceNorm2d>(3, options);
  options.affine = false;
  options.momentum = 0.3;
  cases["instance_norm_train"] = Of<InstanceNorm1d>(3, options);
  cases["response_norm"] = Of(LocalResponseNorm{3, 0.4, 0.75, 2});
  cases["response_norm_even"] = Of(LocalResponseNorm{4, 0.4});
  cases["weight_norm"] = [](Module& root, const std::vector<Expr>& x) {
    Linear linear(root, "", 4, 3);
    WeightNorm(linear, linear.weight);
    return std::vector<Expr>{linear(x[0])};
  };
  cases["weight_norm_conv"] = [](Module& root, const std::vector<Expr>& x) {
    Conv1d conv(root, "", 2, 3, 2);
    WeightNorm(conv, conv.weight, 1);
    return std::vector<Expr>{conv(x[0])};
  };
}

void AddSpectral(Cases& cases) {
  cases["adaptive_log_softmax"] = [](Module& root, const std::vector<Expr>& x) {
    AdaptiveLogSoftmaxWithLoss softmax(root, "", 8, 20, {{5, 12}, 2});
    const auto [output, loss] = softmax(x[0], x[1]);
    return std::vector<Expr>{output, loss};
  };
  cases["spectral_norm"] = [](Module& root, const std::vector<Expr>& x) {
    Linear linear(root, "", 4, 3);
    SpectralNorm(linear, linear.weight);
    return std::vector<Expr>{linear(x[0])};
  };
  cases["spectral_norm_train"] = [](Module& root, const std::vector<Expr>& x) {
    ConvTranspose1d conv(root, "", 2, 3, 2);
    SpectralNorm(conv, conv.weight, {.power_iterations = 2, .axis = 1});
    return std::vector<Expr>{conv(x[0])};
  };
}

void AddEmbedding(Cases& cases) {
  cases["embedding"] = Of<Embedding>(7, 3);
  cases["embedding_padding"] = Of<Embedding>(7, 3, EmbeddingOptions{2});
  cases["bag_mean"] = Bag({});
  const double infinity = std::numeric_limits<double>::infinity();
  cases["embedding_max_norm"] = Of<Embedding>(7, 3, EmbeddingOptions{std::nullopt, 0.8});
  cases["embedding_max_norm_one"] = Of<Embedding>(7, 3, EmbeddingOptions{2, 1.1, 1});
  cases["embedding_max_norm_three"] = Of<Embedding>(7, 3, EmbeddingOptions{2, 0.7, 3});
  cases["bag_max_norm"] = Bag({BagMode::kMean, std::nullopt, 0.5, infinity});
  cases["bag_sum_weights"] = Bag({BagMode::kSum}, true);
  cases["bag_max_padding"] = Bag({BagMode::kMax, 1});
  cases["bag_offsets"] = Bag({BagMode::kMean, 2});
  cases["bag_offsets_sum"] = Bag({BagMode::kSum});
}

void AddLazy(Cases& cases) {
  ConvOptions conv;
  conv.padding = 1;
  ConvTransposeOptions transposed;
  transposed.stride = 2;
  cases["lazy_linear"] = Of<LazyLinear>(3);
  cases["lazy_linear_plain"] = Of<LazyLinear>(3, Linear::Options{false});
  cases["lazy_conv1d"] = Of<LazyConv1d>(5, 3, conv);
  cases["lazy_conv2d"] = Of<LazyConv2d>(4, Sizes{3, 2});
  cases["lazy_conv3d"] = Of<LazyConv3d>(2, 2);
  cases["lazy_conv_transpose1d"] = Of<LazyConvTranspose1d>(3, 2);
  cases["lazy_conv_transpose2d"] = Of<LazyConvTranspose2d>(3, 2, transposed);
  cases["lazy_conv_transpose3d"] = Of<LazyConvTranspose3d>(2, 2);
  cases["lazy_batch_norm"] = Of<LazyBatchNorm2d>();
  cases["lazy_batch_norm_train"] = Of<LazyBatchNorm1d>(BatchNormOptions{1e-4, 0.2});
  cases["lazy_instance_norm"] = Of<LazyInstanceNorm1d>();
  cases["lazy_sequential"] = [](Module& root, const std::vector<Expr>& x) {
    Sequential net(root, "");
    net.Add<LazyConv2d>(2, 3);
    net.Add(ReLU());
    net.Add(Flatten());
    net.Add<LazyLinear>(3);
    return std::vector<Expr>{net(x[0])};
  };
}

template <typename M>
MakeModule Recurrence(int64_t layers, bool bias, bool batch_first, bool both,
                      std::string nonlinearity = "tanh", bool lengths = false) {
  return [=](Module& root, const std::vector<Expr>& x) {
    const RecurrentOptions options = {layers, bias, batch_first, 0, both, nonlinearity};
    M recurrent(root, "", 3, 4, options);
    const auto given = [&](size_t i) { return !lengths && i < x.size() ? x[i] : Expr(); };
    const RecurrentResult result = recurrent(x[0], given(1), given(2), lengths ? x[1] : Expr());
    std::vector<Expr> outputs = {result.output, result.hidden};
    if (result.cell.valid()) outputs.push_back(result.cell);
    return outputs;
  };
}

MakeModule Projected(int64_t layers, bool bias, bool batch_first, bool both, int64_t size,
                     bool lengths = false) {
  return [=](Module& root, const std::vector<Expr>& x) {
    RecurrentOptions options = {layers, bias, batch_first, 0, both};
    options.proj_size = size;
    LSTM lstm(root, "", 3, 4, options);
    const auto given = [&](size_t i) { return !lengths && i < x.size() ? x[i] : Expr(); };
    const RecurrentResult result = lstm(x[0], given(1), given(2), lengths ? x[1] : Expr());
    return std::vector<Expr>{result.output, result.hidden, result.cell};
  };
}

void AddCells(Cases& cases) {
  cases["lstm_projected"] = Projected(1, true, false, false, 2);
  cases["lstm_projected_deep"] = Projected(2, false, true, true, 2);
  cases["lstm_projected_lengths"] = Projected(1, true, false, true, 3, true);
  cases["lstm_cell"] = [](Module& root, const std::vector<Expr>& x) {
    const auto [hidden, cell] = LSTMCell(root, "", 3, 4)(x[0], {x[1], x[2]});
    return std::vector<Expr>{hidden, cell};
  };
  cases["gru_cell"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{GRUCell(root, "", 3, 4)(x[0], x[1])};
  };
  cases["gru_cell_start"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{GRUCell(root, "", 3, 4, false)(x[0])};
  };
  cases["rnn_cell"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{RNNCell(root, "", 3, 4, true, true)(x[0], x[1])};
  };
}

void AddRecurrent(Cases& cases) {
  cases["lstm"] = Recurrence<LSTM>(1, true, false, false);
  cases["lstm_deep"] = Recurrence<LSTM>(2, true, true, true);
  cases["lstm_lengths"] = Recurrence<LSTM>(1, true, false, true, "tanh", true);
  cases["gru"] = Recurrence<GRU>(2, true, false, false);
  cases["gru_states"] = Recurrence<GRU>(1, false, true, true);
  cases["rnn"] = Recurrence<RNN>(2, true, false, true);
  cases["rnn_relu"] = Recurrence<RNN>(1, true, false, false, "relu");
}

void AddPool(Cases& cases) {
  cases["max_pool"] = Of(MaxPool{3, 2, 1, 1, true});
  cases["max_pool_dilated"] = Of(MaxPool{2, 1, 0, 2});
  cases["avg_pool"] = Of(AvgPool{Sizes{2, 3}, std::nullopt, 1});
  cases["avg_pool_inside"] = Of(AvgPool{2, std::nullopt, 1, false, false});
  cases["lp_pool"] = Of(LPPool{3, 2});
  cases["adaptive_avg"] = Of(AdaptiveAvgPool{Sizes{3, 2}});
  cases["adaptive_avg_even"] = Of(AdaptiveAvgPool{3});
  cases["adaptive_avg_one"] = Of(AdaptiveAvgPool{1});
  cases["adaptive_max"] = Of(AdaptiveMaxPool{Sizes{3, 2}});
  cases["upsample"] = Of(Upsample{{}, {2}});
  cases["upsample_nearest_size"] = Of(Upsample{{4, 5}});
  cases["upsample_linear"] = Of(Upsample{{}, {2, 1.5}, "linear"});
  cases["upsample_corners"] = Of(Upsample{{5, 4, 3}, {}, "linear", true});
  cases["upsample_cubic"] = Of(Upsample{{7, 6}, {}, "cubic"});
  cases["pixel_shuffle"] = Of(PixelShuffle{2});
}

void AddPad(Cases& cases) {
  cases["zero_pad"] = Of(ZeroPad{{1, 2, 3, 0}});
  cases["constant_pad"] = Of(ConstantPad{{2, -1}, 0.7});
  cases["reflection_pad"] = Of(ReflectionPad{{1, 2, 0, 1}});
  cases["replication_pad"] = Of(ReplicationPad{{1}});
  cases["circular_pad"] = Of(CircularPad{{1, 2, 2, 0}});
}

void AddRearranged(Cases& cases) {
  cases["pixel_unshuffle"] = Of(PixelUnshuffle{2});
  cases["channel_shuffle"] = Of(ChannelShuffle{3});
  cases["unfold"] = Of(Unfold{Sizes{2, 3}, Sizes{2, 1}, 1, 2});
  cases["fold"] = Of(Fold{{5, 6}, Sizes{2, 3}, 1, Sizes{1, 0}, Sizes{1, 2}});
  cases["adaptive_max_uneven"] = Of(AdaptiveMaxPool{Sizes{3, 4}});
  const auto unpooled = [](std::vector<int64_t> size) {
    return [=](Module&, const std::vector<Expr>& x) {
      const MaxPool::Found found = MaxPool{2}.WithIndices(x[0]);
      return std::vector<Expr>{MaxUnpool{2, std::nullopt, 0, size}(found.values, found.indices)};
    };
  };
  const auto fractional = [](FractionalMaxPool pool) {
    return [=](Module&, const std::vector<Expr>& x) { return std::vector<Expr>{pool(x[0], x[1])}; };
  };
  cases["fractional_max_pool"] = fractional({Sizes{2, 3}, {4, 3}});
  cases["fractional_max_pool_ratio"] = fractional({2, {}, {0.6}});
  cases["fractional_max_pool_one"] = fractional({Sizes{2, 3}, {1, 4}});
  cases["max_unpool"] = unpooled({});
  cases["max_unpool_size"] = unpooled({7});
  const auto two = [](auto function) {
    return [=](Module&, const std::vector<Expr>& x) {
      return std::vector<Expr>{function(x[0], x[1])};
    };
  };
  cases["cosine_similarity"] = two(CosineSimilarity());
  cases["pairwise_distance"] = two(PairwiseDistance());
  cases["pairwise_distance_one"] = two(PairwiseDistance{1, 1e-6, true});
  cases["pairwise_distance_three"] = two(PairwiseDistance{3});
  cases["alpha_dropout"] = Of(AlphaDropout{0.3});
  cases["feature_alpha_dropout"] = Of(FeatureAlphaDropout{0.3});
}

void AddActivations(Cases& cases) {
  const std::pair<const char*, Function> rows[] = {
      {"relu", ReLU()},
      {"rrelu", RReLU{0.1, 0.4}},
      {"relu6", ReLU6()},
      {"leaky_relu", LeakyReLU{0.2}},
      {"elu", ELU{0.7}},
      {"selu", SELU()},
      {"celu", CELU{1.3}},
      {"gelu", GELU()},
      {"gelu_tanh", GELU{true}},
      {"silu", SiLU()},
      {"mish", Mish()},
      {"sigmoid", Sigmoid()},
      {"log_sigmoid", LogSigmoid()},
      {"tanh", Tanh()},
      {"tanhshrink", Tanhshrink()},
      {"hardtanh", Hardtanh{-2, 0.5}},
      {"hardsigmoid", Hardsigmoid()},
      {"hardswish", Hardswish()},
      {"hardshrink", Hardshrink()},
      {"softshrink", Softshrink{0.7}},
      {"softplus", Softplus{2, 3}},
      {"softsign", Softsign()},
      {"threshold", Threshold{0.3, -1}},
      {"softmax", Softmax{1}},
      {"softmin", Softmin()},
      {"log_softmax", LogSoftmax()},
      {"glu", GLU{1}},
  };
  for (const auto& [name, function] : rows) cases[name] = Of(function);
  cases["prelu"] = Of<PReLU>(3);
}

}  // namespace

std::map<std::string, MakeModule> ModuleCases() {
  Cases cases;
  for (const auto add :
       {AddConv, AddLinear, AddNormalization, AddTracked, AddSpectral, AddEmbedding, AddLazy,
        AddRecurrent, AddCells, AddPool, AddPad, AddRearranged, AddActivations})
    add(cases);
  AddAttentionCases(cases);
  return cases;
}

}  // namespace onward::testing

// A per-channel scale and shift (BatchNormalization in inference, Mul, Div, Add, Sub by a constant)
// after Conv, ConvTranspose or Gemm becomes part of the weight and bias; a scale after MatMul, part
// of the weight.
#include <algorithm>

#include "graph/passes/channel_affine.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// Where the output channels lie in a weight.
struct WeightLayout {
  int64_t channels = 0;
  int64_t block = 1;                      // consecutive elements of one channel
  std::vector<int32_t> channel_of_block;  // for each block of the weight
};

WeightLayout ConvLayout(const Tensor& weight) {
  WeightLayout layout;
  layout.channels = weight.dims()[0];
  layout.block = NumElements(weight.dims(), 1, weight.rank());
  for (int64_t c = 0; c < layout.channels; ++c) {
    layout.channel_of_block.push_back(static_cast<int32_t>(c));
  }
  return layout;
}

// Weight [in, out / group, ...]: input channel i belongs to group i / (in / group).
std::optional<WeightLayout> ConvTransposeLayout(const Tensor& weight, int64_t group) {
  const int64_t in = weight.dims()[0], out_of_group = weight.dims()[1];
  if (group <= 0 || in == 0 || in % group != 0) return std::nullopt;
  WeightLayout layout;
  layout.channels = out_of_group * group;
  layout.block = NumElements(weight.dims(), 2, weight.rank());
  for (int64_t i = 0; i < in; ++i) {
    for (int64_t o = 0; o < out_of_group; ++o) {
      layout.channel_of_block.push_back(static_cast<int32_t>(i / (in / group) * out_of_group + o));
    }
  }
  return layout;
}

WeightLayout GemmLayout(const Tensor& weight, bool transposed) {
  if (transposed) return ConvLayout(weight);
  WeightLayout layout;
  layout.channels = weight.dims()[1];
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    layout.channel_of_block.push_back(static_cast<int32_t>(i % layout.channels));
  }
  return layout;
}

std::optional<WeightLayout> LayoutOf(const Node& node, const Tensor& weight) {
  if (node.Is("Gemm")) {
    if (weight.rank() != 2) return std::nullopt;
    return GemmLayout(weight, node.attributes.Int("transB", 0) != 0);
  }
  if (weight.rank() < 3) return std::nullopt;
  if (node.Is("Conv")) return ConvLayout(weight);
  return ConvTransposeLayout(weight, node.attributes.Int("group", 1));
}

// The node's bias, one per channel; zeros where it has none.
std::optional<std::vector<double>> BiasOf(const Graph& graph, const Node& node, int64_t channels) {
  const ValueId bias = InputOf(node, 2);
  if (!bias.valid()) return std::vector<double>(static_cast<size_t>(channels), 0.0);
  auto elements = FloatElements(graph, bias);
  if (!elements) return std::nullopt;
  const DimsView dims = graph.constant(bias)->dims();
  if (!dims.empty() && dims.back() != static_cast<int64_t>(elements->size())) return std::nullopt;
  if (elements->size() == 1) elements->resize(static_cast<size_t>(channels), (*elements)[0]);
  if (static_cast<int64_t>(elements->size()) != channels) return std::nullopt;
  const double beta = node.Is("Gemm") ? node.attributes.Float("beta", 1.0f) : 1.0;
  for (double& value : *elements) value *= beta;
  return elements;
}

double At(const std::vector<double>& values, size_t channel) {
  return values[values.size() == 1 ? 0 : channel];
}

// The product before the node, if it is the node's alone and constant enough.
const Node* ProductBefore(const Graph& graph, const Node& node, ValueId* product) {
  for (ValueId input : node.inputs) {
    if (!input.valid() || !ReadOnce(graph, input)) continue;
    for (const char* op : {"Conv", "ConvTranspose", "Gemm", "MatMul"}) {
      if (const Node* found = MadeBy(graph, input, op)) {
        *product = input;
        return found;
      }
    }
  }
  return nullptr;
}

// Returns whether the node's numbers are those of the columns of a MatMul's weight: the channels of
// a BatchNormalization lie on axis 1. One number for all stays: it may scale an attention's scores.
bool ScalesColumns(const Graph& graph, const Node& node, const ChannelAffine& affine) {
  const int rank = RankOf(graph, affine.input);
  const bool channels_last = node.Is("BatchNormalization") ? rank == 2 : rank >= 2;
  return channels_last && affine.scale.size() > 1;
}

// The scale alone: a sum is left for passes that fuse it. A weight that others read is not copied.
std::optional<Patch> FoldIntoMatMul(const Graph& graph, const Node& node, const Node& product,
                                    const Tensor& weight) {
  if (weight.rank() != 2 || !IsFloating(weight.dtype()) || !ReadOnce(graph, product.inputs[1]))
    return std::nullopt;
  const int64_t channels = weight.dims()[1];
  const auto affine = ReadChannelAffine(graph, node, 2, channels);
  if (!affine || affine->input != product.outputs[0] || !ScalesColumns(graph, node, *affine))
    return std::nullopt;
  const WeightLayout layout = GemmLayout(weight, /*transposed=*/false);
  Patch patch(graph);
  const ValueId scaled =
      patch.AddConstant(graph.value(product.inputs[1]).name + "_scaled",
                        ScaleWeight(weight, affine->scale, layout.channel_of_block, layout.block));
  ValueId result = patch.AddNode("MatMul", {product.inputs[0], scaled});
  if (node.Is("BatchNormalization")) {
    const ValueId shift =
        patch.AddConstant("", FloatTensor(weight.dtype(), Dims{channels}, affine->shift));
    result = patch.AddNode("Add", {result, shift});
  }
  patch.Replace(node.outputs[0], result);
  return patch;
}

std::optional<Patch> FoldAffine(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  ValueId product;
  const Node* before = ProductBefore(graph, node, &product);
  if (before == nullptr) return std::nullopt;
  const Tensor* weight = FixedConstant(graph, before->inputs[1]);
  if (weight == nullptr) return std::nullopt;
  if (before->Is("MatMul")) return FoldIntoMatMul(graph, node, *before, *weight);
  const auto layout = LayoutOf(*before, *weight);
  if (!layout || layout->channels == 0) return std::nullopt;
  const auto affine =
      ReadChannelAffine(graph, node, static_cast<int>(weight->rank()), layout->channels);
  if (!affine || affine->input != product) return std::nullopt;
  const auto bias = BiasOf(graph, *before, layout->channels);
  if (!bias || !IsFloating(weight->dtype())) return std::nullopt;
  std::vector<double> shifted;
  for (size_t c = 0; c < bias->size(); ++c) {
    shifted.push_back((*bias)[c] * At(affine->scale, c) + At(affine->shift, c));
  }
  const bool scales = std::any_of(affine->scale.begin(), affine->scale.end(),
                                  [](double factor) { return factor != 1; });
  Patch patch(graph);
  ValueId new_weight = before->inputs[1];
  if (scales) {
    new_weight = patch.AddConstant(
        graph.value(new_weight).name + "_scaled",
        ScaleWeight(*weight, affine->scale, layout->channel_of_block, layout->block));
  }
  const ValueId new_bias =
      patch.AddConstant(graph.value(product).name + "_bias",
                        FloatTensor(weight->dtype(), Dims{layout->channels}, shifted));
  Attributes attributes = before->attributes;
  if (before->Is("Gemm")) attributes.Set("beta", 1.0f);
  patch.Replace(node.outputs[0],
                patch.AddNode(before->op_type, {before->inputs[0], new_weight, new_bias},
                              std::move(attributes)));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_batch_norm", "BatchNormalization", FoldAffine},
    {"fuse_channel_mul", "Mul", FoldAffine},
    {"fuse_channel_div", "Div", FoldAffine},
    {"fuse_channel_add", "Add", FoldAffine},
    {"fuse_channel_sub", "Sub", FoldAffine},
};

}  // namespace

absl::StatusOr<int> FuseBatchNorm(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward

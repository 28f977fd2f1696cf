// Conv without the taps of its kernel that meet nothing but padding, whatever the input holds: wide
// dilations on small maps have many.
#include "graph/base/conv_taps.h"
#include "graph/builder/patch_sink.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"
#include "onward/functions.h"

namespace onward {

namespace {

std::optional<std::vector<ConvAxis>> SpatialAxes(const Graph& graph, const Node& node) {
  if (node.attributes.String("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const auto& x = graph.type(node.inputs[0]).shape;
  const auto& y = graph.type(node.outputs[0]).shape;
  const Tensor* w = FixedConstant(graph, node.inputs[1]);
  if (!x || !y || w == nullptr || x->size() != y->size() || w->dims().size() != x->size()) {
    return std::nullopt;
  }
  const size_t rank = x->size() - 2;
  const std::vector<int64_t> ones(rank, 1), zeros(2 * rank, 0);
  const std::vector<int64_t> strides = node.attributes.Ints("strides", ones);
  const std::vector<int64_t> dilations = node.attributes.Ints("dilations", ones);
  const std::vector<int64_t> pads = node.attributes.Ints("pads", zeros);
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank) {
    return std::nullopt;
  }
  std::vector<ConvAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    const Dim& in = (*x)[i + 2];
    const Dim& out = (*y)[i + 2];
    if (!in.known() || !out.known() || strides[i] < 1 || dilations[i] < 1) return std::nullopt;
    axes.push_back({in.value(), out.value(), w->dims()[i + 2], strides[i], dilations[i], pads[i],
                    pads[i + rank]});
  }
  return axes;
}

std::optional<Patch> TrimTaps(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<std::vector<ConvAxis>> axes = SpatialAxes(graph, node);
  if (!axes) return std::nullopt;
  std::vector<int64_t> starts, ends, slice_axes, kernel, pads(2 * axes->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    const ConvAxis& axis = (*axes)[i];
    const TapRange taps = LiveTaps(axis).value_or(TapRange{0, axis.kernel});
    const ConvAxis narrow = Narrowed(axis, taps);
    kernel.push_back(narrow.kernel);
    pads[i] = narrow.pad_begin;
    pads[i + axes->size()] = narrow.pad_end;
    if (narrow.kernel == axis.kernel) continue;
    slice_axes.push_back(static_cast<int64_t>(i) + 2);
    starts.push_back(taps.begin);
    ends.push_back(taps.end);
  }
  if (slice_axes.empty()) return std::nullopt;
  Attributes attributes = node.attributes;
  attributes.Set("pads", pads);
  attributes.Set("kernel_shape", kernel);
  Patch patch(graph);
  PatchSink sink(patch);
  const Expr w = Slice(sink.Value(node.inputs[1]), starts, ends, slice_axes);
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = w.id();
  patch.Replace(node.outputs[0], patch.AddNode("Conv", inputs, std::move(attributes)));
  return patch;
}

constexpr Rule kRules[] = {{"trim_conv_taps", "Conv", TrimTaps}};

}  // namespace

absl::StatusOr<int> TrimConvTaps(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward

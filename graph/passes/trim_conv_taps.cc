// Conv without the taps of its kernel that meet nothing but padding, whatever the input holds: wide
// dilations on small maps have many.
#include <algorithm>

#include "graph/builder/functions.h"
#include "graph/builder/patch_sink.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// One spatial axis.
struct Axis {
  int64_t input = 0, output = 0, kernel = 0, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};

// Whether tap `tap` meets the input at some output position.
bool MeetsInput(const Axis& axis, int64_t tap) {
  const int64_t first = tap * axis.dilation - axis.pad_begin;
  if (first >= axis.input) return false;
  if (first >= 0) return axis.output > 0;
  const int64_t steps = (-first + axis.stride - 1) / axis.stride;
  return steps < axis.output && first + steps * axis.stride < axis.input;
}

// Taps [begin, end) that meet the input, where leaving the others out is expressible.
struct Taps {
  int64_t begin = 0, end = 0;
};
std::optional<Taps> LiveTaps(const Axis& axis) {
  Taps taps{0, axis.kernel};
  while (taps.begin < taps.end && !MeetsInput(axis, taps.begin)) ++taps.begin;
  while (taps.end > taps.begin && !MeetsInput(axis, taps.end - 1)) --taps.end;
  const bool expressible = taps.begin < taps.end && taps.begin * axis.dilation <= axis.pad_begin &&
                           (axis.kernel - taps.end) * axis.dilation <= axis.pad_end;
  if (!expressible) return std::nullopt;
  return taps;
}

std::optional<std::vector<Axis>> SpatialAxes(const Graph& graph, const Node& node) {
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
  std::vector<Axis> axes;
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
  const std::optional<std::vector<Axis>> axes = SpatialAxes(graph, node);
  if (!axes) return std::nullopt;
  std::vector<int64_t> starts, ends, slice_axes, kernel, pads(2 * axes->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    const Axis& axis = (*axes)[i];
    const Taps taps = LiveTaps(axis).value_or(Taps{0, axis.kernel});
    kernel.push_back(taps.end - taps.begin);
    pads[i] = axis.pad_begin - taps.begin * axis.dilation;
    pads[i + axes->size()] = axis.pad_end - (axis.kernel - taps.end) * axis.dilation;
    if (kernel.back() == axis.kernel) continue;
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

#include "graph/infer/least_cost.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/ops/facts.h"

namespace onward {
namespace {

using Symbols = std::map<std::string, double>;

class Estimator {
 public:
  Estimator(const Graph& graph, const Symbols& symbols, bool minimal_filtering)
      : graph_(graph), symbols_(symbols), minimal_filtering_(minimal_filtering) {}

  double Elements(ValueId id) const {
    double count = 1;
    for (double size : Sizes(id)) count *= size;
    return count;
  }

  double Bytes(ValueId id) const {
    return graph_.type(id).is_tensor() ? Elements(id) * BitSize(graph_.type(id).dtype) / 8 : 0;
  }

  // Adds the multiply-adds of elements that are there, by the dtype of the first operand.
  void AddLeastFlops(std::map<DType, double>& flops) const {
    for (NodeId id : graph_.node_ids()) {
      const Node& node = graph_.node(id);
      if (const double own = NodeFlops(node); own > 0)
        flops[graph_.type(node.inputs[0]).dtype] +=
            own * ShareWithoutPadding(node) * ShareOfMinimalFiltering(node);
      if (node.Is("If")) continue;  // one of the branches
      for (const Subgraph& subgraph : node.subgraphs)
        Estimator(*subgraph.graph, symbols_, minimal_filtering_).AddLeastFlops(flops);
    }
  }

  // Bytes of an input or a constant that its readers need.
  double LeastRead(ValueId id) const {
    double needed = 0;
    for (const NodeId user : graph_.users(id)) {
      const Node& node = graph_.node(user);
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] == id) needed += ReadBy(node, i);
    }
    return std::min(needed, Bytes(id));
  }

 private:
  std::vector<double> Sizes(ValueId id) const {
    std::vector<double> sizes;
    if (!id.valid() || !graph_.type(id).shape) return sizes;
    for (const Dim& dim : *graph_.type(id).shape) sizes.push_back(SizeOf(dim));
    return sizes;
  }

  double SizeOf(const Dim& dim) const {
    if (dim.known()) return static_cast<double>(dim.value());
    const auto it = symbols_.find(dim.expression());
    return it == symbols_.end() ? 1.0 : it->second;
  }

  double NodeFlops(const Node& node) const {
    double flops = 0;
    for (const SymbolicDims& product : MultiplyAddsOf(graph_, node)) {
      double adds = 2;
      for (const Dim& dim : product) adds *= SizeOf(dim);
      flops += adds;
    }
    return flops;
  }

  // The bytes that a node reads of its operand `i`.
  double ReadBy(const Node& node, size_t i) const {
    if (!node.subgraphs.empty()) return 0;  // a body may not come to it
    const std::string& op = node.op_type;
    const auto is = [&](std::initializer_list<std::string_view> ops) {
      return std::find(ops.begin(), ops.end(), op) != ops.end();
    };
    const bool only_its_type =
        (i == 0 && is({"Shape", "Size", "EyeLike", "RandomNormalLike", "RandomUniformLike"})) ||
        (i == 1 && is({"CastLike"}));
    if (only_its_type) return 0;
    const double all = Bytes(node.inputs[i]);
    const bool some = i == 0 && is({"Gather", "GatherElements", "GatherND", "Slice", "Compress",
                                    "Pad", "Resize", "Upsample", "Trilu", "MaxPool", "AveragePool",
                                    "LpPool", "Conv", "RoiAlign", "GridSample", "AffineGrid"});
    if (!some) return all;
    // With strides or indices a part may be left out; each element of the output needs one.
    double written = 0;
    for (const ValueId output : node.outputs)
      if (output.valid()) written += Elements(output);
    return std::min(all, written * BitSize(graph_.type(node.inputs[i]).dtype) / 8);
  }

  // For one spatial axis: the share of pairs of an output and a tap that have an input.
  static double ShareOfAxis(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                            int64_t dilation, int64_t before) {
    if (in < 1 || out < 1 || kernel < 1 || out > (int64_t{1} << 20)) return 1;
    int64_t there = 0;
    for (int64_t k = 0; k < kernel; ++k) {
      // 0 <= o * stride + k * dilation - before < in
      const int64_t from = before - k * dilation, to = from + in;
      const int64_t first = from <= 0 ? 0 : (from + stride - 1) / stride;
      const int64_t end = to <= 0 ? 0 : (to + stride - 1) / stride;
      there += std::max<int64_t>(0, std::min(end, out) - std::min(first, out));
    }
    return static_cast<double>(there) / static_cast<double>(out * kernel);
  }

  // The share of a convolution's multiply-adds whose operand is not padding.
  double ShareWithoutPadding(const Node& node) const {
    const std::string& op = node.op_type;
    const bool transposed = op == "ConvTranspose";
    if (op != "Conv" && op != "FusedConv" && op != "ConvInteger" && op != "QLinearConv" &&
        !transposed)
      return 1;
    // A transposed one scatters: its output has the place of a convolution's input.
    const std::vector<double> in = Sizes(node.inputs[0]), out = Sizes(node.outputs[0]);
    const std::vector<double> weights = Sizes(node.inputs[op == "QLinearConv" ? 3 : 1]);
    if (in.size() < 3 || out.size() != in.size() || weights.size() != in.size()) return 1;
    const std::vector<int64_t> pads = node.attributes.Ints("pads"),
                               strides = node.attributes.Ints("strides"),
                               dilations = node.attributes.Ints("dilations");
    const std::string same = node.attributes.String("auto_pad", "NOTSET");
    double share = 1;
    for (size_t axis = 0; axis + 2 < in.size(); ++axis) {
      const auto kernel = static_cast<int64_t>(weights[axis + 2]);
      const int64_t stride = axis < strides.size() ? std::max<int64_t>(1, strides[axis]) : 1;
      const int64_t dilation = axis < dilations.size() ? std::max<int64_t>(1, dilations[axis]) : 1;
      auto large = static_cast<int64_t>(in[axis + 2]), small = static_cast<int64_t>(out[axis + 2]);
      if (transposed) std::swap(large, small);
      int64_t before = axis < pads.size() ? pads[axis] : 0;
      if (same.substr(0, 4) == "SAME") {
        const int64_t all =
            std::max<int64_t>(0, (small - 1) * stride + (kernel - 1) * dilation + 1 - large);
        before = same == "SAME_UPPER" ? all / 2 : all - all / 2;
      }
      share *= ShareOfAxis(large, small, kernel, stride, dilation, before);
    }
    return share;
  }

  double ShareOfMinimalFiltering(const Node& node) const {
    const bool convolves = node.Is("Conv") || node.Is("ConvTranspose") ||
                           node.Is("FusedConv", "onward") ||
                           node.Is("ChannelsLastFusedConv", "onward");
    if (!minimal_filtering_ || !convolves) return 1;
    const std::vector<double> weights = Sizes(node.inputs[1]);
    const auto all_one = [&](const char* name) {
      const std::vector<int64_t> list = node.attributes.Ints(name);
      return std::all_of(list.begin(), list.end(), [](int64_t value) { return value == 1; });
    };
    const bool fits = weights.size() == 4 && weights[2] == 3 && weights[3] == 3 &&
                      all_one("strides") && all_one("dilations") &&
                      node.attributes.Int("group", 1) == 1;
    return fits ? 0.25 : 1;
  }

  const Graph& graph_;
  const Symbols& symbols_;
  bool minimal_filtering_;
};

Symbols SymbolsOf(const Graph& graph, const std::map<std::string, Value>& inputs) {
  Symbols symbols;
  for (ValueId id : graph.inputs()) {
    const auto it = inputs.find(graph.value(id).name);
    if (it == inputs.end() || !it->second.is_tensor()) continue;
    const Tensor& tensor = it->second.tensor();
    const auto& shape = graph.type(id).shape;
    for (size_t i = 0; shape && i < shape->size() && i < tensor.dims().size(); ++i) {
      if ((*shape)[i].symbolic())
        symbols[(*shape)[i].expression()] = static_cast<double>(tensor.dims()[i]);
    }
  }
  return symbols;
}

}  // namespace

LeastCost LeastCostOf(const Graph& graph, const std::map<std::string, Value>& inputs,
                      bool minimal_filtering) {
  const Symbols symbols = SymbolsOf(graph, inputs);
  const Estimator estimator(graph, symbols, minimal_filtering);
  LeastCost cost;
  estimator.AddLeastFlops(cost.flops);
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueId id{i};
    if (graph.is_constant(id) || graph.is_input(id)) cost.read_bytes += estimator.LeastRead(id);
  }
  for (ValueId id : graph.outputs())
    if (!graph.is_constant(id) && !graph.is_input(id)) cost.written_bytes += estimator.Bytes(id);
  return cost;
}

}  // namespace onward

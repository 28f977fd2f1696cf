#include "graph/infer/check_windows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onward {
namespace {

struct WindowOp {
  std::string_view op;
  int weight;  // the input whose axes from 2 on are the kernel's; -1: none
};
constexpr WindowOp kOps[] = {
    {"AveragePool", -1}, {"Col2Im", -1}, {"Conv", 1},     {"ConvInteger", 1}, {"ConvTranspose", 1},
    {"DeformConv", 1},   {"LpPool", -1}, {"MaxPool", -1}, {"MaxUnpool", -1},  {"QLinearConv", 3},
};

// Who said how many spatial axes there are.
struct Said {
  std::string by;
  size_t axes;
};

std::optional<size_t> SpatialAxes(const Graph& graph, ValueId value) {
  if (!value.valid()) return std::nullopt;
  const auto& shape = graph.type(value).shape;
  if (!shape || shape->size() < 2) return std::nullopt;
  return shape->size() - 2;
}

// Returns the numbers of axes that the types of the node's values imply.
std::vector<Said> SaidByTypes(const Graph& graph, const Node& node, const WindowOp& row) {
  std::vector<Said> said;
  if (row.op == "Col2Im") {  // its input has the windows in a row
    if (const auto axes = SpatialAxes(graph, node.outputs[0]))
      said.push_back({"the output", *axes});
    return said;
  }
  if (const auto axes = SpatialAxes(graph, node.inputs[0])) said.push_back({"the input", *axes});
  if (row.weight < 0 || static_cast<size_t>(row.weight) >= node.inputs.size()) return said;
  if (const auto axes = SpatialAxes(graph, node.inputs[static_cast<size_t>(row.weight)]))
    said.push_back({"the weight", *axes});
  return said;
}

}  // namespace

absl::Status CheckWindows(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return absl::OkStatus();
  const auto* row = std::find_if(std::begin(kOps), std::end(kOps),
                                 [&](const WindowOp& each) { return each.op == node.op_type; });
  if (row == std::end(kOps)) return absl::OkStatus();
  std::vector<Said> said = SaidByTypes(graph, node, *row);
  for (const char* name : {"kernel_shape", "strides", "dilations", "output_padding", "pads"}) {
    const std::vector<int64_t> list = node.attributes.Ints(name, {});
    if (list.empty()) continue;
    const std::string_view of = name;
    const size_t each = of == "pads" ? 2 : 1;
    if (list.size() % each != 0)
      return absl::InvalidArgumentError(
          absl::StrCat("pads has ", list.size(), " elements, must have two for each axis"));
    said.push_back({std::string(name), list.size() / each});
    const bool counts = of == "kernel_shape" || of == "strides" || of == "dilations";
    if (counts && *std::min_element(list.begin(), list.end()) < 1)
      return absl::InvalidArgumentError(absl::StrCat(name, " has an element below 1"));
  }
  const std::vector<int64_t> output = node.attributes.Ints("output_shape", {});
  if (!output.empty() && !said.empty() && output.size() < said[0].axes)
    return absl::InvalidArgumentError(absl::StrCat(
        "output_shape has ", output.size(), " elements for ", said[0].axes, " spatial axes"));
  for (const Said& other : said) {
    if (other.axes == said[0].axes) continue;
    return absl::InvalidArgumentError(absl::StrCat(said[0].by, " has ", said[0].axes,
                                                   " spatial axes, ", other.by, " ", other.axes));
  }
  return absl::OkStatus();
}

}  // namespace onward

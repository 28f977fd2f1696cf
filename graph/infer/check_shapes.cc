#include "graph/infer/check_shapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/checked.h"

namespace onward {
namespace {

// The dims of the node's inputs; nullptr for one that is not there or of unknown rank.
class Inputs {
 public:
  Inputs(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  size_t size() const { return node_.inputs.size(); }
  const SymbolicDims* operator[](size_t input) const {
    if (input >= node_.inputs.size() || !node_.inputs[input].valid()) return nullptr;
    const auto& shape = graph_.type(node_.inputs[input]).shape;
    return shape ? &*shape : nullptr;
  }
  // A dim that is known.
  std::optional<int64_t> Dim(size_t input, size_t axis) const {
    const SymbolicDims* dims = (*this)[input];
    if (dims == nullptr || axis >= dims->size() || !(*dims)[axis].known()) return std::nullopt;
    return (*dims)[axis].value();
  }
  const Node& node() const { return node_; }
  const Graph& graph() const { return graph_; }

 private:
  const Graph& graph_;
  const Node& node_;
};

bool Differ(std::optional<int64_t> a, std::optional<int64_t> b) { return a && b && *a != *b; }

absl::Status Wrong(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

absl::Status CheckConv(const Inputs& inputs) {
  const auto channels = inputs.Dim(0, 1);
  const bool transposed = inputs.node().op_type == "ConvTranspose";
  const int64_t groups = transposed ? 1 : inputs.node().attributes.Int("group", 1);
  auto taken = inputs.Dim(1, transposed ? 0 : 1);
  if (taken) taken = CheckedMul(*taken, groups);
  if (!Differ(channels, taken)) return absl::OkStatus();
  return Wrong(absl::StrCat("the input has ", *channels, " channels, the weight is for ", *taken));
}

absl::Status CheckEinsum(const Inputs& inputs) {
  std::string equation = inputs.node().attributes.String("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::vector<std::string> terms =
      absl::StrSplit(equation.substr(0, equation.find("->")), ',');
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < terms.size() && i < inputs.size(); ++i) {
    // Labels before an ellipsis count from the front, those after it from the end.
    const size_t dots = terms[i].find("...");
    const SymbolicDims* dims = inputs[i];
    if (dims == nullptr) continue;
    for (size_t k = 0; k < terms[i].size(); ++k) {
      if (terms[i][k] == '.') continue;
      const bool behind = dots != std::string::npos && k > dots;
      const size_t from_end = terms[i].size() - k;
      if (behind && from_end > dims->size()) continue;
      const auto size = inputs.Dim(i, behind ? dims->size() - from_end : k);
      if (!size || *size == 1) continue;
      const auto [known, added] = sizes.emplace(terms[i][k], *size);
      if (!added && known->second != *size) {
        return Wrong(absl::StrCat("'", std::string(1, terms[i][k]), "' of '", equation, "' is ",
                                  known->second, " and ", *size));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReshape(const Inputs& inputs) {
  const auto from = inputs.graph().type(inputs.node().inputs[0]).static_dims();
  const auto to = inputs.graph().type(inputs.node().outputs[0]).static_dims();
  if (!from || !to) return absl::OkStatus();
  const int64_t before = SaturatedNumElements(*from), after = SaturatedNumElements(*to);
  if (before == after) return absl::OkStatus();
  return Wrong(absl::StrCat(before, " elements do not fill ", DimsString(*to)));
}

absl::Status CheckTranspose(const Inputs& inputs) {
  const std::vector<int64_t> order = inputs.node().attributes.Ints("perm", {});
  if (order.empty() || inputs[0] == nullptr || order.size() == inputs[0]->size())
    return absl::OkStatus();
  return Wrong(
      absl::StrCat("the order is of ", order.size(), " axes, the input has ", inputs[0]->size()));
}

// Scale and bias go along the axes that are normalized.
absl::Status CheckLayerNormalization(const Inputs& inputs) {
  const SymbolicDims* x = inputs[0];
  for (size_t i = 1; x != nullptr && i < inputs.size(); ++i) {
    const SymbolicDims* weight = inputs[i];
    for (size_t k = 0; weight != nullptr && k < weight->size(); ++k) {
      if (weight->size() > x->size()) break;
      const auto size = inputs.Dim(i, k), of = inputs.Dim(0, x->size() - weight->size() + k);
      if (size != 1 && Differ(size, of))
        return Wrong(absl::StrCat("a weight of ", *size, " elements is for an axis of ", *of));
    }
  }
  return absl::OkStatus();
}

// One number per channel.
absl::Status CheckChannelWeights(const Inputs& inputs) {
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto size = inputs.Dim(i, 0), channels = inputs.Dim(0, 1);
    if (inputs[i] != nullptr && inputs[i]->size() == 1 && Differ(size, channels))
      return Wrong(
          absl::StrCat("a weight of ", *size, " elements is for ", *channels, " channels"));
  }
  return absl::OkStatus();
}

absl::Status CheckRecurrent(const Inputs& inputs) {
  const auto features = inputs.Dim(0, 2), taken = inputs.Dim(1, 2);
  if (Differ(features, taken))
    return Wrong(
        absl::StrCat("the input has ", *features, " features, the weight is for ", *taken));
  const auto gates = inputs.Dim(1, 1), again = inputs.Dim(2, 1);
  if (!Differ(gates, again)) return absl::OkStatus();
  return Wrong(absl::StrCat("the weights have ", *gates, " and ", *again, " rows"));
}

struct Row {
  std::string_view op;
  absl::Status (*check)(const Inputs& inputs);
};
constexpr Row kRows[] = {
    {"BatchNormalization", CheckChannelWeights},
    {"Conv", CheckConv},
    {"ConvTranspose", CheckConv},
    {"Einsum", CheckEinsum},
    {"GRU", CheckRecurrent},
    {"GroupNormalization", CheckChannelWeights},
    {"InstanceNormalization", CheckChannelWeights},
    {"LayerNormalization", CheckLayerNormalization},
    {"LSTM", CheckRecurrent},
    {"RMSNormalization", CheckLayerNormalization},
    {"RNN", CheckRecurrent},
    {"Reshape", CheckReshape},
    {"Transpose", CheckTranspose},
};

}  // namespace

absl::Status CheckShapes(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.domain.empty() || node.inputs.empty() || !node.outputs[0].valid())
    return absl::OkStatus();
  for (const Row& row : kRows)
    if (row.op == node.op_type) return row.check(Inputs(graph, node));
  return absl::OkStatus();
}

std::string InputTypes(const Graph& graph, const Node& node) {
  constexpr int kListed = 6;
  std::string types;
  int listed = 0;
  for (const ValueId input : node.inputs) {
    if (!input.valid()) continue;
    if (++listed > kListed) return types + ", ...";
    absl::StrAppend(&types, types.empty() ? "'" : ", '", graph.value(input).name, "' ",
                    graph.type(input).ToString());
  }
  return types;
}

}  // namespace onward

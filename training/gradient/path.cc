#include "training/gradient/path.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/gradient.h"
#include "training/gradient/rules.h"

namespace onward::gradient {
namespace {

// A path longer than this is shortened in its middle.
constexpr size_t kNamedAtEachEnd = 4;

size_t At(ValueId id) { return static_cast<size_t>(id.index); }

// Returns whether the op has no gradient by its nature.
bool Blocks(const Node& node) {
  const std::optional<GradientRule> rule = training::FindGradient(node.domain, node.op_type);
  return rule && *rule == nullptr;
}

// Returns whether the value has a gradient: floats do, and what is quantized of them.
bool CarriesGradient(const Graph& graph, ValueId id) {
  if (IsDifferentiable(graph.type(id))) return true;
  const NodeId producer = graph.value(id).producer;
  return producer.valid() && graph.node(producer).Is("QuantizeLinear");
}

bool Any(const std::vector<bool>& marked, absl::Span<const ValueId> values) {
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId id) { return id.valid() && marked[At(id)]; });
}

// A shortest chain of values from `start` to one of `ends`; `next` returns the neighbours.
std::vector<ValueId> Chain(ValueId start, const std::unordered_set<int32_t>& ends,
                           const std::function<std::vector<ValueId>(ValueId)>& next) {
  std::unordered_map<int32_t, ValueId> from = {{start.index, ValueId()}};
  std::deque<ValueId> queue = {start};
  while (!queue.empty()) {
    const ValueId at = queue.front();
    queue.pop_front();
    if (ends.count(at.index) != 0) {
      std::vector<ValueId> chain;
      for (ValueId step = at; step.valid(); step = from.at(step.index)) chain.push_back(step);
      return chain;  // from the end to the start
    }
    for (const ValueId id : next(at)) {
      if (from.emplace(id.index, at).second) queue.push_back(id);
    }
  }
  return {start};
}

std::unordered_set<int32_t> Indices(absl::Span<const ValueId> ids) {
  std::unordered_set<int32_t> indices;
  for (const ValueId id : ids) indices.insert(id.index);
  return indices;
}

std::vector<std::string> Shortened(std::vector<std::string> names) {
  if (names.size() <= 2 * kNamedAtEachEnd) return names;
  const size_t left_out = names.size() - 2 * kNamedAtEachEnd + 1;
  std::vector<std::string> kept(names.begin(), names.begin() + kNamedAtEachEnd);
  kept.push_back(absl::StrCat("... ", left_out, " values ..."));
  kept.insert(kept.end(), names.end() - kNamedAtEachEnd + 1, names.end());
  return kept;
}

std::vector<std::string> Names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return Shortened(std::move(names));
}

}  // namespace

bool IsDifferentiable(const Type& type) {
  if (type.kind == Type::Kind::kSequence || type.kind == Type::Kind::kOptional) {
    return type.element != nullptr && IsDifferentiable(*type.element);
  }
  return type.is_tensor() && (type.dtype == DType::kFloat32 || type.dtype == DType::kFloat64 ||
                              type.dtype == DType::kFloat16 || type.dtype == DType::kBFloat16);
}

std::vector<ValueId> Operands(const Node& node) {
  std::vector<ValueId> operands = node.inputs;
  for (const Subgraph& subgraph : node.subgraphs) {
    operands.insert(operands.end(), subgraph.captures.begin(), subgraph.captures.end());
  }
  return operands;
}

bool Paths::through(const Node& node) const {
  const auto on = [this](ValueId id) { return id.valid() && on_path(id); };
  const std::vector<ValueId> operands = Operands(node);
  return std::any_of(node.outputs.begin(), node.outputs.end(), on) &&
         std::any_of(operands.begin(), operands.end(), on);
}

Paths FindPaths(const Graph& graph, absl::Span<const NodeId> order,
                absl::Span<const ValueId> sources, absl::Span<const ValueId> targets,
                absl::Span<const ValueId> stop_at) {
  const auto count = static_cast<size_t>(graph.num_values());
  Paths paths{std::vector<bool>(count), std::vector<bool>(count)};
  std::vector<bool> stopped(count);
  for (const ValueId id : stop_at) stopped[At(id)] = true;
  for (const ValueId id : sources) paths.active[At(id)] = true;
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (Blocks(node) || !Any(paths.active, Operands(node))) continue;
    for (const ValueId output : node.outputs) {
      if (output.valid() && !stopped[At(output)] && CarriesGradient(graph, output))
        paths.active[At(output)] = true;
    }
  }
  for (const ValueId id : targets) paths.useful[At(id)] = true;
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = graph.node(order[i]);
    const bool useful = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id.valid() && paths.useful[At(id)] && !stopped[At(id)];
    });
    if (!useful || Blocks(node)) continue;
    for (const ValueId operand : Operands(node)) {
      if (operand.valid() && CarriesGradient(graph, operand)) paths.useful[At(operand)] = true;
    }
  }
  return paths;
}

std::string DescribePath(const Graph& graph, NodeId through, const Paths& paths,
                         absl::Span<const ValueId> sources, absl::Span<const ValueId> targets) {
  const auto first = [&](const std::vector<ValueId>& ids) {
    const auto found = std::find_if(ids.begin(), ids.end(),
                                    [&](ValueId id) { return id.valid() && paths.on_path(id); });
    return found == ids.end() ? ValueId() : *found;
  };
  const auto only_on_path = [&](std::vector<ValueId> ids) {
    ids.erase(std::remove_if(ids.begin(), ids.end(),
                             [&](ValueId id) { return !id.valid() || !paths.on_path(id); }),
              ids.end());
    return ids;
  };
  const ValueId in = first(Operands(graph.node(through)));
  const ValueId out = first(graph.node(through).outputs);
  std::vector<std::string> parts;
  if (in.valid()) {
    const std::vector<ValueId> before = Chain(in, Indices(sources), [&](ValueId id) {
      const NodeId producer = graph.value(id).producer;
      return producer.valid() ? only_on_path(Operands(graph.node(producer)))
                              : std::vector<ValueId>();
    });
    parts = Names(graph, before);
  }
  parts.push_back(graph.Describe(through));
  if (out.valid()) {
    std::vector<ValueId> after = Chain(out, Indices(targets), [&](ValueId id) {
      std::vector<ValueId> next;
      for (const NodeId user : graph.users(id)) {
        const std::vector<ValueId> outputs = only_on_path(graph.node(user).outputs);
        next.insert(next.end(), outputs.begin(), outputs.end());
      }
      return next;
    });
    std::reverse(after.begin(), after.end());
    const std::vector<std::string> names = Names(graph, after);
    parts.insert(parts.end(), names.begin(), names.end());
  }
  return absl::StrJoin(parts, " -> ");
}

}  // namespace onward::gradient

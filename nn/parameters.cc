#include "onward/nn/parameters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/name_pattern.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/match.h"
#include "onward/nn/module.h"
#include "onward/status.h"

namespace onward::nn {
namespace {

bool IsFloatConstant(const ValueData& value) {
  return value.constant.has_value() &&
         DispatchDType(FloatTypes(), value.constant->dtype(), [](auto) {});
}

bool IsOfModules(const ValueData& value) {
  return value.metadata.contains(kInitKey) || value.metadata.contains(kFrozenKey);
}

ParameterInfo Describe(const Graph& graph, ValueId id) {
  const ValueData& value = graph.value(id);
  ParameterInfo info;
  info.id = id;
  info.name = value.name;
  info.type = Type::Tensor(value.constant->dtype(), value.constant->dims());
  if (const auto it = value.metadata.find(kInitKey); it != value.metadata.end())
    info.init = it->second;
  if (const auto it = value.metadata.find(kFrozenKey); it != value.metadata.end())
    info.frozen = it->second;
  return info;
}

absl::Status CheckPatterns(absl::Span<const ParameterInfo> all,
                           absl::Span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    if (std::none_of(all.begin(), all.end(), [&](const ParameterInfo& each) {
          return MatchesPattern(each.name, pattern);
        })) {
      return absl::InvalidArgumentError(
          absl::StrCat("no parameter is named by the pattern '", pattern, "'",
                       all.empty() ? "" : "; there are '", all.empty() ? "" : all[0].name,
                       all.size() < 2 ? "" : "', '", all.size() < 2 ? "" : all[1].name,
                       all.empty() ? "" : "', ..."));
    }
  }
  return absl::OkStatus();
}

absl::Status Mark(Model& model, absl::Span<const std::string> patterns, bool frozen) {
  const std::vector<ParameterInfo> all = Parameters(model);
  ONWARD_RETURN_IF_ERROR(CheckPatterns(all, patterns));
  for (const ParameterInfo& each : all) {
    if (each.buffer() || !MatchesAny(each.name, patterns)) continue;
    Metadata& metadata = GraphEdit(model.graph).metadata(each.id);
    if (frozen) {
      metadata[kFrozenKey] = "frozen";
    } else {
      metadata.erase(kFrozenKey);
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsRunningStatistic(const Graph& graph, ValueId id) {
  for (const NodeId user : graph.users(id)) {
    const Node& node = graph.node(user);
    if (node.Is("BatchNormalization") && (InputOf(node, 3) == id || InputOf(node, 4) == id))
      return true;
    if (node.Is("Identity") && IsRunningStatistic(graph, node.outputs[0])) return true;
  }
  return false;
}

std::vector<ParameterInfo> Parameters(const Model& model) {
  const Graph& graph = model.graph;
  std::vector<ParameterInfo> parameters;
  const bool built = graph.metadata.contains(kModulesKey);
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueData& value = graph.value({i});
    if (!IsFloatConstant(value) || (built && !IsOfModules(value))) continue;
    if (!built && graph.users({i}).empty()) continue;
    ParameterInfo info = Describe(graph, {i});
    if (!built && info.frozen.empty()) {
      if (IsRunningStatistic(graph, {i})) {
        info.frozen = "buffer";
      } else if (value.constant->rank() == 0) {
        info.frozen = "number";
      }
    }
    parameters.push_back(std::move(info));
  }
  return parameters;
}

absl::Status Freeze(Model& model, absl::Span<const std::string> patterns) {
  return Mark(model, patterns, true);
}

absl::Status Unfreeze(Model& model, absl::Span<const std::string> patterns) {
  return Mark(model, patterns, false);
}

int64_t CountParameters(absl::Span<const ParameterInfo> parameters, bool trainable_alone) {
  int64_t count = 0;
  for (const ParameterInfo& each : parameters) {
    if (!each.buffer() && (each.trainable() || !trainable_alone)) count += each.count();
  }
  return count;
}

std::string ParameterTable(absl::Span<const ParameterInfo> parameters) {
  size_t name = 9, shape = 5, start = 5;
  for (const ParameterInfo& each : parameters) {
    name = std::max(name, each.name.size());
    shape = std::max(shape, each.type.ToString().size());
    start = std::max(start, each.init.size());
  }
  const auto line = [&](const std::string& a, const std::string& b, const std::string& c,
                        const std::string& d, const std::string& e, const std::string& f) {
    std::string text =
        absl::StrFormat("%-*s  %-*s  %12s  %-9s  %-*s  %s", static_cast<int>(name), a,
                        static_cast<int>(shape), b, c, d, static_cast<int>(start), e, f);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  const bool grounds = std::any_of(parameters.begin(), parameters.end(),
                                   [](const ParameterInfo& each) { return !each.ground.empty(); });
  std::string table =
      line("parameter", "type", "elements", "trained", "start", grounds ? "why" : "");
  for (const ParameterInfo& each : parameters) {
    table += line(each.name, each.type.ToString(), absl::StrCat(each.count()),
                  each.trainable() ? "yes" : each.frozen, each.init, each.ground);
  }
  return absl::StrCat(table, CountParameters(parameters), " elements, ",
                      CountParameters(parameters, true), " of them trained\n");
}

}  // namespace onward::nn

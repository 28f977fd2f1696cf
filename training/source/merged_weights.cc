#include "training/source/merged_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/name_pattern.h"
#include "graph/ir/graph_edit.h"
#include "onward/dtype.h"
#include "training/source/generated_name.h"
#include "training/source/module_path.h"
#include "training/source/operand_weights.h"

namespace onward::training {
namespace {

bool IsNormalization(const Node& node) {
  return node.domain.empty() && absl::EndsWith(node.op_type, "Normalization");
}

std::string WithoutDigits(const std::string& name) {
  std::string result;
  for (const char c : name) {
    if (!absl::ascii_isdigit(c)) result += c;
  }
  return result;
}

bool AllEqual(const Tensor& tensor) {
  bool equal = true;
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto all = tensor.span<T>();
    equal = std::all_of(all.begin(), all.end(), [&](const T& each) {
      return static_cast<float>(each) == static_cast<float>(all[0]);
    });
  });
  return equal;
}

struct Use {
  NodeId node;
  int input = 0;
};

struct Users {
  std::string module;
  int place = 0;      // of a normalization's inputs
  std::string alias;  // name that an Identity kept
  std::vector<Use> uses;
};

// By module and place, or by the name that an Identity kept; false where they cannot be told apart.
bool CollectUsers(const Graph& graph, ValueId weight, const std::string& alias,
                  std::map<std::pair<std::string, int>, Users>& all) {
  if (graph.is_output(weight) || graph.is_input(weight)) return false;
  for (const NodeId id : graph.users(weight)) {
    const Node& node = graph.node(id);
    if (!node.subgraphs.empty()) return false;
    if (node.Is("Identity")) {
      if (!CollectUsers(graph, node.outputs[0], graph.value(node.outputs[0]).name, all))
        return false;
      continue;
    }
    const std::string module = ModulePath(node);
    if (module.empty()) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != weight) continue;
      const int place = IsNormalization(node) ? static_cast<int>(i) : 0;
      const bool named = !alias.empty() && !absl::StartsWith(alias, "onnx::");
      Users& users = named ? all[{absl::StrCat("/", alias), 0}] : all[{module, place}];
      users.module = module;
      users.place = place;
      if (users.alias.empty()) users.alias = alias;
      users.uses.push_back({id, static_cast<int>(i)});
    }
  }
  return true;
}

std::string NameOf(const Graph& graph, const std::string& merged, const Users& users) {
  if (!users.alias.empty()) return users.alias;
  if (IsGeneratedName(merged)) return graph.UniqueName(merged);
  const std::string last = merged.substr(merged.rfind('.') + 1);
  const std::string kind = users.place == 1 ? "weight" : users.place == 2 ? "bias" : last;
  return graph.UniqueName(absl::StrCat(users.module, ".", kind));
}

// The users that the name of the weight speaks of: those of the innermost module that it begins
// with, else the first.
size_t Owner(const std::string& name, const std::vector<Users>& users) {
  size_t owner = 0, longest = 0;
  for (size_t i = 0; i < users.size(); ++i) {
    const std::string& module = users[i].module;
    if (users[i].alias.empty() && module.size() > longest &&
        absl::StartsWith(name, absl::StrCat(module, "."))) {
      owner = i;
      longest = module.size();
    }
  }
  if (longest > 0) return owner;
  const auto unnamed = std::find_if(users.begin(), users.end(),
                                    [](const Users& each) { return each.alias.empty(); });
  return unnamed == users.end() ? 0 : static_cast<size_t>(unnamed - users.begin());
}

bool AreApart(const Graph& graph, ValueId weight, const std::vector<Users>& users) {
  if (AllEqual(*graph.constant(weight))) return true;
  return std::all_of(users.begin(), users.end(), [&](const Users& each) {
    return WithoutDigits(each.module) == WithoutDigits(users[0].module);
  });
}

}  // namespace

std::vector<SeparatedWeight> SeparateMergedWeights(Graph& graph,
                                                   std::vector<std::string>& initializers,
                                                   absl::Span<const std::string> shared) {
  std::set<std::string> settled;
  std::vector<SeparatedWeight> separated = SeparateByOperands(graph, initializers, shared, settled);
  for (const std::string& name : std::vector<std::string>(initializers)) {
    const ValueId weight = graph.FindValue(name);
    if (!graph.is_constant(weight) || MatchesAny(name, shared) || settled.contains(name)) continue;
    const Tensor data = *graph.constant(weight);
    if (!IsFloating(data.dtype()) || data.num_elements() < 2) continue;
    std::map<std::pair<std::string, int>, Users> all;
    if (!CollectUsers(graph, weight, "", all) || all.size() < 2) continue;
    std::vector<Users> users;
    for (auto& [key, each] : all) users.push_back(std::move(each));
    if (!AreApart(graph, weight, users)) continue;
    const size_t owner = Owner(name, users);
    for (size_t i = 0; i < users.size(); ++i) {
      ValueId own = weight;
      if (i != owner) {
        const std::string own_name = NameOf(graph, name, users[i]);
        const ValueId alias = graph.FindValue(own_name);
        if (alias.valid())
          GraphEdit(graph).Rename(alias, graph.UniqueName(absl::StrCat(own_name, "/shared")));
        own = GraphEdit(graph).AddConstant(own_name, data);
        initializers.push_back(own_name);
        separated.push_back({own_name, name});
      }
      for (const Use& use : users[i].uses) GraphEdit(graph).SetInput(use.node, use.input, own);
    }
  }
  return separated;
}

}  // namespace onward::training

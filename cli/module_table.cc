#include "cli/module_table.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "onward/status.h"
#include "training/source/module_path.h"

namespace onward::cli {
namespace {

class Table {
 public:
  Table(const Graph& graph, const SymbolSizes& sizes) : graph_(graph), sizes_(sizes) {
    const std::vector<NodeId> ids = graph.node_ids();
    by_nodes_ = std::any_of(ids.begin(), ids.end(), [&](NodeId id) {
      return !training::ModulePath(graph.node(id)).empty();
    });
    RowOf("");
  }

  void Add(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [path, name] : training::ModuleClasses(node)) classes_[path] = name;
    int64_t parameters = 0;
    for (const Subgraph& body : node.subgraphs) parameters += ConstantElements(*body.graph);
    std::vector<ValueId> reads = node.inputs;
    for (const Subgraph& body : node.subgraphs)
      reads.insert(reads.end(), body.captures.begin(), body.captures.end());
    for (const ValueId value : reads) {
      if (graph_.is_constant(value) && counted_.insert(value).second)
        parameters += graph_.constant(value)->num_elements();
    }
    const double flops = FlopsOf(graph_, id, sizes_);
    std::string path = by_nodes_ ? training::ModulePath(node) : PathByConstants(node);
    while (true) {
      ModuleRow& row = rows_[RowOf(path)];
      ++row.nodes;
      row.parameters += parameters;
      row.flops += flops;
      if (!node.outputs.empty() && node.outputs[0].valid())
        row.output = graph_.type(node.outputs[0]).ToString();
      if (path.empty()) break;
      path = training::OuterModule(path);
    }
  }

  // Each with its children behind it, in the order of their first nodes.
  std::vector<ModuleRow> Sorted() {
    std::vector<ModuleRow> sorted;
    AddBelow(0, sorted);
    return sorted;
  }

 private:
  std::string PathByConstants(const Node& node) const {
    std::string longest;
    for (const ValueId input : node.inputs) {
      if (!graph_.is_constant(input)) continue;
      const std::string owner = training::OuterModule(graph_.value(input).name);
      if (owner.size() > longest.size()) longest = owner;
    }
    return longest;
  }

  // Made with all rows around it, the outermost first.
  size_t RowOf(const std::string& path) {
    if (const auto it = positions_.find(path); it != positions_.end()) return it->second;
    if (!path.empty()) {
      const size_t parent = RowOf(training::OuterModule(path));
      children_[parent].push_back(rows_.size());
    }
    rows_.emplace_back().path = path;
    positions_[path] = rows_.size() - 1;
    return rows_.size() - 1;
  }

  void AddBelow(size_t position, std::vector<ModuleRow>& sorted) {
    ModuleRow& row = rows_[position];
    row.class_name = classes_[row.path];
    sorted.push_back(row);
    for (const size_t child : children_[position]) AddBelow(child, sorted);
  }

  const Graph& graph_;
  const SymbolSizes& sizes_;
  bool by_nodes_ = false;
  std::vector<ModuleRow> rows_;
  std::map<std::string, size_t> positions_;
  std::map<size_t, std::vector<size_t>> children_;
  std::map<std::string, std::string> classes_;
  std::set<ValueId> counted_;
};

// "  layer1.0" is two levels down: each is shown by its own name, behind those around it.
std::string IndentedName(const ModuleRow& row) {
  if (row.path.empty()) return "(model)";
  const auto depth = static_cast<size_t>(std::count(row.path.begin(), row.path.end(), '.')) + 1;
  return absl::StrCat(std::string(2 * depth, ' '), row.path.substr(row.path.rfind('.') + 1));
}

}  // namespace

absl::StatusOr<std::vector<ModuleRow>> ModulesOf(const Graph& graph, const SymbolSizes& sizes) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  Table table(graph, sizes);
  for (const NodeId id : order) table.Add(id);
  return table.Sorted();
}

std::string ModuleTableText(const std::vector<ModuleRow>& rows) {
  size_t name = 6, class_name = 5;
  for (const ModuleRow& row : rows) {
    name = std::max(name, IndentedName(row).size());
    class_name = std::max(class_name, row.class_name.size());
  }
  std::string text = absl::StrFormat("%-*s  %-*s  %6s %12s %10s  %s\n", name, "module", class_name,
                                     "class", "nodes", "parameters", "MFLOP", "output");
  for (const ModuleRow& row : rows) {
    absl::StrAppendFormat(&text, "%-*s  %-*s  %6d %12d %10.4g  %s\n", name, IndentedName(row),
                          class_name, row.class_name, row.nodes, row.parameters, row.flops * 1e-6,
                          row.output);
  }
  return text;
}

nlohmann::json ModuleTableJson(const std::vector<ModuleRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const ModuleRow& row : rows) {
    list.push_back({{"path", row.path},
                    {"class", row.class_name},
                    {"nodes", row.nodes},
                    {"parameters", row.parameters},
                    {"flops", row.flops},
                    {"output", row.output}});
  }
  return list;
}

}  // namespace onward::cli

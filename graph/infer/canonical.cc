#include "graph/infer/canonical.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "graph/infer/merge.h"

namespace onward {
namespace {

class Canonicalizer {
 public:
  explicit Canonicalizer(const Graph& graph) {
    for (ValueId input : graph.inputs()) {
      if (!graph.type(input).shape) continue;
      for (const Dim& dim : *graph.type(input).shape) {
        if (!dim.symbolic()) continue;
        const Dim parsed = ParseDim(dim.expression());
        const std::vector<std::string> symbols = DimSymbols(parsed);
        if (symbols.size() == 1 && parsed.SameAs(SymbolDim(symbols[0])))
          symbols_.insert(symbols[0]);
      }
    }
  }

  void Run(Graph& graph) {
    for (int i = 0; i < graph.num_values(); ++i) RunType(graph.mutable_value({i}).type);
    for (NodeId id : graph.node_ids()) {
      for (Subgraph& subgraph : graph.mutable_node(id).subgraphs) Run(*subgraph.graph);
    }
  }

 private:
  void RunType(Type& type) {
    if (type.element) {
      Type element = *type.element;
      RunType(element);
      if (!(element == *type.element)) type.element = std::make_shared<Type>(std::move(element));
    }
    if (!type.shape) return;
    for (Dim& dim : *type.shape) {
      if (dim.symbolic()) dim = Canonical(dim.expression());
    }
  }

  const Dim& Canonical(const std::string& text) {
    const auto [it, added] = dims_.try_emplace(text);
    if (added) it->second = Read(text);
    return it->second;
  }

  Dim Read(const std::string& text) const {
    const Dim parsed = ParseDim(text);
    const std::vector<std::string> symbols = DimSymbols(parsed);
    if (symbols.size() == 1 && parsed.SameAs(SymbolDim(symbols[0]))) return parsed;
    const bool understood =
        std::all_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
          return symbols_.count(symbol) > 0 || symbol.find('#') != std::string::npos;
        });
    // A number in place of a name says nothing of the size.
    return understood && !symbols.empty() ? parsed : SymbolDim(text);
  }

  std::set<std::string> symbols_;
  std::unordered_map<std::string, Dim> dims_;
};

}  // namespace

void CanonicalizeDims(Graph& graph) { Canonicalizer(graph).Run(graph); }

}  // namespace onward

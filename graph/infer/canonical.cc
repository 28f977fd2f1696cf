#include "graph/infer/canonical.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "graph/infer/dim_names.h"
#include "graph/ir/graph_edit.h"

namespace onward {
namespace {

class Canonicalizer {
 public:
  explicit Canonicalizer(const Graph& graph) {
    for (ValueId input : graph.inputs()) {
      if (!graph.type(input).shape) continue;
      for (const Dim& dim : *graph.type(input).shape) {
        if (!dim.symbolic()) continue;
        if (const std::optional<std::string> symbol = OneSymbol(dim.expression()))
          symbols_.insert(*symbol);
      }
    }
  }

  void Run(Graph& graph) {
    for (int i = 0; i < graph.num_values(); ++i) RunType(GraphEdit(graph).type({i}));
    for (NodeId id : graph.node_ids()) {
      for (const Subgraph& subgraph : graph.node(id).subgraphs) Run(*subgraph.graph);
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
    if (const std::optional<std::string> symbol = OneSymbol(text)) return SymbolDim(*symbol);
    const Dim parsed = ParseDim(text);
    const std::vector<std::string> symbols = DimSymbols(parsed);
    const bool understood =
        std::all_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
          return symbols_.count(symbol) > 0 || symbol.find('#') != std::string::npos;
        });
    // A number in place of a name says nothing of the size.
    return understood && !symbols.empty() ? parsed : Dim();
  }

  // The symbol that the text is, where it stands for one size. In backquotes it was made so.
  static std::optional<std::string> OneSymbol(const std::string& text) {
    const Dim parsed = ParseDim(text);
    const std::vector<std::string> symbols = DimSymbols(parsed);
    if (symbols.size() != 1 || !parsed.SameAs(SymbolDim(symbols[0]))) return std::nullopt;
    const bool made = text[0] == '`' || text.find('#') != std::string::npos;
    if (!made && !NamesOneSize(symbols[0])) return std::nullopt;
    return symbols[0];
  }

  std::set<std::string> symbols_;
  std::unordered_map<std::string, Dim> dims_;
};

}  // namespace

void CanonicalizeDims(Graph& graph) { Canonicalizer(graph).Run(graph); }

}  // namespace onward

#include "graph/infer/merge.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"

namespace onward {
namespace {

absl::Status Contradiction(const Type& declared, const Type& inferred) {
  return absl::InvalidArgumentError(
      absl::StrCat("declared ", declared.ToString(), " but inference gives ", inferred.ToString()));
}

// A symbol that NameUnknownDims made: it says no more than any other symbol.
bool NamedAfterValue(const Dim& dim) {
  return dim.symbolic() && dim.expression().find('#') != std::string::npos;
}

Dim MergeDims(const Dim& declared, const Dim& inferred) {
  if (declared.known() || inferred.unknown()) return declared;
  if (inferred.known() || declared.unknown()) return inferred;
  return NamedAfterValue(inferred) && !NamedAfterValue(declared) ? declared : inferred;
}

}  // namespace

absl::StatusOr<Type> MergeTypes(const Type& declared, const Type& inferred) {
  if (inferred.kind == Type::Kind::kUnknown) return declared;
  if (declared.kind == Type::Kind::kUnknown) return inferred;
  if (!declared.CompatibleWith(inferred)) return Contradiction(declared, inferred);
  Type merged = declared;
  if (declared.element && inferred.element) {
    absl::StatusOr<Type> element = MergeTypes(*declared.element, *inferred.element);
    if (!element.ok()) return element.status();
    merged.element = std::make_shared<Type>(*std::move(element));
  } else if (inferred.element) {
    merged.element = inferred.element;
  }
  if (!declared.shape) {
    merged.shape = inferred.shape;
  } else if (inferred.shape) {
    for (size_t i = 0; i < merged.shape->size(); ++i) {
      (*merged.shape)[i] = MergeDims((*declared.shape)[i], (*inferred.shape)[i]);
    }
  }
  return merged;
}

Type WidenType(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.dtype != b.dtype) return a;
  Type wide = a;
  if (a.element && b.element) {
    wide.element = std::make_shared<Type>(WidenType(*a.element, *b.element));
  }
  if (!a.shape) return wide;
  if (!b.shape || b.shape->size() != a.shape->size()) {
    wide.shape.reset();
    return wide;
  }
  for (size_t i = 0; i < a.shape->size(); ++i) {
    if (!(*a.shape)[i].SameAs((*b.shape)[i])) (*wide.shape)[i] = Dim();
  }
  return wide;
}

void ForgetShapes(Type& type) {
  type.shape.reset();
  if (!type.element) return;
  Type element = *type.element;
  ForgetShapes(element);
  type.element = std::make_shared<Type>(std::move(element));
}

namespace {

bool NamesSymbol(const Type& type, const std::string& name) {
  if (!type.shape) return false;
  return std::any_of(type.shape->begin(), type.shape->end(), [&](const Dim& dim) {
    if (dim.expression().find(name) == std::string::npos) return false;
    const std::vector<std::string> symbols = DimSymbols(dim);
    return std::find(symbols.begin(), symbols.end(), name) != symbols.end();
  });
}

bool Taken(const Graph& graph, const std::string& name, bool search_all) {
  for (int i = 0; search_all && i < graph.num_values(); ++i) {
    if (NamesSymbol(graph.type({i}), name)) return true;
  }
  return std::any_of(graph.captures().begin(), graph.captures().end(),
                     [&](ValueId id) { return NamesSymbol(graph.type(id), name); });
}

}  // namespace

void NameUnknownDims(Graph& graph, ValueId id, bool search_all) {
  const Type& type = graph.type(id);
  if (!type.is_tensor() || !type.shape) return;
  for (size_t axis = 0; axis < type.shape->size(); ++axis) {
    if (!(*type.shape)[axis].unknown()) continue;
    std::string name = absl::StrCat(graph.value(id).name, "#", axis);
    while (Taken(graph, name, search_all)) name += "#";
    (*GraphEdit(graph).type(id).shape)[axis] = SymbolDim(name);
  }
}

Type KeepSymbols(const Type& type, const std::set<std::string>& allowed) {
  Type kept = type;
  if (type.element) kept.element = std::make_shared<Type>(KeepSymbols(*type.element, allowed));
  if (!type.shape) return kept;
  for (Dim& dim : *kept.shape) {
    for (const std::string& symbol : DimSymbols(dim)) {
      if (allowed.count(symbol) == 0) dim = Dim();
    }
  }
  return kept;
}

void AddSymbols(const Type& type, std::set<std::string>& symbols) {
  if (type.element) AddSymbols(*type.element, symbols);
  if (!type.shape) return;
  for (const Dim& dim : *type.shape) {
    for (std::string& symbol : DimSymbols(dim)) symbols.insert(std::move(symbol));
  }
}

}  // namespace onward

#include "cli/graph_sizes.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "cli/inputs.h"
#include "executors/plan/memory.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

std::vector<ValueInfo> InputsOf(const Graph& graph) {
  std::vector<ValueInfo> inputs;
  for (const ValueId id : graph.inputs())
    inputs.push_back({graph.value(id).name, graph.type(id), graph.is_constant(id)});
  return inputs;
}

bool Fits(const Type& type, DimsView dims) {
  if (!type.is_tensor()) return false;
  if (!type.shape) return true;
  if (type.shape->size() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((*type.shape)[i].known() && (*type.shape)[i].value() != dims[i]) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<SymbolSizes> ApplyShapes(const std::vector<std::string>& shapes, Graph& graph) {
  SymbolSizes sizes;
  if (shapes.empty()) return sizes;
  ONWARD_ASSIGN_OR_RETURN(const auto given, ParseShapes(InputsOf(graph), shapes));
  for (const auto& [name, dims] : given) {
    const ValueId id = graph.FindValue(name);
    if (!Fits(graph.type(id), dims)) {
      return absl::InvalidArgumentError(absl::StrCat("--shape ", name, ": input '", name, "' is ",
                                                     graph.type(id).ToString(), ", got ",
                                                     DimsString(dims)));
    }
    AddSymbolSizes(graph.type(id), dims, sizes);
  }
  for (const ValueId id : graph.inputs()) {
    Type& type = GraphEdit(graph).type(id);
    if (const auto it = given.find(graph.value(id).name); it != given.end()) {
      type.shape = SymbolicDims(it->second.begin(), it->second.end());
    } else if (type.shape) {
      for (Dim& dim : *type.shape) {
        const auto size = EvaluateDim(dim, [&](std::string_view symbol) -> std::optional<int64_t> {
          const auto found = sizes.find(symbol);
          if (found == sizes.end()) return std::nullopt;
          return found->second;
        });
        if (!dim.unknown() && size && *size >= 0) dim = Dim(*size);
      }
    }
  }
  const std::vector<absl::Status> problems = InferGraphReportingAll(graph, true);
  if (!problems.empty()) return Annotate(problems[0], "with these shapes:");
  return sizes;
}

std::vector<std::string> SymbolsWithoutSize(const Graph& graph, const SymbolSizes& sizes) {
  std::vector<std::string> symbols;
  for (const ValueId id : graph.inputs()) {
    for (const Dim& dim : graph.type(id).shape.value_or(SymbolicDims())) {
      for (const std::string& symbol : DimSymbols(dim)) {
        if (!sizes.contains(symbol) &&
            std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
          symbols.push_back(symbol);
      }
    }
  }
  return symbols;
}

int64_t PeakActivationBytes(const Graph& graph, const SymbolSizes& sizes) {
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return 0;
  std::map<int32_t, executors::Lifetime> lifetimes;
  const auto last = static_cast<int32_t>(order->size());
  for (int32_t step = 0; step < last; ++step) {
    const Node& node = graph.node((*order)[static_cast<size_t>(step)]);
    for (ValueId id : node.outputs) {
      if (!id.valid() || !graph.type(id).is_tensor()) continue;
      const double count = std::min(CountElements(graph.type(id), sizes), 0x1p56);
      lifetimes[id.index] = {ByteSize(graph.type(id).dtype, static_cast<int64_t>(count)), step,
                             graph.is_output(id) ? last : step};
    }
    for (ValueId id : node.inputs) {
      if (const auto it = lifetimes.find(id.index); it != lifetimes.end())
        it->second.last = std::max(it->second.last, step);
    }
  }
  std::vector<executors::Lifetime> all;
  for (const auto& [id, lifetime] : lifetimes) all.push_back(lifetime);
  return executors::PlanArena(all).bytes;
}

std::string TakenAsOne(const std::vector<std::string>& symbols) {
  std::string text;
  for (const std::string& symbol : symbols)
    absl::StrAppend(&text, text.empty() ? "" : ", ", symbol, " = 1");
  return text;
}

}  // namespace onward::cli

#include "executors/dim_names.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

// Kernels pack weights; a copy keeps what they packed.
constexpr int64_t kMostCopiedBytes = int64_t{16} << 20;

int64_t SizeAt(absl::Span<const SlotValue> inputs, size_t input, size_t axis) {
  return inputs[input].tensor.dims[axis];
}

}  // namespace

std::vector<ValueInfo> InputsOf(const Graph& graph) {
  std::vector<ValueInfo> inputs;
  for (const ValueId id : graph.inputs())
    inputs.push_back({graph.value(id).name, graph.type(id), graph.is_constant(id)});
  return inputs;
}

DimNames::DimNames(const std::vector<ValueInfo>& inputs) : inputs_(inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = inputs[i].type;
    if (!type.is_tensor() || !type.shape) continue;
    for (size_t axis = 0; axis < type.shape->size(); ++axis) {
      const Dim& dim = (*type.shape)[axis];
      if (!dim.symbolic()) continue;
      const std::vector<std::string> symbols = DimSymbols(dim);
      if (symbols.size() != 1 || !dim.SameAs(SymbolDim(symbols[0]))) {
        expressions_.push_back({i, axis});
        continue;
      }
      const auto known = std::find_if(first_of_.begin(), first_of_.end(),
                                      [&](const auto& each) { return each.first == symbols[0]; });
      if (known == first_of_.end()) {
        first_of_.push_back({symbols[0], {i, axis}});
      } else {
        equal_.push_back({known->second, {i, axis}});
      }
    }
  }
}

absl::Status DimNames::Differ(Place place, int64_t size, const std::string& other) const {
  const ValueInfo& info = inputs_[place.input];
  return absl::InvalidArgumentError(absl::StrCat("input '", info.name, "': dimension ", place.axis,
                                                 " ('", (*info.type.shape)[place.axis].expression(),
                                                 "') is ", size, " but ", other));
}

absl::Status DimNames::Check(absl::Span<const SlotValue> inputs) const {
  const auto given = [&](Place place) { return inputs[place.input].object == nullptr; };
  for (const Equal& pair : equal_) {
    if (!given(pair.first) || !given(pair.second)) continue;
    const int64_t first = SizeAt(inputs, pair.first.input, pair.first.axis);
    const int64_t second = SizeAt(inputs, pair.second.input, pair.second.axis);
    if (first == second) continue;
    return Differ(
        pair.second, second,
        absl::StrCat("it is ", first, " in input '", inputs_[pair.first.input].name, "'"));
  }
  for (const Place place : expressions_) {
    if (!given(place)) continue;
    const Dim& dim = (*inputs_[place.input].type.shape)[place.axis];
    const std::optional<int64_t> wanted =
        EvaluateDim(dim, [&](std::string_view symbol) -> std::optional<int64_t> {
          for (const auto& [name, at] : first_of_)
            if (name == symbol && given(at)) return SizeAt(inputs, at.input, at.axis);
          return std::nullopt;
        });
    const int64_t size = SizeAt(inputs, place.input, place.axis);
    if (wanted && *wanted != size) return Differ(place, size, absl::StrCat("that is ", *wanted));
  }
  return absl::OkStatus();
}

std::optional<Graph> SourceWithoutNames(const Graph& graph, const SessionOptions& options) {
  if (!options.names_may_differ) return std::nullopt;
  if (!DimNames(InputsOf(graph)).any_shared()) return std::nullopt;
  int64_t bytes = 0;
  for (int i = 0; i < graph.num_values(); ++i)
    if (const Tensor* constant = graph.constant({i})) bytes += constant->byte_size();
  return bytes <= kMostCopiedBytes ? std::optional<Graph>(graph) : std::nullopt;
}

}  // namespace onward::executors

#include "graph/infer/elements.h"

#include <cmath>
#include <type_traits>

#include "graph/infer/type_proto.h"

namespace onward {
namespace {

std::optional<SymbolicDims> ConstantElements(const Tensor& tensor) {
  if (tensor.num_elements() > kMaxInferredElements || tensor.raw_data() == nullptr) {
    return std::nullopt;
  }
  SymbolicDims elements;
  bool integral = true;
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T& element : tensor.span<T>()) {
      if constexpr (std::is_integral_v<T>) {
        elements.push_back(NumberDim(static_cast<int64_t>(element)));
      } else {
        const auto value = static_cast<double>(element);
        // Beyond 2^53 doubles are no longer whole numbers one apart.
        integral &= value == std::floor(value) && std::fabs(value) < 9e15;
        elements.push_back(integral ? NumberDim(static_cast<int64_t>(value)) : Dim());
      }
    }
  });
  if (!integral || static_cast<int64_t>(elements.size()) != tensor.num_elements()) {
    return std::nullopt;
  }
  return elements;
}

}  // namespace

std::optional<SymbolicDims> ElementsOf(const Graph& graph, ValueId id, const KnownElements& known) {
  if (!id.valid()) return std::nullopt;
  if (const Tensor* constant = graph.constant(id)) {
    // A graph input's constant is only its default.
    if (graph.is_input(id)) return std::nullopt;
    return ConstantElements(*constant);
  }
  const auto it = known.find(id.index);
  if (it == known.end()) return std::nullopt;
  return it->second;
}

}  // namespace onward

#include "graph/infer/einsum.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/base/einsum_equation.h"
#include "graph/infer/scope.h"
#include "onward/status.h"

namespace onward {

namespace {

absl::Status CheckBytes(const std::string& equation) {
  for (size_t i = 0; i < equation.size(); ++i) {
    const char c = equation[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool dash = c == '-' && i + 1 < equation.size() && equation[i + 1] == '>';
    const bool tip = c == '>' && i > 0 && equation[i - 1] == '-';
    if (letter || dash || tip || c == '.' || c == ',' || c == ' ') continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the equation '", absl::CHexEscape(equation), "' has '",
                     absl::CHexEscape(std::string(1, c)), "' at byte ", i,
                     "; it is made of letters, '...', ',', '->' and spaces"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Type> InferEinsum(const Graph& graph, const Node& node) {
  const std::string equation = node.attributes.String("equation", "");
  ONWARD_RETURN_IF_ERROR(CheckBytes(equation));
  Type result = Type::Tensor(graph.type(node.inputs[0]).dtype);
  std::vector<size_t> ranks;
  for (const ValueId input : node.inputs) {
    const Type& type = graph.type(input);
    if (!type.shape) return result;
    ranks.push_back(type.shape->size());
  }
  ONWARD_ASSIGN_OR_RETURN(const EinsumEquation labels, ParseEinsumEquation(equation, ranks));
  std::map<EinsumLabel, Dim> sizes;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t axis = 0; axis < ranks[i]; ++axis) {
      const Dim& dim = (*graph.type(node.inputs[i]).shape)[axis];
      const auto [size, added] = sizes.emplace(labels.terms[i][axis], dim);
      if (!added) size->second = DimBroadcast(size->second, dim);
    }
  }
  result.shape.emplace();
  for (const EinsumLabel label : labels.output) result.shape->push_back(sizes.at(label));
  return result;
}

}  // namespace onward

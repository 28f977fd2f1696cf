#include <algorithm>
#include <string>
#include <vector>

#include "graph/base/einsum_equation.h"
#include "graph/ops/row_rules.h"

namespace onward {
namespace {

// The label of the axes along which operands have rows; nullopt where they have several.
std::optional<EinsumLabel> LabelOfRows(const RowNode& at, const EinsumEquation& equation) {
  std::optional<EinsumLabel> label;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    if (!at.is_along(i)) continue;
    const EinsumLabel own = equation.terms[i][static_cast<size_t>(at.inputs[i].axis)];
    if (label && *label != own) return std::nullopt;
    label = own;
  }
  return label;
}

// Returns whether operand i has the label on the axis of its rows alone, or is the same for all
// rows.
bool KeepsRowsApart(const RowNode& at, const EinsumLabels& term, size_t i, EinsumLabel label) {
  const SymbolicDims& shape = *at.graph.type(at.node.inputs[i]).shape;
  for (size_t axis = 0; axis < term.size(); ++axis) {
    if (term[axis] != label) continue;
    const bool fits =
        at.is_along(i) ? static_cast<int64_t>(axis) == at.inputs[i].axis : shape[axis] == Dim(1);
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::optional<Rows> EinsumRows(const RowNode& at, size_t) {
  std::vector<size_t> ranks;
  for (const ValueId input : at.node.inputs) {
    if (!input.valid() || !at.graph.type(input).shape) return std::nullopt;
    ranks.push_back(at.graph.type(input).shape->size());
  }
  const auto equation = ParseEinsumEquation(at.node.attributes.String("equation"), ranks);
  if (!equation.ok()) return std::nullopt;
  const auto label = LabelOfRows(at, *equation);
  if (!label) return std::nullopt;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (!KeepsRowsApart(at, equation->terms[i], i, *label)) return std::nullopt;
  const auto place = std::find(equation->output.begin(), equation->output.end(), *label);
  if (place == equation->output.end()) return std::nullopt;  // summed over
  return Rows::Along(place - equation->output.begin());
}

}  // namespace onward

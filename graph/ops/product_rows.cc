// Rules of products: MatMul, Gemm, their forms of bytes, and Einsum.
#include <algorithm>
#include <vector>

#include "graph/base/einsum_equation.h"
#include "graph/ops/row_rules.h"

namespace onward {
namespace {

using Kind = Rows::Kind;

// The product of operands `a` and `b`, whose last two axes are of matrices.
std::optional<Rows> ProductRows(const RowNode& at, size_t a, size_t b) {
  const SymbolicDims* left = at.shape(a);
  const SymbolicDims* right = at.shape(b);
  const SymbolicDims* result = at.output_shape();
  if (left == nullptr || right == nullptr || result == nullptr) return std::nullopt;
  if (left->size() < 2 || right->size() < 2) return std::nullopt;
  const auto from_end = [&](const SymbolicDims& shape, size_t i) {
    return static_cast<int64_t>(shape.size()) - at.inputs[i].axis;
  };
  const bool is_left = at.is_along(a), is_right = at.is_along(b);
  if (is_left && is_right) {  // one product per row
    if (from_end(*left, a) != from_end(*right, b) || from_end(*left, a) < 3) return std::nullopt;
  } else if (is_left) {
    if (from_end(*left, a) == 1) return std::nullopt;  // summed over
    if (from_end(*left, a) > 2 && !at.broadcasts_to(b, from_end(*left, a))) return std::nullopt;
  } else if (is_right) {
    if (from_end(*right, b) == 2) return std::nullopt;
    if (from_end(*right, b) > 2 && !at.broadcasts_to(a, from_end(*right, b))) return std::nullopt;
  } else {
    return std::nullopt;
  }
  const int64_t end = is_left ? from_end(*left, a) : from_end(*right, b);
  return Rows::Along(static_cast<int64_t>(result->size()) - end);
}

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
  if (at.inputs[i].kind == Kind::kCount) return false;
  const SymbolicDims& shape = *at.shape(i);
  for (size_t axis = 0; axis < term.size(); ++axis) {
    if (term[axis] != label) continue;
    const bool fits =
        at.is_along(i) ? static_cast<int64_t>(axis) == at.inputs[i].axis : shape[axis] == Dim(1);
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::optional<Rows> MatMulRows(const RowNode& at, size_t) {
  for (size_t i = 2; i < at.inputs.size(); ++i)
    if (at.inputs[i].kind != Kind::kNone) return std::nullopt;
  return ProductRows(at, 0, 1);
}

// Scales and zero points stand behind each operand.
std::optional<Rows> QuantizedMatMulRows(const RowNode& at, size_t) {
  for (size_t i = 0; i < at.inputs.size(); ++i)
    if (i != 0 && i != 3 && at.inputs[i].kind != Kind::kNone) return std::nullopt;
  return ProductRows(at, 0, 3);
}

std::optional<Rows> GemmRows(const RowNode& at, size_t) {
  const bool left_turned = at.node.attributes.Int("transA", 0) != 0;
  const bool right_turned = at.node.attributes.Int("transB", 0) != 0;
  std::optional<Rows> rows;
  if (at.is_along(0) && !at.is_along(1)) {
    if (at.inputs[0].axis == (left_turned ? 1 : 0)) rows = Rows::Along(0);
  } else if (at.is_along(1) && !at.is_along(0)) {
    if (at.inputs[1].axis == (right_turned ? 0 : 1)) rows = Rows::Along(1);
  }
  if (!rows || at.inputs.size() < 3 || !at.node.inputs[2].valid()) return rows;
  const int64_t from_end = 2 - rows->axis;
  const SymbolicDims* added = at.shape(2);
  if (added == nullptr || at.inputs[2].kind == Kind::kCount) return std::nullopt;
  const bool fits = at.is_along(2)
                        ? static_cast<int64_t>(added->size()) - at.inputs[2].axis == from_end
                        : at.broadcasts_to(2, from_end);
  return fits ? rows : std::nullopt;
}

std::optional<Rows> EinsumRows(const RowNode& at, size_t) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < at.node.inputs.size(); ++i) {
    if (at.shape(i) == nullptr) return std::nullopt;
    ranks.push_back(at.shape(i)->size());
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

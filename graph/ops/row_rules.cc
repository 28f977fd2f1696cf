#include "graph/ops/row_rules.h"

#include <algorithm>
#include <vector>

namespace onward {

const SymbolicDims* RowNode::shape(size_t i) const {
  if (i >= node.inputs.size() || !node.inputs[i].valid()) return nullptr;
  const Type& type = graph.type(node.inputs[i]);
  return type.shape ? &*type.shape : nullptr;
}

const SymbolicDims* RowNode::output_shape() const {
  const Type& type = graph.type(node.outputs[0]);
  return type.shape ? &*type.shape : nullptr;
}

bool RowNode::broadcasts_to(size_t i, int64_t from_end) const {
  const SymbolicDims* dims = shape(i);
  if (dims == nullptr) return false;
  const int64_t axis = static_cast<int64_t>(dims->size()) - from_end;
  return axis < 0 || (*dims)[static_cast<size_t>(axis)] == Dim(1);
}

namespace {

using Kind = Rows::Kind;

// Returns whether no input but `i` has rows along an axis.
bool OnlyAlong(const RowNode& at, size_t i) {
  for (size_t each = 0; each < at.inputs.size(); ++each)
    if (each != i && at.is_along(each)) return false;
  return at.is_along(i);
}

// Counted from 0.
std::optional<int64_t> Normal(int64_t axis, const SymbolicDims* shape) {
  if (shape == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return axis;
}

std::optional<std::vector<int64_t>> Constant(const RowNode& at, size_t i) {
  const Tensor* tensor = i < at.node.inputs.size() ? at.graph.constant(at.node.inputs[i]) : nullptr;
  if (tensor == nullptr) return std::nullopt;
  return ToInt64(tensor->view());
}

// The attribute or second input `axis` of the first input.
std::optional<int64_t> AxisOf(const RowNode& at) {
  int64_t axis = at.node.attributes.Int("axis", -1);
  const bool is_input = at.node.op_type == "CumSum" || at.node.op_type == "CumProd";
  if (is_input) {
    const auto constant = Constant(at, 1);
    if (!constant || constant->size() != 1) return std::nullopt;
    axis = constant->front();
  }
  return Normal(axis, at.shape(0));
}

// Operands [0, count) broadcast against each other: how far the rows lie from the end.
std::optional<int64_t> FromEnd(const RowNode& at, size_t count) {
  std::optional<int64_t> from_end;
  for (size_t i = 0; i < count; ++i) {
    if (!at.is_along(i)) continue;
    const SymbolicDims* shape = at.shape(i);
    if (shape == nullptr) return std::nullopt;
    const int64_t own = static_cast<int64_t>(shape->size()) - at.inputs[i].axis;
    if (from_end && *from_end != own) return std::nullopt;
    from_end = own;
  }
  if (!from_end) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    if (!at.node.inputs[i].valid() || at.is_along(i)) continue;
    if (at.inputs[i].kind == Kind::kCount || !at.broadcasts_to(i, *from_end)) return std::nullopt;
  }
  return from_end;
}

std::optional<Rows> AtFromEnd(const RowNode& at, std::optional<int64_t> from_end) {
  const SymbolicDims* shape = at.output_shape();
  if (!from_end || shape == nullptr) return std::nullopt;
  return Rows::Along(static_cast<int64_t>(shape->size()) - *from_end);
}

}  // namespace

std::optional<Rows> FirstAxisRows(const RowNode& at, size_t) {
  if (!OnlyAlong(at, 0) || at.inputs[0].axis != 0) return std::nullopt;
  return Rows::Along(0);
}

std::optional<Rows> FirstAxesRows(const RowNode& at, size_t) {
  for (size_t i = 0; i < at.inputs.size(); ++i)
    if (at.is_along(i) && at.inputs[i].axis != 0) return std::nullopt;
  return Rows::Along(0);
}

std::optional<Rows> ElementwiseRows(const RowNode& at, size_t) {
  return AtFromEnd(at, FromEnd(at, at.node.inputs.size()));
}

std::optional<Rows> AlongAxisRows(const RowNode& at, size_t) {
  const auto axis = AxisOf(at);
  if (!OnlyAlong(at, 0) || !axis || *axis == at.inputs[0].axis) return std::nullopt;
  return at.inputs[0];
}

std::optional<Rows> FromAxisRows(const RowNode& at, size_t) {
  const auto axis = AxisOf(at);
  if (!OnlyAlong(at, 0) || !axis || *axis <= at.inputs[0].axis) return std::nullopt;
  return at.inputs[0];
}

std::optional<Rows> ReduceRows(const RowNode& at, size_t) {
  const SymbolicDims* shape = at.shape(0);
  if (!OnlyAlong(at, 0) || shape == nullptr) return std::nullopt;
  const bool given = at.node.inputs.size() > 1 && at.node.inputs[1].valid();
  const auto axes = given ? Constant(at, 1) : at.node.attributes.Ints("axes");
  if (!axes) return std::nullopt;
  if (axes->empty())
    return at.node.attributes.Int("noop_with_empty_axes", 0) != 0 ? std::optional(at.inputs[0])
                                                                  : std::nullopt;
  int64_t before = 0;
  for (const int64_t each : *axes) {
    const auto axis = Normal(each, shape);
    if (!axis || *axis == at.inputs[0].axis) return std::nullopt;
    if (*axis < at.inputs[0].axis) ++before;
  }
  const bool keeps = at.node.attributes.Int("keepdims", 1) != 0;
  return Rows::Along(at.inputs[0].axis - (keeps ? 0 : before));
}

std::optional<Rows> ArgReduceRows(const RowNode& at, size_t) {
  const auto axis = Normal(at.node.attributes.Int("axis", 0), at.shape(0));
  if (!OnlyAlong(at, 0) || !axis || *axis == at.inputs[0].axis) return std::nullopt;
  const bool keeps = at.node.attributes.Int("keepdims", 1) != 0;
  return Rows::Along(at.inputs[0].axis - (!keeps && *axis < at.inputs[0].axis ? 1 : 0));
}

// The parts of rows stay where as many elements are before an axis as before.
std::optional<Rows> ReshapeRows(const RowNode& at, size_t) {
  const SymbolicDims* from = at.shape(0);
  const SymbolicDims* to = at.output_shape();
  if (!OnlyAlong(at, 0) || from == nullptr || to == nullptr) return std::nullopt;
  const Dim before = DimProduct(*from, 0, static_cast<size_t>(at.inputs[0].axis));
  if (before.unknown()) return std::nullopt;
  for (size_t axis = 0; axis < to->size(); ++axis)
    if (DimProduct(*to, 0, axis) == before && (*to)[axis] != Dim(1))
      return Rows::Along(static_cast<int64_t>(axis));
  return std::nullopt;
}

std::optional<Rows> TransposeRows(const RowNode& at, size_t) {
  const SymbolicDims* shape = at.shape(0);
  if (shape == nullptr) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(shape->size()), axis = at.inputs[0].axis;
  const std::vector<int64_t> perm = at.node.attributes.Ints("perm");
  if (perm.empty()) return Rows::Along(rank - 1 - axis);
  const auto found = std::find(perm.begin(), perm.end(), axis);
  if (found == perm.end()) return std::nullopt;
  return Rows::Along(found - perm.begin());
}

// A row's number before other numbers is an index for GatherND.
std::optional<Rows> ConcatRows(const RowNode& at, size_t) {
  const auto axis = AxisOf(at);
  if (!axis || *axis == at.inputs[0].axis) return std::nullopt;
  const bool index = at.inputs[0].kind == Kind::kPlace;
  for (size_t i = index ? 1 : 0; i < at.inputs.size(); ++i)
    if (!at.is_along(i) || at.inputs[i].axis != at.inputs[0].axis) return std::nullopt;
  if (!index) return at.inputs[0];
  const bool along_last = *axis + 1 == static_cast<int64_t>(at.shape(0)->size());
  return along_last ? std::optional(Rows{Kind::kIndex, at.inputs[0].axis}) : std::nullopt;
}

// Returns whether the output has as many elements along the axis as the first input has.
bool KeepsSize(const RowNode& at, int64_t axis) {
  const Type& out = at.graph.type(at.node.outputs[0]);
  const auto place = static_cast<size_t>(axis);
  const SymbolicDims* shape = at.shape(0);
  return out.is_tensor() && out.shape && place < out.shape->size() && place < shape->size() &&
         (*out.shape)[place].SameAs((*shape)[place]);
}

std::optional<Rows> SliceRows(const RowNode& at, size_t) {
  const SymbolicDims* shape = at.shape(0);
  if (!OnlyAlong(at, 0) || shape == nullptr) return std::nullopt;
  for (size_t i = 1; i < at.inputs.size(); ++i)
    if (at.inputs[i].kind != Kind::kNone) return std::nullopt;
  const SymbolicDims* starts = at.shape(1);
  if (starts == nullptr || starts->size() != 1 || !starts->front().known()) return std::nullopt;
  const bool given = at.node.inputs.size() > 3 && at.node.inputs[3].valid();
  const auto axes = Constant(at, 3), steps = Constant(at, 4);
  if (given && !axes) return std::nullopt;
  const bool has_steps = at.node.inputs.size() > 4 && at.node.inputs[4].valid();
  for (int64_t i = 0; i < starts->front().value(); ++i) {
    const auto at_i = static_cast<size_t>(i);
    const auto axis = Normal(given ? (*axes)[at_i] : i, shape);
    if (!axis) return std::nullopt;
    // Rows in steps of one that are as many as before are the same.
    const bool steps_by_one = !has_steps || (steps && (*steps)[at_i] == 1);
    if (*axis == at.inputs[0].axis && !(steps_by_one && KeepsSize(at, *axis))) return std::nullopt;
  }
  return at.inputs[0];
}

std::optional<Rows> SplitRows(const RowNode& at, size_t) {
  const auto axis = Normal(at.node.attributes.Int("axis", 0), at.shape(0));
  if (!OnlyAlong(at, 0) || !axis || *axis == at.inputs[0].axis) return std::nullopt;
  return at.inputs[0];
}

std::optional<Rows> PadRows(const RowNode& at, size_t) {
  const SymbolicDims* shape = at.shape(0);
  const auto pads = Constant(at, 1);
  if (!OnlyAlong(at, 0) || shape == nullptr || !pads) return std::nullopt;
  const bool given = at.node.inputs.size() > 3 && at.node.inputs[3].valid();
  const auto axes = Constant(at, 3);
  if (given && !axes) return std::nullopt;
  for (size_t i = 0; i < pads->size() / 2; ++i) {
    const auto axis = Normal(given ? (*axes)[i] : static_cast<int64_t>(i), shape);
    const bool pads_it = (*pads)[i] != 0 || (*pads)[i + pads->size() / 2] != 0;
    if (!axis || (pads_it && *axis == at.inputs[0].axis)) return std::nullopt;
  }
  return at.inputs[0];
}

std::optional<Rows> MatrixRows(const RowNode& at, size_t) {
  const SymbolicDims* shape = at.shape(0);
  if (!OnlyAlong(at, 0) || shape == nullptr) return std::nullopt;
  if (at.inputs[0].axis + 2 >= static_cast<int64_t>(shape->size())) return std::nullopt;
  return at.inputs[0];
}

std::optional<Rows> TileRows(const RowNode& at, size_t) {
  const auto repeats = Constant(at, 1);
  if (!OnlyAlong(at, 0) || !repeats) return std::nullopt;
  const auto axis = static_cast<size_t>(at.inputs[0].axis);
  if (axis >= repeats->size() || (*repeats)[axis] != 1) return std::nullopt;
  return at.inputs[0];
}

// The last axis has the parts of complex numbers.
std::optional<Rows> DftRows(const RowNode& at, size_t) {
  const SymbolicDims* shape = at.shape(0);
  const bool told = at.node.inputs.size() > 2 && at.node.inputs[2].valid();
  const auto given = told ? Constant(at, 2) : std::vector<int64_t>{-2};
  if (!OnlyAlong(at, 0) || !given || given->size() != 1) return std::nullopt;
  const auto axis = Normal(given->front(), shape);
  const int64_t rows = at.inputs[0].axis;
  if (!axis || rows == *axis || rows + 1 == static_cast<int64_t>(shape->size()))
    return std::nullopt;
  return at.inputs[0];
}

// Images, offsets and masks have rows, filters and their biases none.
std::optional<Rows> DeformConvRows(const RowNode& at, size_t output) {
  if (at.is_along(1) || at.is_along(3)) return std::nullopt;
  return FirstAxesRows(at, output);
}

// The sequence and the carried state have rows.
std::optional<Rows> CausalConvRows(const RowNode& at, size_t output) {
  if (at.is_along(1) || at.is_along(2)) return std::nullopt;
  return FirstAxesRows(at, output);
}

std::optional<Rows> OneHotRows(const RowNode& at, size_t) {
  const SymbolicDims* indices = at.shape(0);
  if (indices == nullptr || !OnlyAlong(at, 0)) return std::nullopt;
  int64_t axis = at.node.attributes.Int("axis", -1);
  if (axis < 0) axis += static_cast<int64_t>(indices->size()) + 1;
  const int64_t rows = at.inputs[0].axis;
  return Rows::Along(axis <= rows ? rows + 1 : rows);
}

// Lengths are of the batch axis.
std::optional<Rows> ReverseSequenceRows(const RowNode& at, size_t) {
  const auto batch = Normal(at.node.attributes.Int("batch_axis", 1), at.shape(0));
  const auto time = Normal(at.node.attributes.Int("time_axis", 0), at.shape(0));
  if (!batch || !time || !at.is_along(0) || at.inputs[0].axis == *time) return std::nullopt;
  if (at.is_along(1) != (at.inputs[0].axis == *batch)) return std::nullopt;
  return at.inputs[0];
}

std::optional<Rows> MaxPoolRows(const RowNode& at, size_t output) {
  if (output > 0) return std::nullopt;
  return FirstAxisRows(at, output);
}

std::optional<Rows> BatchNormalizationRows(const RowNode& at, size_t output) {
  const bool trains = at.node.attributes.Int("training_mode", 0) != 0;
  return trains ? std::nullopt : FirstAxisRows(at, output);
}

// A mask of fewer axes has no rows: it is broadcast from the end.
std::optional<Rows> AttentionRows(const RowNode& at, size_t output) {
  const SymbolicDims* mask = at.shape(3);
  if (at.is_along(3) && (mask == nullptr || mask->size() != 4)) return std::nullopt;
  return FirstAxesRows(at, output);
}

std::optional<Rows> DropoutRows(const RowNode& at, size_t) {
  const bool told = at.node.inputs.size() > 2 && at.node.inputs[2].valid();
  const auto training = Constant(at, 2);
  if (!OnlyAlong(at, 0) || (told && (!training || training->front() != 0))) return std::nullopt;
  return at.inputs[0];
}

std::optional<Rows> QuantizeRows(const RowNode& at, size_t output) {
  const SymbolicDims* scale = at.shape(1);
  if (scale == nullptr || !OnlyAlong(at, 0)) return std::nullopt;
  return scale->empty() ? std::optional(at.inputs[0]) : FirstAxisRows(at, output);
}

std::optional<Rows> ExpandRows(const RowNode& at, size_t) {
  const SymbolicDims* shape = at.shape(0);
  if (!OnlyAlong(at, 0) || shape == nullptr) return std::nullopt;
  return AtFromEnd(at, static_cast<int64_t>(shape->size()) - at.inputs[0].axis);
}

std::optional<Rows> GatherRows(const RowNode& at, size_t) {
  const SymbolicDims* data = at.shape(0);
  const SymbolicDims* indices = at.shape(1);
  const auto axis = Normal(at.node.attributes.Int("axis", 0), data);
  if (!axis || indices == nullptr) return std::nullopt;
  if (OnlyAlong(at, 1) && at.inputs[0].kind == Kind::kNone)
    return Rows::Along(*axis + at.inputs[1].axis);
  if (!OnlyAlong(at, 0) || *axis == at.inputs[0].axis) return std::nullopt;
  const auto rank = static_cast<int64_t>(indices->size());
  return Rows::Along(at.inputs[0].axis + (*axis < at.inputs[0].axis ? rank - 1 : 0));
}

std::optional<Rows> GatherNDRows(const RowNode& at, size_t) {
  const SymbolicDims* indices = at.shape(1);
  if (indices == nullptr) return std::nullopt;
  const Rows &data = at.inputs[0], &index = at.inputs[1];
  const bool of_rows = at.is_along(0) && data.axis == 0;
  if (at.node.attributes.Int("batch_dims", 0) > 0)
    return of_rows && at.is_along(1) && index.axis == 0 ? std::optional(data) : std::nullopt;
  const bool each =
      (of_rows && index.kind == Kind::kIndex) || (data.kind == Kind::kNone && at.is_along(1));
  if (!each || index.axis + 1 >= static_cast<int64_t>(indices->size())) return std::nullopt;
  return Rows::Along(index.axis);
}

std::optional<Rows> GatherElementsRows(const RowNode& at, size_t) {
  const auto axis = Normal(at.node.attributes.Int("axis", 0), at.shape(0));
  if (!axis || !at.is_along(0) || !at.is_along(1)) return std::nullopt;
  if (at.inputs[0].axis != at.inputs[1].axis || *axis == at.inputs[0].axis) return std::nullopt;
  return at.inputs[0];
}

// X, initial states and lengths have rows; with layout 0 axis 0 of X is time.
std::optional<Rows> RecurrentRows(const RowNode& at, size_t output) {
  const bool first = at.node.attributes.Int("layout", 0) != 0;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    if (at.inputs[i].kind == Kind::kCount) return std::nullopt;
    if (!at.is_along(i)) continue;
    const bool lengths = i == 4;
    const bool has_rows = i == 0 || i == 4 || i == 5 || i == 6;
    if (!has_rows || at.inputs[i].axis != (first || lengths ? 0 : 1)) return std::nullopt;
  }
  if (first) return Rows::Along(0);
  return Rows::Along(output == 0 ? 2 : 1);
}

}  // namespace onward

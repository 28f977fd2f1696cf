#include <algorithm>
#include <limits>

#include "graph/infer/dim_rules.h"

namespace onward {
namespace {

using MaybeDims = std::optional<SymbolicDims>;

std::optional<size_t> Axis(int64_t axis, size_t rank) {
  const absl::StatusOr<int64_t> normal = NormalizeAxis(axis, static_cast<int64_t>(rank));
  if (!normal.ok()) return std::nullopt;
  return static_cast<size_t>(*normal);
}

MaybeDims Concat(const InferScope& scope, size_t) {
  const SymbolicDims* first = scope.Shape(0);
  if (first == nullptr) return std::nullopt;
  const auto axis = Axis(scope.node.attributes.Int("axis", 0), first->size());
  if (!axis) return std::nullopt;
  SymbolicDims dims = *first;
  for (size_t i = 1; i < scope.node.inputs.size(); ++i) {
    const SymbolicDims* other = scope.Shape(i);
    if (other == nullptr || other->size() != dims.size()) return std::nullopt;
    for (size_t a = 0; a < dims.size(); ++a) {
      if (a == *axis) dims[a] = DimAdd(dims[a], (*other)[a]);
      if (a != *axis && !dims[a].known() && !(*other)[a].unknown()) dims[a] = (*other)[a];
    }
  }
  return dims;
}

MaybeDims Reshape(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const MaybeDims target = scope.Elements(1);
  if (!target) return std::nullopt;
  const bool allow_zero = scope.node.attributes.Int("allowzero", 0) != 0;
  SymbolicDims dims(target->size());
  size_t open = dims.size();
  int num_open = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::optional<int64_t> number = DimNumber((*target)[i]);
    if (number == 0 && !allow_zero) {
      if (input != nullptr && i < input->size()) dims[i] = (*input)[i];
    } else if (number != -1) {
      dims[i] = (*target)[i];
    }
    if (dims[i].unknown()) {
      open = i;
      ++num_open;
    }
  }
  // The one dim that is left has the rest of the elements, whether it was -1 or not known.
  if (num_open == 1 && input != nullptr) {
    Dim others(1);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i != open) others = DimMul(others, dims[i]);
    }
    dims[open] = DimFloorDiv(DimProduct(*input, 0, input->size()), others);
  }
  return dims;
}

MaybeDims Flatten(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  if (input == nullptr) return std::nullopt;
  int64_t axis = scope.node.attributes.Int("axis", 1);
  const auto rank = static_cast<int64_t>(input->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return std::nullopt;
  return SymbolicDims{DimProduct(*input, 0, static_cast<size_t>(axis)),
                      DimProduct(*input, static_cast<size_t>(axis), input->size())};
}

MaybeDims Expand(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const MaybeDims target = scope.Elements(1);
  if (input == nullptr || !target) return std::nullopt;
  return BroadcastSymbolic(*input, *target);
}

MaybeDims Tile(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const MaybeDims repeats = scope.Elements(1);
  if (input == nullptr || !repeats || repeats->size() != input->size()) return std::nullopt;
  SymbolicDims dims = *input;
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = DimMul(dims[i], (*repeats)[i]);
  return dims;
}

MaybeDims Pad(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const MaybeDims pads = scope.Elements(1);
  if (input == nullptr || !pads) return std::nullopt;
  SymbolicDims dims = *input;
  std::vector<size_t> axes;
  if (scope.HasInput(3)) {
    const auto given = scope.Numbers(3);
    if (!given) return std::nullopt;
    for (int64_t value : *given) {
      const auto axis = Axis(value, dims.size());
      if (!axis) return std::nullopt;
      axes.push_back(*axis);
    }
  } else {
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back(i);
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = dims[axes[i]];
    dim = DimAdd(dim, DimAdd((*pads)[i], (*pads)[i + axes.size()]));
  }
  return dims;
}

// A position in [0, size], counted from the end where it is negative; unknown when its sign is.
Dim ClampPosition(const Dim& position, const Dim& size) {
  // Exporters write "to the end" and "from the start" as huge numbers.
  constexpr int64_t kHuge = (int64_t{1} << 31) - 1;
  if (const std::optional<int64_t> number = DimNumber(position)) {
    if (*number >= kHuge) return size;
    if (*number <= -kHuge) return Dim(0);
  }
  if (DimAtLeast(position, Dim(0))) return DimMin(position, size);
  if (!DimAtLeast(NumberDim(-1), position)) return {};
  return DimMax(DimAdd(size, position), Dim(0));
}

// The size of size[start:end:step].
Dim SliceSize(const Dim& size, const Dim& start, const Dim& end, int64_t step) {
  if (step > 0) {
    const Dim last = ClampPosition(end, size);
    const bool to_end = last.SameAs(size) && DimAtLeast(start, Dim(0));
    const Dim length = DimSub(last, to_end ? start : ClampPosition(start, size));
    return DimCeilDiv(DimMax(length, Dim(0)), Dim(step));
  }
  // Backwards: the whole axis, as x[::-1] is exported.
  const auto first = DimNumber(start);
  const auto last = DimNumber(end);
  const bool whole = first && last && (*first == -1 || *first >= (int64_t{1} << 31) - 1) &&
                     *last <= -(int64_t{1} << 31) + 1;
  return whole && step < 0 && step > -(int64_t{1} << 31) ? DimCeilDiv(size, Dim(-step)) : Dim();
}

MaybeDims Slice(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const MaybeDims starts = scope.Elements(1);
  const MaybeDims ends = scope.Elements(2);
  const auto axes = scope.Numbers(3);
  const auto steps = scope.Numbers(4);
  if (input == nullptr || (scope.HasInput(3) && !axes)) return std::nullopt;
  SymbolicDims dims = *input;
  const auto given = scope.StaticDims(1);
  if (!given || given->size() != 1 || (axes && static_cast<int64_t>(axes->size()) != (*given)[0])) {
    return std::nullopt;
  }
  for (size_t i = 0; i < static_cast<size_t>((*given)[0]); ++i) {
    const auto axis = Axis(axes ? (*axes)[i] : static_cast<int64_t>(i), dims.size());
    if (!axis) return std::nullopt;
    const bool sized = starts && ends && i < starts->size() && i < ends->size() &&
                       (!scope.HasInput(4) || (steps && i < steps->size()));
    dims[*axis] =
        sized ? SliceSize(dims[*axis], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1) : Dim();
  }
  return dims;
}

MaybeDims Split(const InferScope& scope, size_t output) {
  const SymbolicDims* input = scope.Shape(0);
  if (input == nullptr) return std::nullopt;
  const auto axis = Axis(scope.node.attributes.Int("axis", 0), input->size());
  if (!axis) return std::nullopt;
  SymbolicDims dims = *input;
  if (scope.HasInput(1)) {
    const MaybeDims sizes = scope.Elements(1);
    dims[*axis] = sizes && output < sizes->size() ? (*sizes)[output] : Dim();
    return dims;
  }
  const auto parts = static_cast<int64_t>(scope.node.outputs.size());
  const Dim chunk = DimCeilDiv(dims[*axis], Dim(parts));
  const bool last = static_cast<int64_t>(output) + 1 == parts;
  dims[*axis] = last ? DimSub(dims[*axis], DimMul(chunk, Dim(parts - 1))) : chunk;
  return dims;
}

MaybeDims Range(const InferScope& scope, size_t) {
  const MaybeDims start = scope.Elements(0);
  const MaybeDims limit = scope.Elements(1);
  const auto delta = scope.Numbers(2);
  if (!start || !limit || !delta) return std::nullopt;
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1) return std::nullopt;
  if ((*delta)[0] == 0 || (*delta)[0] == std::numeric_limits<int64_t>::min()) return std::nullopt;
  const bool up = (*delta)[0] > 0;
  const Dim length = up ? DimSub((*limit)[0], (*start)[0]) : DimSub((*start)[0], (*limit)[0]);
  const Dim step = up ? Dim((*delta)[0]) : Dim(-(*delta)[0]);
  return SymbolicDims{DimCeilDiv(DimMax(length, Dim(0)), step)};
}

MaybeDims FromElements(const InferScope& scope, size_t) { return scope.Elements(0); }

MaybeDims OneHot(const InferScope& scope, size_t) {
  const SymbolicDims* indices = scope.Shape(0);
  const MaybeDims depth = scope.Elements(1);
  if (indices == nullptr || !depth || depth->size() != 1) return std::nullopt;
  const auto axis = Axis(scope.node.attributes.Int("axis", -1), indices->size() + 1);
  if (!axis) return std::nullopt;
  SymbolicDims dims = *indices;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*axis), (*depth)[0]);
  return dims;
}

MaybeDims TopK(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const MaybeDims k = scope.Elements(1);
  if (input == nullptr || !k || k->size() != 1) return std::nullopt;
  const auto axis = Axis(scope.node.attributes.Int("axis", -1), input->size());
  if (!axis) return std::nullopt;
  SymbolicDims dims = *input;
  dims[*axis] = (*k)[0];
  return dims;
}

MaybeDims MatMul(const InferScope& scope, size_t) {
  // QLinearMatMul's second matrix is input 3.
  const size_t second = scope.node.op_type == "QLinearMatMul" ? 3 : 1;
  const SymbolicDims* a = scope.Shape(0);
  const SymbolicDims* b = scope.Shape(second);
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return std::nullopt;
  const size_t a_batch = a->size() > 2 ? a->size() - 2 : 0;
  const size_t b_batch = b->size() > 2 ? b->size() - 2 : 0;
  SymbolicDims dims = BroadcastSymbolic(SymbolicDims(a->begin(), a->begin() + a_batch),
                                        SymbolicDims(b->begin(), b->begin() + b_batch));
  if (a->size() > 1) dims.push_back((*a)[a->size() - 2]);
  if (b->size() > 1) dims.push_back(b->back());
  return dims;
}

// [N,C,H,W] with blocks of b x b moved between channels and space.
MaybeDims Blocks(const InferScope& scope, size_t) {
  const SymbolicDims* input = scope.Shape(0);
  const Dim block(scope.node.attributes.Int("blocksize", 0));
  if (input == nullptr || input->size() != 4 || DimNumber(block).value_or(0) <= 0) {
    return std::nullopt;
  }
  const SymbolicDims& d = *input;
  const Dim area = DimMul(block, block);
  if (scope.node.op_type == "DepthToSpace") {
    return SymbolicDims{d[0], DimFloorDiv(d[1], area), DimMul(d[2], block), DimMul(d[3], block)};
  }
  return SymbolicDims{d[0], DimMul(d[1], area), DimFloorDiv(d[2], block), DimFloorDiv(d[3], block)};
}

constexpr DimRule kRules[] = {
    {"Concat", Concat},
    {"ConstantOfShape", FromElements},
    {"DepthToSpace", Blocks},
    {"Expand", Expand},
    {"Flatten", Flatten},
    {"MatMul", MatMul},
    {"MatMulInteger", MatMul},
    {"OneHot", OneHot},
    {"Pad", Pad},
    {"QLinearMatMul", MatMul},
    {"Range", Range},
    {"Reshape", Reshape},
    {"Slice", Slice},
    {"SpaceToDepth", Blocks},
    {"Split", Split},
    {"Tile", Tile},
    {"TopK", TopK},
};

}  // namespace

absl::Span<const DimRule> LayoutDimRules() { return kRules; }

}  // namespace onward

#include "kernels/bind/identity.h"

#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/require_shape.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward::kernels {
namespace {

absl::Status ShareInput(BindContext& context, DimsView dims) {
  context.SetOutput(0, dims);
  context.AliasOutput(0, 0);
  return absl::OkStatus();
}

absl::Status BindIdentity(BindContext& context) {
  return ShareInput(context, context.input_dims(0));
}

absl::Status BindFlatten(BindContext& context, int64_t axis) {
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  if (axis < -rank || axis > rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range for rank ", rank));
  }
  if (axis < 0) axis += rank;
  const int64_t flat[2] = {NumElements(dims, 0, axis), NumElements(dims, axis, rank)};
  return ShareInput(context, flat);
}

// Marks the axes that `axes` names in `marked`, whose size is the rank.
absl::Status MarkAxes(const TensorView& axes, absl::InlinedVector<bool, 8>& marked) {
  const auto rank = static_cast<int64_t>(marked.size());
  for (const int64_t given : axes.span<int64_t>()) {
    if (given < -rank || given >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes: ", given, " is out of range for rank ", rank));
    }
    const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
    if (marked[axis])
      return absl::InvalidArgumentError(absl::StrCat("axes: ", given, " is given twice"));
    marked[axis] = true;
  }
  return absl::OkStatus();
}

absl::Status BindSqueeze(BindContext& context) {
  const DimsView dims = context.input_dims(0);
  absl::InlinedVector<bool, 8> drop(dims.size(), false);
  if (context.has_input(1)) {
    const TensorView* axes = context.input_value(1);
    if (axes == nullptr) return context.Defer();
    ONWARD_RETURN_IF_ERROR(MarkAxes(*axes, drop));
  } else {
    for (size_t i = 0; i < dims.size(); ++i) drop[i] = dims[i] == 1;
  }
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!drop[i]) {
      kept.push_back(dims[i]);
    } else if (dims[i] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes: axis ", i, " of shape ", DimsString(dims), " is not of size 1"));
    }
  }
  return ShareInput(context, kept);
}

absl::Status BindUnsqueeze(BindContext& context) {
  const TensorView* axes = context.input_value(1);
  if (axes == nullptr) return context.Defer();
  const DimsView dims = context.input_dims(0);
  absl::InlinedVector<bool, 8> added(dims.size() + static_cast<size_t>(axes->num_elements()),
                                     false);
  ONWARD_RETURN_IF_ERROR(MarkAxes(*axes, added));
  Dims out;
  for (size_t i = 0, from = 0; i < added.size(); ++i) out.push_back(added[i] ? 1 : dims[from++]);
  return ShareInput(context, out);
}

absl::Status CannotReshape(DimsView from, DimsView target, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("cannot reshape ", DimsString(from), " to ",
                                                 DimsString(target), ": the target ",
                                                 std::string(why)));
}

absl::Status BindReshape(BindContext& context, bool allow_zero) {
  const TensorView* shape = context.input_value(1);
  if (shape == nullptr) return context.Defer();
  const DimsView from = context.input_dims(0);
  const absl::Span<const int64_t> target = shape->span<int64_t>();
  Dims to(target.begin(), target.end());
  int64_t inferred = -1, known = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !allow_zero) {
      if (i >= from.size())
        return CannotReshape(from, target, "copies a dimension that is not there");
      to[i] = from[i];
    }
    if (to[i] < -1) return CannotReshape(from, target, "has a negative size");
    if (to[i] == -1) {
      if (inferred >= 0) return CannotReshape(from, target, "has more than one -1");
      inferred = static_cast<int64_t>(i);
      continue;
    }
    const std::optional<int64_t> product = CheckedMul(known, to[i]);
    if (!product) return CannotReshape(from, target, "has too many elements");
    known = *product;
  }
  const int64_t count = NumElements(from);
  if (inferred >= 0) {
    if (known == 0)
      return CannotReshape(from, target, "has a -1 beside a 0: its size is ambiguous");
    to[static_cast<size_t>(inferred)] = count / known;
    known *= count / known;
  }
  if (known != count) return CannotReshape(from, target, "has another number of elements");
  return ShareInput(context, to);
}

}  // namespace

BindSameElements BindOfSameElements(const NodeSpec& spec) {
  const std::string& op = spec.node().op_type;
  const Attributes& attributes = spec.attributes();
  if (op == "Flatten") {
    return [axis = attributes.Int("axis", 1)](BindContext& c) { return BindFlatten(c, axis); };
  }
  if (op == "Reshape") {
    return [allow_zero = attributes.Int("allowzero", 0) != 0](BindContext& c) {
      return BindReshape(c, allow_zero);
    };
  }
  if (op == "RequireShape") {
    return [required = RequireShapeAttributes::Parse(spec)](BindContext& c) {
      return BindRequireShape(c, required);
    };
  }
  if (op == "Squeeze") return BindSqueeze;
  if (op == "Unsqueeze") return BindUnsqueeze;
  return BindIdentity;
}

}  // namespace onward::kernels

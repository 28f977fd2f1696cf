#include "kernels/bind/reduce.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::Status BuildReducePlan(DimsView dims, uint64_t reduced, ReducePlan* plan) {
  int64_t stride = 1;
  bool last_reduced = false, any = false;
  for (size_t axis = dims.size(); axis-- > 0;) {
    const int64_t dim = dims[axis];
    const bool is_reduced = reduced >> axis & 1;
    (is_reduced ? plan->reduced_count : plan->kept_count) *= dim;
    if (dim == 1) continue;
    int& rank = is_reduced ? plan->reduced_rank : plan->kept_rank;
    int64_t* loop_dims = is_reduced ? plan->reduced_dims : plan->kept_dims;
    int64_t* loop_strides = is_reduced ? plan->reduced_strides : plan->kept_strides;
    if (any && last_reduced == is_reduced) {
      loop_dims[rank - 1] *= dim;
    } else {
      if (rank == kMaxReduceDims)
        return absl::UnimplementedError("a reduction over more than 8 interleaved groups of axes");
      loop_dims[rank] = dim;
      loop_strides[rank++] = stride;
    }
    any = true;
    last_reduced = is_reduced;
    stride *= dim;
  }
  return absl::OkStatus();
}

namespace {

// Reads the axes as a set of bits; false in `*known` when their value is not known yet.
absl::Status ReducedAxes(const BindContext& context, int64_t rank, bool noop, uint64_t* reduced,
                         bool* known) {
  *known = true;
  *reduced = 0;
  if (rank > 64) return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " is above 64"));
  const uint64_t all = rank == 64 ? ~uint64_t{0} : (uint64_t{1} << rank) - 1;
  if (!context.has_input(1)) {
    if (!noop) *reduced = all;
    return absl::OkStatus();
  }
  const DimsView axes_dims = context.input_dims(1);
  if (axes_dims.size() > 1)
    return absl::InvalidArgumentError(
        absl::StrCat("axes has shape ", DimsString(axes_dims), ", must be a vector"));
  const int64_t count = NumElements(axes_dims);
  if (count == 0) {
    if (!noop) *reduced = all;
    return absl::OkStatus();
  }
  const TensorView* axes = context.input_value(1);
  *known = axes != nullptr;
  if (axes == nullptr) return absl::OkStatus();
  for (int64_t i = 0; i < count; ++i) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(axes->as<const int64_t>()[i], rank));
    *reduced |= uint64_t{1} << axis;
  }
  return absl::OkStatus();
}

// `dims` with the reduced axes set to 1 (keep) or dropped.
Dims ReducedDims(DimsView dims, uint64_t reduced, bool keep) {
  Dims result;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (reduced >> axis & 1) {
      if (keep) result.push_back(1);
    } else {
      result.push_back(dims[axis]);
    }
  }
  return result;
}

}  // namespace

absl::Status BindReduce(BindContext& context, const ReduceAttributes& attributes, bool keeps_one) {
  const DimsView dims = context.input_dims(0);
  uint64_t reduced = 0;
  bool known = false;
  ONWARD_RETURN_IF_ERROR(
      ReducedAxes(context, static_cast<int64_t>(dims.size()), attributes.noop, &reduced, &known));
  if (!known) return context.Defer();
  context.SetOutput(0, ReducedDims(dims, reduced, attributes.keep_dims));
  auto* plan = context.NewState<ReducePlan>();
  ONWARD_RETURN_IF_ERROR(BuildReducePlan(dims, reduced, plan));
  plan->keeps_elements = keeps_one && plan->reduced_count == 1;
  if (plan->keeps_elements) context.AliasOutput(0, 0);
  return absl::OkStatus();
}

}  // namespace onward::kernels

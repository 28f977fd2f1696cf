// Expand and Tile: elements repeat along axes.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/strided_copy.h"
#include "onward/shape.h"

namespace onward::cpu {
namespace {

class Repeat : public Kernel {
 public:
  absl::Status Run(RunContext& context) const override {
    RunStridedCopy(context, context.state<StridedCopy>(), context.input(0).data,
                   context.output(0).data);
    return absl::OkStatus();
  }
};

class Expand : public Repeat {
 public:
  absl::Status Bind(BindContext& context) const override {
    const TensorView* shape = context.input_value(1);
    if (shape == nullptr) return context.Defer();
    const DimsView dims = context.input_dims(0);
    const absl::Span<const int64_t> target = shape->span<int64_t>();
    for (const int64_t dim : target) {
      if (dim < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("shape ", DimsString(target), " has a negative size"));
      }
    }
    ONWARD_ASSIGN_OR_RETURN(const Dims out, BroadcastDims(dims, target));
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
    auto* copy = context.NewState<StridedCopy>();
    *copy = PlanStridedCopy(context, context.input_dtype(0), out, BroadcastStrides(dims, out),
                            Strides(out));
    context.SetOutput(0, out);
    if (copy->flat) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
};

// Axis i becomes two axes: the repeats, which read the same elements again, and the elements.
class Tile : public Repeat {
 public:
  absl::Status Bind(BindContext& context) const override {
    const TensorView* repeats = context.input_value(1);
    if (repeats == nullptr) return context.Defer();
    const DimsView dims = context.input_dims(0);
    if (repeats->num_elements() != static_cast<int64_t>(dims.size())) {
      return absl::InvalidArgumentError(absl::StrCat("repeats has ", repeats->num_elements(),
                                                     " elements for rank ", dims.size()));
    }
    Dims out(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t count = repeats->as<int64_t>()[i];
      const std::optional<int64_t> dim = CheckedMul(count, dims[i]);
      if (count < 0 || !dim)
        return absl::InvalidArgumentError(absl::StrCat("repeats: ", count, " for axis ", i));
      out[i] = *dim;
    }
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
    const Dims strides = Strides(dims), out_strides = Strides(out);
    absl::InlinedVector<int64_t, 12> box, from, to;
    const bool empty = absl::c_linear_search(out, 0);  // the other repeats may be any number
    for (size_t i = 0; i < dims.size(); ++i) {
      box.insert(box.end(), {empty ? 0 : repeats->as<int64_t>()[i], dims[i]});
      from.insert(from.end(), {0, strides[i]});
      to.insert(to.end(), {empty ? 0 : out_strides[i] * dims[i], out_strides[i]});
    }
    auto* copy = context.NewState<StridedCopy>();
    *copy = PlanStridedCopy(context, context.input_dtype(0), box, from, to);
    context.SetOutput(0, out);
    if (copy->flat) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeExpand(const NodeSpec&) {
  return std::make_unique<Expand>();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTile(const NodeSpec&) {
  return std::make_unique<Tile>();
}

constexpr KernelEntry kKernels[] = {
    {"", "Expand", "expand_reference", MakeExpand},
    {"", "Tile", "tile_reference", MakeTile},
};

}  // namespace

KernelList ReferenceExpand() { return kKernels; }

}  // namespace onward::cpu

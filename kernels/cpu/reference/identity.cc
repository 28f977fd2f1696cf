// Ops whose output has the elements of input 0 in the same order: Identity, Flatten, Squeeze,
// Unsqueeze, Reshape.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

absl::Status ShareInput(BindContext& context, DimsView dims) {
  context.SetOutput(0, dims);
  context.AliasOutput(0, 0);
  return absl::OkStatus();
}

// A kernel whose Run copies where the memory was not shared.
class SameElements : public Kernel {
 public:
  absl::Status Run(RunContext& context) const override {
    CopyElements(context.input(0), context.output(0));
    return absl::OkStatus();
  }
};

class Identity : public SameElements {
 public:
  absl::Status Bind(BindContext& context) const override {
    return ShareInput(context, context.input_dims(0));
  }
};

// Sequences and optionals pass through Identity as objects.
class IdentityOfObject : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const SlotValue& slot = context.input_slot(0);
    if (slot.object != nullptr) return context.SetOutput(0, *slot.object);
    return context.SetOutput(0, slot.present ? Value(CopyOf(slot.tensor)) : Value());
  }
};

class Flatten : public SameElements {
 public:
  explicit Flatten(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const auto rank = static_cast<int64_t>(dims.size());
    if (axis_ < -rank || axis_ > rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis_, " is out of range for rank ", rank));
    }
    const int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
    const int64_t flat[2] = {NumElements(dims, 0, axis), NumElements(dims, axis, rank)};
    return ShareInput(context, flat);
  }

 private:
  int64_t axis_;
};

absl::Status AxisOutOfRange(int64_t axis, size_t rank) {
  return absl::InvalidArgumentError(
      absl::StrCat("axes: ", axis, " is out of range for rank ", rank));
}

// Marks the axes that `axes` names in `marked`, whose size is the rank.
absl::Status MarkAxes(const TensorView& axes, absl::InlinedVector<bool, 8>& marked) {
  const auto rank = static_cast<int64_t>(marked.size());
  for (const int64_t given : axes.span<int64_t>()) {
    if (given < -rank || given >= rank) return AxisOutOfRange(given, marked.size());
    const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
    if (marked[axis])
      return absl::InvalidArgumentError(absl::StrCat("axes: ", given, " is given twice"));
    marked[axis] = true;
  }
  return absl::OkStatus();
}

class Squeeze : public SameElements {
 public:
  absl::Status Bind(BindContext& context) const override {
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
};

class Unsqueeze : public SameElements {
 public:
  absl::Status Bind(BindContext& context) const override {
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
};

class Reshape : public SameElements {
 public:
  explicit Reshape(bool allow_zero) : allow_zero_(allow_zero) {}
  absl::Status Bind(BindContext& context) const override {
    const TensorView* shape = context.input_value(1);
    if (shape == nullptr) return context.Defer();
    const DimsView from = context.input_dims(0);
    const absl::Span<const int64_t> target = shape->span<int64_t>();
    Dims to(target.begin(), target.end());
    int64_t inferred = -1, known = 1;
    for (size_t i = 0; i < to.size(); ++i) {
      if (to[i] == 0 && !allow_zero_) {
        if (i >= from.size()) return Wrong(from, target, "copies a dimension that is not there");
        to[i] = from[i];
      }
      if (to[i] < -1) return Wrong(from, target, "has a negative size");
      if (to[i] == -1) {
        if (inferred >= 0) return Wrong(from, target, "has more than one -1");
        inferred = static_cast<int64_t>(i);
        continue;
      }
      const std::optional<int64_t> product = CheckedMul(known, to[i]);
      if (!product) return Wrong(from, target, "has too many elements");
      known = *product;
    }
    const int64_t count = NumElements(from);
    if (inferred >= 0) {
      if (known == 0) return Wrong(from, target, "has a -1 beside a 0: its size is ambiguous");
      to[static_cast<size_t>(inferred)] = count / known;
      known *= count / known;
    }
    if (known != count) return Wrong(from, target, "has another number of elements");
    return ShareInput(context, to);
  }

 private:
  static absl::Status Wrong(DimsView from, DimsView target, std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("cannot reshape ", DimsString(from), " to ",
                                                   DimsString(target), ": the target ",
                                                   std::string(why)));
  }
  bool allow_zero_;
};

Made MakeIdentity(const NodeSpec& spec) {
  if (spec.input_type(0).is_tensor()) return std::make_unique<Identity>();
  return std::make_unique<IdentityOfObject>();
}

Made MakeFlatten(const NodeSpec& spec) {
  return std::make_unique<Flatten>(spec.attributes().Int("axis", 1));
}

Made MakeSqueeze(const NodeSpec&) { return std::make_unique<Squeeze>(); }

Made MakeUnsqueeze(const NodeSpec&) { return std::make_unique<Unsqueeze>(); }

Made MakeReshape(const NodeSpec& spec) {
  return std::make_unique<Reshape>(spec.attributes().Int("allowzero", 0) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "Identity", "identity_reference", MakeIdentity},
    {"onward", "After", "after_reference", MakeIdentity},
    {"", "Flatten", "flatten_reference", MakeFlatten},
    {"", "Squeeze", "squeeze_reference", MakeSqueeze},
    {"", "Unsqueeze", "unsqueeze_reference", MakeUnsqueeze},
    {"", "Reshape", "reshape_reference", MakeReshape},
};

}  // namespace

KernelList ReferenceIdentity() { return kKernels; }

}  // namespace onward::kernels::cpu

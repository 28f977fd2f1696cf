// MaxUnpool: scatters MaxPool's outputs back to where they came from; everything else is zero.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/shapes/pool.h"

namespace onward::kernels::cpu {
namespace {

// Indices count elements of the tensor that MaxPool read, whose dims are the inferred ones; it lies
// at the begin of every axis of an output that output_shape makes larger.
struct MaxUnpoolState {
  absl::Span<int64_t> inferred;
  int64_t size;                 // elements of the inferred dims
  absl::Span<int64_t> strides;  // of the output
};

template <typename T>
class MaxUnpool : public Kernel {
 public:
  explicit MaxUnpool(PoolAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0), indices = context.input_dims(1);
    if (x != indices) {
      return absl::InvalidArgumentError(
          absl::StrCat("X is ", DimsString(x), ", the indices are ", DimsString(indices)));
    }
    ONWARD_ASSIGN_OR_RETURN(const Dims inferred, MaxUnpoolDims(attributes_, x));
    Dims output = inferred;
    if (context.has_input(2)) {
      const TensorView* shape = context.input_value(2);
      if (shape == nullptr) return context.Defer();
      const std::vector<int64_t> dims = ToInt64(*shape);
      bool fits = dims.size() == x.size();
      for (size_t i = 0; fits && i < dims.size(); ++i) fits = dims[i] >= output[i];
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat("output_shape ", DimsString(dims),
                                                       " is smaller than the unpooled ",
                                                       DimsString(output)));
      }
      ONWARD_RETURN_IF_ERROR(CheckedNumElements(dims).status());
      output.assign(dims.begin(), dims.end());
    }
    context.SetOutput(0, output);
    *context.NewState<MaxUnpoolState>() = {context.Keep<int64_t>(inferred), NumElements(inferred),
                                           context.Keep<int64_t>(Strides(output))};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const int64_t* indices = context.in<int64_t>(1);
    const auto& s = context.state<MaxUnpoolState>();
    std::fill_n(y.as<T>(), y.num_elements(), T());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      if (indices[i] < 0 || indices[i] >= s.size) {
        return absl::InvalidArgumentError(absl::StrCat(
            "index ", indices[i], " at ", i, " is outside the unpooled ", s.size, " elements"));
      }
      y.as<T>()[OutputOffset(s, indices[i])] = x.as<const T>()[i];
    }
    return absl::OkStatus();
  }

 private:
  static int64_t OutputOffset(const MaxUnpoolState& s, int64_t index) {
    int64_t offset = 0;
    for (size_t i = s.inferred.size(); i-- > 0;) {
      offset += index % s.inferred[i] * s.strides[i];
      index /= s.inferred[i];
    }
    return offset;
  }

  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxUnpool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const PoolAttributes attributes, PoolAttributes::Parse(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<MaxUnpool<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr) return absl::UnimplementedError("MaxUnpool takes floating-point tensors");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "MaxUnpool", "max_unpool_reference", MakeMaxUnpool},
};

}  // namespace

KernelList ReferenceMaxUnpool() { return kKernels; }

}  // namespace onward::kernels::cpu

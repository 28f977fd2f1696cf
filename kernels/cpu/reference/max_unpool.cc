// MaxUnpool: scatters MaxPool's outputs back to where they came from; everything else is zero.
#include "kernels/bind/max_unpool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

template <typename T>
class MaxUnpool : public Kernel {
 public:
  explicit MaxUnpool(PoolAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    return BindMaxUnpool(context, attributes_);
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const int64_t* indices = context.in<int64_t>(1);
    const auto& s = context.state<MaxUnpoolPlan>();
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
  static int64_t OutputOffset(const MaxUnpoolPlan& s, int64_t index) {
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

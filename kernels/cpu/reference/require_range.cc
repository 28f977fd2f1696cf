// RequireRange: its input, or an error.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/bad_element.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// The first element outside of [least, most], or -1.
template <typename T>
int64_t FindOutside(const void* data, int64_t count, double least, double most) {
  const T* elements = static_cast<const T*>(data);
  for (int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<double>(elements[i]);
    if (element < least || element > most) return i;
  }
  return -1;
}

struct Range {
  std::string name, advice;
  double least = 0, most = 1;
  int64_t (*find)(const void* data, int64_t count, double least, double most) = nullptr;
  double (*read)(const void* data, int64_t i) = nullptr;
};

template <typename T>
double ReadAt(const void* data, int64_t i) {
  return static_cast<double>(static_cast<const T*>(data)[i]);
}

class RequireRange : public Kernel {
 public:
  explicit RequireRange(Range range) : range_(std::move(range)) {}

  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    context.AliasOutput(0, 0);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& x = context.input(0);
    const int64_t count = x.num_elements();
    const int64_t bad = range_.find(x.data, count, range_.least, range_.most);
    if (bad >= 0) {
      const double number = range_.read(x.data, bad);
      return WithBadElement(absl::InvalidArgumentError(absl::StrCat(
                                range_.name, " is ", number, " at position ", bad, ", must be in [",
                                range_.least, ", ", range_.most, "]: ", range_.advice)),
                            {bad, count, 0, number});
    }
    CopyElements(x, context.output(0));
    return absl::OkStatus();
  }

 private:
  const Range range_;
};

Made MakeRequireRange(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  Range range;
  range.name = attributes.String("name", "");
  range.advice = attributes.String("advice", "");
  range.least = static_cast<double>(attributes.Float("least", 0));
  range.most = static_cast<double>(attributes.Float("most", 1));
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    range.find = FindOutside<T>;
    range.read = ReadAt<T>;
  });
  return std::make_unique<RequireRange>(std::move(range));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "RequireRange", "require_range_reference", MakeRequireRange},
};

}  // namespace

KernelList ReferenceRequireRange() { return kKernels; }

}  // namespace onward::kernels::cpu

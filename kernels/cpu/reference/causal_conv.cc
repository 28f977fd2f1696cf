// CausalConvWithState: a depthwise convolution over past_state followed by the input.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/check_dims.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

struct CausalConvState {
  int64_t rows;  // batch * channels
  int64_t channels, length, taps;
};

template <typename T>
class CausalConv : public Kernel {
 public:
  explicit CausalConv(bool silu) : silu_(silu) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0), w = context.input_dims(1);
    if (x.size() != 3 || w.size() != 3 || w[2] < 1) {
      return absl::InvalidArgumentError(absl::StrCat("input ", DimsString(x), " and weight ",
                                                     DimsString(w), " must have rank 3"));
    }
    ONWARD_RETURN_IF_ERROR(CheckDims("weight", w, {x[1], 1, w[2]}));
    if (context.has_input(2))
      ONWARD_RETURN_IF_ERROR(CheckDims("bias", context.input_dims(2), {x[1]}));
    const Dims state = {x[0], x[1], w[2] - 1};
    if (context.has_input(3))
      ONWARD_RETURN_IF_ERROR(CheckDims("past_state", context.input_dims(3), state));
    ONWARD_RETURN_IF_ERROR(CheckedNumElements(state).status());
    context.SetOutput(0, x);
    if (context.has_output(1)) context.SetOutput(1, state);
    *context.NewState<CausalConvState>() = {x[0] * x[1], x[1], x[2], w[2]};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<CausalConvState>();
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 15) / ((s.length + 1) * s.taps));
    context.ParallelFor(s.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) RunRow(context, s, row);
    });
    return absl::OkStatus();
  }

 private:
  void RunRow(const RunContext& context, const CausalConvState& s, int64_t row) const {
    const int64_t channel = row % s.channels, past = s.taps - 1;
    const T* x = context.in<T>(0) + row * s.length;
    const T* w = context.in<T>(1) + channel * s.taps;
    const T* before = context.has_input(3) ? context.in<T>(3) + row * past : nullptr;
    const float bias = context.has_input(2) ? static_cast<float>(context.in<T>(2)[channel]) : 0.0f;
    // Element i of past_state followed by the input.
    const auto at = [&](int64_t i) {
      if (i >= past) return x[i - past];
      return before == nullptr ? T(0.0f) : before[i];
    };
    T* y = context.out<T>(0) + row * s.length;
    for (int64_t i = 0; i < s.length; ++i) {
      float sum = bias;
      for (int64_t k = 0; k < s.taps; ++k)
        sum += static_cast<float>(w[k]) * static_cast<float>(at(i + k));
      y[i] = static_cast<T>(silu_ ? sum / (1.0f + std::exp(-sum)) : sum);
    }
    if (!context.has_output(1)) return;
    T* present = context.out<T>(1) + row * past;
    for (int64_t i = 0; i < past; ++i) present[i] = at(s.length + i);
  }

  bool silu_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeCausalConv(const NodeSpec& spec) {
  const std::string activation = spec.attributes().String("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none")
    return absl::InvalidArgumentError(
        absl::StrCat("activation is '", activation, "', must be none, silu or swish"));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(TypeList<float, Float16, BFloat16>(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<CausalConv<typename decltype(tag)::type>>(silu);
  });
  if (kernel == nullptr)
    return absl::UnimplementedError("CausalConvWithState takes float32, float16 and bfloat16");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "CausalConvWithState", "causal_conv_reference", MakeCausalConv},
};

}  // namespace

KernelList ReferenceCausalConv() { return kKernels; }

}  // namespace onward::kernels::cpu

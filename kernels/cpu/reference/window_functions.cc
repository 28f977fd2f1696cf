// HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix: tables computed from scalars.
#include "kernels/bind/window_functions.h"

#include "absl/strings/str_cat.h"
#include "kernels/bind/one_integer.h"
#include "kernels/cast_convert.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

void Store(const TensorView& out, int64_t index, double value) {
  DispatchDType(NumericTypes(), out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    out.as<T>()[index] = Convert<T>(value);
  });
}

class Window : public Kernel {
 public:
  Window(const WindowCosines& cosines, bool periodic) : cosines_(cosines), periodic_(periodic) {}
  absl::Status Bind(BindContext& context) const override { return BindWindow(context); }
  absl::Status Run(RunContext& context) const override {
    const TensorView& out = context.output(0);
    const int64_t size = out.dim(0), period = periodic_ ? size : size - 1;
    for (int64_t n = 0; n < size; ++n) Store(out, n, WindowElement(cosines_, n, period));
    return absl::OkStatus();
  }

 private:
  const WindowCosines& cosines_;
  bool periodic_;
};

absl::Status CheckOutputType(const NodeSpec& spec) {
  const auto dtype = static_cast<DType>(spec.attributes().Int("output_datatype", 1));
  const bool found = DispatchDType(NumericTypes(), dtype, [](auto) {});
  return found ? absl::OkStatus() : NoLoopFor(dtype);
}

template <const WindowCosines& cosines>
absl::StatusOr<std::unique_ptr<Kernel>> MakeWindow(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckOutputType(spec));
  return std::make_unique<Window>(cosines, spec.attributes().Int("periodic", 1) != 0);
}

double ReadNumber(const TensorView& view) {
  double value = 0;
  DispatchDType(Concat<FloatTypes, TypeList<int32_t, int64_t>>(), view.dtype, [&](auto tag) {
    value = Convert<double>(*view.as<const typename decltype(tag)::type>());
  });
  return value;
}

// mel(f) = 2595 log10(1 + f / 700)
double MelOfHertz(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double HertzOfMel(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

class MelWeightMatrix : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    int64_t bins = 0, length = 0;
    bool known = true;
    ONWARD_RETURN_IF_ERROR(ReadOneInteger(context, 0, "num_mel_bins", &bins, &known));
    ONWARD_RETURN_IF_ERROR(ReadOneInteger(context, 1, "dft_length", &length, &known));
    static constexpr const char* kNames[] = {"sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
    for (int i = 2; i < 5; ++i) {
      if (NumElements(context.input_dims(i)) != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            kNames[i - 2], " has shape ", DimsString(context.input_dims(i)), ", must be a scalar"));
      }
    }
    if (!known) return context.Defer();
    if (bins < 0 || length < 0 || bins > kMostTableElements / (length / 2 + 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_mel_bins ", bins, " and dft_length ", length, " are out of range"));
    }
    context.SetOutput(0, {length / 2 + 1, bins});
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& out = context.output(0);
    const int64_t rows = out.dim(0), bins = out.dim(1);
    const double length = ReadNumber(context.input(1)), rate = ReadNumber(context.input(2));
    if (!(rate > 0))
      return absl::InvalidArgumentError(absl::StrCat("sample_rate is ", rate, ", not positive"));
    const double low = MelOfHertz(ReadNumber(context.input(3)));
    const double step =
        (MelOfHertz(ReadNumber(context.input(4))) - low) / static_cast<double>(bins + 2);
    const auto edge = [&](int64_t i) {
      const double hertz = HertzOfMel(low + step * static_cast<double>(i));
      const double row = std::floor((length + 1) * hertz / rate);
      return row >= 0 && row < static_cast<double>(rows) ? static_cast<int64_t>(row)
             : row < 0                                   ? 0
                                                         : rows;
    };
    if (out.byte_size() > 0) std::memset(out.data, 0, static_cast<size_t>(out.byte_size()));
    for (int64_t i = 0; i < bins; ++i) StoreBand(out, i, edge(i), edge(i + 1), edge(i + 2));
    return absl::OkStatus();
  }

 private:
  // A triangle over the rows [lower, upper) with its peak at `center`.
  static void StoreBand(const TensorView& out, int64_t band, int64_t lower, int64_t center,
                        int64_t upper) {
    const int64_t rows = out.dim(0), bins = out.dim(1);
    const double rise = static_cast<double>(center - lower);
    const double fall = static_cast<double>(upper - center);
    if (center < rows && center == lower) Store(out, center * bins + band, 1.0);
    for (int64_t row = lower; row <= std::min(center, rows - 1) && rise > 0; ++row)
      Store(out, row * bins + band, static_cast<double>(row - lower) / rise);
    for (int64_t row = center; row < std::min(upper, rows) && fall > 0; ++row)
      Store(out, row * bins + band, static_cast<double>(upper - row) / fall);
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMelWeightMatrix(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckOutputType(spec));
  return std::make_unique<MelWeightMatrix>();
}

constexpr KernelEntry kKernels[] = {
    {"", "BlackmanWindow", "blackman_window_reference", MakeWindow<kBlackman>},
    {"", "HammingWindow", "hamming_window_reference", MakeWindow<kHamming>},
    {"", "HannWindow", "hann_window_reference", MakeWindow<kHann>},
    {"", "MelWeightMatrix", "mel_weight_matrix_reference", MakeMelWeightMatrix},
};

}  // namespace

KernelList ReferenceWindowFunctions() { return kKernels; }

}  // namespace onward::kernels::cpu

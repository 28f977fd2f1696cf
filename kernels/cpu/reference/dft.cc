// DFT along one axis and STFT. The last axis holds 1 (real) or 2 (complex) components.
#include "absl/strings/str_cat.h"
#include "kernels/bind/one_integer.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/fourier.h"
#include "kernels/cpu/reference/single_fourier.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 30;

absl::Status CheckLength(const char* name, int64_t length) {
  if (length >= 1 && length <= kMaxLength) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", length, ", is out of range"));
}

// Signals of `in_count` elements, `inner` apart, in; spectra of `out_count` elements out.
struct DftPlan {
  FourierPlan fourier;
  SingleFourierPlan single;
  int64_t outer, in_count, out_count, inner;
  int64_t in_parts, out_parts;  // components: 1 or 2
};

template <typename T>
void RunSignal(const DftPlan& plan, bool inverse, bool onesided, const void* in, void* out,
               int64_t index, Complex* signal) {
  using C = ComputeType<T>;
  const int64_t o = index / plan.inner, i = index % plan.inner, n = plan.fourier.length;
  const T* x = static_cast<const T*>(in) + (o * plan.in_count * plan.inner + i) * plan.in_parts;
  const int64_t in_step = plan.inner * plan.in_parts;
  std::fill(signal, signal + n, Complex(0));
  for (int64_t k = 0; k < std::min(plan.in_count, n); ++k) {
    const T* from = x + k * in_step;
    signal[k] = {static_cast<double>(static_cast<C>(from[0])),
                 plan.in_parts == 2 ? static_cast<double>(static_cast<C>(from[1])) : 0.0};
  }
  if (inverse && onesided) {
    // The half given stands for the whole: the other half is its mirrored conjugate.
    for (int64_t k = n / 2 + 1; k < n; ++k) signal[k] = std::conj(signal[n - k]);
    signal[0].imag(0);
    if (n % 2 == 0) signal[n / 2].imag(0);
  }
  Complex* work = signal + n;
  inverse ? InverseTransform(plan.fourier, signal, work) : Transform(plan.fourier, signal, work);
  const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
  T* y = static_cast<T*>(out) + (o * plan.out_count * plan.inner + i) * plan.out_parts;
  for (int64_t k = 0; k < plan.out_count; ++k) {
    T* to = y + k * plan.inner * plan.out_parts;
    to[0] = static_cast<T>(static_cast<C>(signal[k].real() * scale));
    if (plan.out_parts == 2) to[1] = static_cast<T>(static_cast<C>(signal[k].imag() * scale));
  }
}

// Complex float32 signals of smooth lengths.
void RunSingleSignal(const DftPlan& plan, bool inverse, const void* in, void* out, int64_t index,
                     Complex* scratch) {
  const int64_t o = index / plan.inner, i = index % plan.inner, n = plan.fourier.length;
  const auto* x = static_cast<const SingleComplex*>(in) + o * plan.in_count * plan.inner + i;
  auto* y = static_cast<SingleComplex*>(out) + o * plan.out_count * plan.inner + i;
  auto* signal = reinterpret_cast<SingleComplex*>(scratch);
  std::fill(signal, signal + n, SingleComplex(0));
  for (int64_t k = 0; k < std::min(plan.in_count, n); ++k) signal[k] = x[k * plan.inner];
  const float scale = inverse ? static_cast<float>(1.0 / static_cast<double>(n)) : 1.0f;
  TransformSingle(plan.single, inverse, scale, signal, signal + n);
  for (int64_t k = 0; k < plan.out_count; ++k) y[k * plan.inner] = signal[k];
}

using SignalLoop = void (*)(const DftPlan& plan, bool inverse, bool onesided, const void* in,
                            void* out, int64_t index, Complex* signal);

class Dft : public Kernel {
 public:
  Dft(SignalLoop loop, bool inverse, bool onesided)
      : loop_(loop), inverse_(inverse), onesided_(onesided) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t given_axis = -2, length = -1;
    bool known = true;
    ONWARD_RETURN_IF_ERROR(ReadOneInteger(context, 1, "dft_length", &length, &known));
    ONWARD_RETURN_IF_ERROR(ReadOneInteger(context, 2, "axis", &given_axis, &known));
    if (!known) return context.Defer();
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given_axis, rank));
    const int64_t parts = dims.back();
    if (axis == rank - 1 || (parts != 1 && parts != 2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input has shape ", DimsString(dims), " and axis ", axis,
                       ": the last axis must hold 1 or 2 components and not be transformed"));
    }
    const bool halve = onesided_ && !inverse_, mirror = onesided_ && inverse_;
    if (onesided_ && parts != (inverse_ ? 2 : 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("onesided needs ", inverse_ ? 2 : 1, " components, input has ", parts));
    }
    const int64_t count = dims[static_cast<size_t>(axis)];
    if (!context.has_input(1)) length = mirror ? 2 * (count - 1) : count;
    ONWARD_RETURN_IF_ERROR(CheckLength("dft_length", length));
    auto* plan = context.NewState<DftPlan>();
    SingleFourierPlan single;
    if (context.input_dtype(0) == DType::kFloat32 && parts == 2 && !onesided_ && length > 1)
      single = MakeSingleFourierPlan(context, length);
    FourierPlan fourier;
    fourier.length = length;
    if (single.num_factors == 0) fourier = MakeFourierPlan(context, length);
    *plan = {fourier,
             single,
             NumElements(dims, 0, axis),
             count,
             halve ? length / 2 + 1 : length,
             NumElements(dims, axis + 1, rank - 1),
             parts,
             mirror ? 1 : 2};
    Dims out(dims.begin(), dims.end());
    out[static_cast<size_t>(axis)] = plan->out_count;
    out.back() = plan->out_parts;
    context.SetOutput(0, out);
    context.SetScratch((length + plan->fourier.work_size()) *
                       static_cast<int64_t>(sizeof(Complex)) * context.num_workers());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const DftPlan& plan = context.state<DftPlan>();
    const int64_t each = plan.fourier.length + plan.fourier.work_size();
    context.ParallelForWorkers(plan.outer * plan.inner, std::max<int64_t>(1, kMathGrain / each),
                               [&](int worker, int64_t begin, int64_t end) {
                                 Complex* signal = context.scratch<Complex>() + worker * each;
                                 for (int64_t i = begin; i < end; ++i) {
                                   if (plan.single.num_factors > 0) {
                                     RunSingleSignal(plan, inverse_, context.input(0).data,
                                                     context.output(0).data, i, signal);
                                   } else {
                                     loop_(plan, inverse_, onesided_, context.input(0).data,
                                           context.output(0).data, i, signal);
                                   }
                                 }
                               });
    return absl::OkStatus();
  }

 private:
  SignalLoop loop_;
  bool inverse_, onesided_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDft(const NodeSpec& spec) {
  SignalLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunSignal<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Dft>(loop, spec.attributes().Int("inverse", 0) != 0,
                               spec.attributes().Int("onesided", 0) != 0);
}

struct StftPlan {
  FourierPlan fourier;
  int64_t batch, length, parts, step, frames, bins;
};

template <typename T>
void RunFrame(const StftPlan& plan, const void* in, const void* window, void* out, int64_t index,
              Complex* signal) {
  using C = ComputeType<T>;
  const int64_t n = plan.fourier.length, frame = index % plan.frames;
  const T* x = static_cast<const T*>(in) +
               (index / plan.frames * plan.length + frame * plan.step) * plan.parts;
  for (int64_t k = 0; k < n; ++k) {
    const double weight =
        window == nullptr ? 1.0
                          : static_cast<double>(static_cast<C>(static_cast<const T*>(window)[k]));
    const T* from = x + k * plan.parts;
    signal[k] = {weight * static_cast<double>(static_cast<C>(from[0])),
                 plan.parts == 2 ? weight * static_cast<double>(static_cast<C>(from[1])) : 0.0};
  }
  Transform(plan.fourier, signal, signal + n);
  T* y = static_cast<T*>(out) + index * plan.bins * 2;
  for (int64_t k = 0; k < plan.bins; ++k) {
    y[2 * k] = static_cast<T>(static_cast<C>(signal[k].real()));
    y[2 * k + 1] = static_cast<T>(static_cast<C>(signal[k].imag()));
  }
}

using FrameLoop = void (*)(const StftPlan& plan, const void* in, const void* window, void* out,
                           int64_t index, Complex* signal);

class Stft : public Kernel {
 public:
  Stft(FrameLoop loop, bool onesided) : loop_(loop), onesided_(onesided) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (dims.size() < 2 || dims.size() > 3 || (dims.size() == 3 && dims[2] != 1 && dims[2] != 2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("signal has shape ", DimsString(dims), ", must be [batch, length, 1 or 2]"));
    }
    const int64_t parts = dims.size() == 3 ? dims[2] : 1;
    int64_t step = 0, frame = dims[1];
    bool known = true;
    ONWARD_RETURN_IF_ERROR(ReadOneInteger(context, 1, "frame_step", &step, &known));
    if (context.has_input(2)) frame = NumElements(context.input_dims(2));
    ONWARD_RETURN_IF_ERROR(ReadOneInteger(context, 3, "frame_length", &frame, &known));
    if (!known) return context.Defer();
    ONWARD_RETURN_IF_ERROR(CheckLength("frame_length", frame));
    ONWARD_RETURN_IF_ERROR(CheckLength("frame_step", step));
    if (context.has_input(2) && NumElements(context.input_dims(2)) != frame) {
      return absl::InvalidArgumentError(
          absl::StrCat("window has shape ", DimsString(context.input_dims(2)), ", must have the ",
                       frame, " elements of a frame"));
    }
    if (frame > dims[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame_length ", frame, " exceeds the signal's length ", dims[1]));
    }
    if (onesided_ && parts == 2)
      return absl::InvalidArgumentError("onesided needs a real signal, this one is complex");
    auto* plan = context.NewState<StftPlan>();
    *plan = {MakeFourierPlan(context, frame),
             dims[0],
             dims[1],
             parts,
             step,
             (dims[1] - frame) / step + 1,
             onesided_ ? frame / 2 + 1 : frame};
    context.SetOutput(0, {plan->batch, plan->frames, plan->bins, 2});
    context.SetScratch((frame + plan->fourier.work_size()) * static_cast<int64_t>(sizeof(Complex)) *
                       context.num_workers());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const StftPlan& plan = context.state<StftPlan>();
    const int64_t each = plan.fourier.length + plan.fourier.work_size();
    const void* window = context.has_input(2) ? context.input(2).data : nullptr;
    context.ParallelForWorkers(plan.batch * plan.frames, std::max<int64_t>(1, kMathGrain / each),
                               [&](int worker, int64_t begin, int64_t end) {
                                 Complex* signal = context.scratch<Complex>() + worker * each;
                                 for (int64_t i = begin; i < end; ++i)
                                   loop_(plan, context.input(0).data, window,
                                         context.output(0).data, i, signal);
                               });
    return absl::OkStatus();
  }

 private:
  FrameLoop loop_;
  bool onesided_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeStft(const NodeSpec& spec) {
  FrameLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunFrame<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  bool onesided = spec.attributes().Int("onesided", 1) != 0;
  return std::make_unique<Stft>(loop, onesided);
}

constexpr KernelEntry kKernels[] = {
    {"", "DFT", "dft_reference", MakeDft},
    {"", "STFT", "stft_reference", MakeStft},
};

}  // namespace

KernelList ReferenceDft() { return kKernels; }

}  // namespace onward::kernels::cpu

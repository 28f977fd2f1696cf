// Clip: Min(max, Max(input, min)); an omitted bound does not bound.
#include "kernels/bind/clip.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using ClipLoop = void (*)(const void* in, const void* low, const void* high, void* out,
                          int64_t count);

template <typename T>
void RunClip(const void* in, const void* low, const void* high, void* out, int64_t count) {
  using C = ComputeType<T>;
  using Limits = std::numeric_limits<C>;
  C least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  C most = Limits::has_infinity ? Limits::infinity() : Limits::max();
  if (low != nullptr) least = static_cast<C>(*static_cast<const T*>(low));
  if (high != nullptr) most = static_cast<C>(*static_cast<const T*>(high));
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    C value = static_cast<C>(x[i]);
    value = value < least ? least : value;  // NaN passes
    y[i] = static_cast<T>(value > most ? most : value);
  }
}

class Clip : public Kernel {
 public:
  Clip(ClipLoop loop, int64_t element_size) : loop_(loop), element_size_(element_size) {}
  absl::Status Bind(BindContext& context) const override { return BindClip(context); }
  absl::Status Run(RunContext& context) const override {
    const std::byte* in = context.in<std::byte>(0);
    std::byte* out = context.out<std::byte>(0);
    // A single element written in place may be the bound itself: read the bounds first.
    alignas(8) std::byte bounds[2][8];
    const void* bound[2] = {};
    for (int i : {1, 2}) {
      if (!context.has_input(i)) continue;
      std::memcpy(bounds[i - 1], context.input(i).data, static_cast<size_t>(element_size_));
      bound[i - 1] = bounds[i - 1];
    }
    context.ParallelFor(context.input(0).num_elements(), kCheapGrain,
                        [&](int64_t begin, int64_t end) {
                          const int64_t offset = begin * element_size_;
                          loop_(in + offset, bound[0], bound[1], out + offset, end - begin);
                        });
    return absl::OkStatus();
  }

 private:
  ClipLoop loop_;
  int64_t element_size_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeClip(const NodeSpec& spec) {
  ClipLoop loop = nullptr;
  DispatchDType(NumericTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunClip<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Clip>(loop, BitSize(spec.input_dtype(0)) / 8);
}

constexpr KernelEntry kKernels[] = {
    {"", "Clip", "clip_reference", MakeClip},
};

}  // namespace

KernelList ReferenceClip() { return kKernels; }

}  // namespace onward::kernels::cpu

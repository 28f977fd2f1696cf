// Cast and CastLike among the types that models compute in; BitCast.
#include "kernels/bind/cast.h"
#include "kernels/cast_convert.h"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"

namespace onward::kernels::cuda {
namespace {

using CastTypes = Concat<FloatTypes, TypeList<int32_t, int64_t, int8_t, uint8_t, bool>>;

// Doubles are rounded once.
template <typename To>
__device__ To Narrowed(double value) {
#if defined(__CUDACC__)
  To element;
  if constexpr (std::is_same_v<To, Float16>) {
    element.bits = __half_as_ushort(__double2half(value));
  } else {
    element.bits = __bfloat16_as_ushort(__double2bfloat16(value));
  }
  return element;
#else
  return Convert<To>(value);
#endif
}

template <typename To, typename From>
__device__ To CastElement(From element) {
  if constexpr (std::is_same_v<From, double> && kIsNarrowFloat<To>) {
    return Narrowed<To>(element);
  } else {
    return Rounded<To>(Convert<ComputeType<To>>(Load(element)));
  }
}

// Elements of the same width in place: what a thread writes, it alone reads.
template <typename From, typename To, int kPack>
__global__ void CastLoop(const From* in, To* out, int64_t count) {
  const int64_t packs = count / kPack;
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    const Pack<From, kPack> from = LoadPack<kPack>(in + p * kPack);
    Pack<To, kPack> to;
#pragma unroll
    for (int i = 0; i < kPack; ++i) to.elements[i] = CastElement<To>(from.elements[i]);
    StorePack(to, out + p * kPack);
  }
  for (int64_t i = packs * kPack + GlobalIndex(); i < count; i += GlobalSize())
    out[i] = CastElement<To>(in[i]);
}

using LaunchLoop = absl::Status (*)(const void* in, void* out, int64_t count, cudaStream_t stream);

template <typename From, typename To>
absl::Status LaunchCast(const void* in, void* out, int64_t count, cudaStream_t stream) {
  const auto* from = static_cast<const From*>(in);
  auto* to = static_cast<To*>(out);
  // Packs among floats, as mixed precision casts whole tensors.
  constexpr int kPack = std::is_integral_v<From> || std::is_integral_v<To> ? 1 : kPackOf<From, To>;
  if (kPack > 1 && ArePackAligned({in, out}))
    return Launch(CastLoop<From, To, kPack>, Blocks((count + kPack - 1) / kPack), kThreads, 0,
                  stream, from, to, count);
  return Launch(CastLoop<From, To, 1>, Blocks(count), kThreads, 0, stream, from, to, count);
}

class Cast : public Kernel {
 public:
  Cast(LaunchLoop launch, bool same_size) : launch_(launch), same_size_(same_size) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    if (same_size_) context.AllowInPlace(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.input(0).num_elements();
    if (count == 0) return absl::OkStatus();
    return launch_(context.input(0).data, context.output(0).data, count, StreamOf(context));
  }

 private:
  LaunchLoop launch_;
  bool same_size_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeCast(const NodeSpec& spec) {
  const DType from = spec.input_dtype(0), to = spec.output_dtype(0);
  LaunchLoop launch = nullptr;
  DispatchDType(CastTypes(), from, [&](auto in) {
    DispatchDType(CastTypes(), to, [&](auto out) {
      launch = LaunchCast<typename decltype(in)::type, typename decltype(out)::type>;
    });
  });
  if (launch == nullptr) {
    return absl::UnimplementedError(
        "only among float32, float64, float16, bfloat16, int32, int64, int8, uint8 and bool");
  }
  return std::make_unique<Cast>(launch, BitSize(from) == BitSize(to));
}

class BitCast : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override { return BindSameBits(context); }
  absl::Status Run(RunContext& context) const override { return CopyInput(context); }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeBitCast(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckBitCast(spec));
  return std::make_unique<BitCast>();
}

constexpr KernelEntry kKernels[] = {
    {"", "BitCast", "bit_cast_cuda", MakeBitCast},
    {"", "Cast", "cast_cuda", MakeCast},
    {"", "CastLike", "cast_like_cuda", MakeCast},
};

}  // namespace

KernelList CastKernels() { return kKernels; }

}  // namespace onward::kernels::cuda

// Pow: base and exponent may have different types; the result has the base's.
#include "kernels/cuda/binary.cuh"

namespace onward::kernels::cuda {
namespace {

// Exponents of the base's own type, and those that exporters write beside another one.
template <typename A>
LaunchBinaryLoop FindPow(DType exponent) {
  if (exponent == kDTypeOf<A>) return LaunchBinary<functors::PowOfFew, A, A, A>;
  if (exponent == DType::kFloat32) return LaunchBinary<functors::PowOfFew, A, float, A>;
  if (exponent == DType::kInt32) return LaunchBinary<functors::PowOfFew, A, int32_t, A>;
  if (exponent == DType::kInt64) return LaunchBinary<functors::PowOfFew, A, int64_t, A>;
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePow(const NodeSpec& spec) {
  const DType base = spec.input_dtype(0), exponent = spec.input_dtype(1);
  LaunchBinaryLoop launch = nullptr;
  DispatchDType(BinaryTypes(), base,
                [&](auto tag) { launch = FindPow<typename decltype(tag)::type>(exponent); });
  if (launch == nullptr) {
    return absl::UnimplementedError(
        "only float and 32- or 64-bit integer bases, with exponents of the same type or of "
        "float32, int32 or int64");
  }
  const BinaryRules rules = {.same_size = BitSize(base) == BitSize(exponent)};
  return std::make_unique<Binary>(launch, rules);
}

constexpr KernelEntry kKernels[] = {{"", "Pow", "pow_cuda", MakePow}};

}  // namespace

KernelList PowKernels() { return kKernels; }

}  // namespace onward::kernels::cuda

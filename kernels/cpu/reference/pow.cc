// Pow: base and exponent may have different types; the result has the base's.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using BaseTypes = Concat<FloatTypes, TypeList<int32_t, int64_t>>;

// Exponents that one multiplication or square root gives; pow's results at infinities and zeros
// are kept.
template <typename A>
bool RunCommonExponent(const A* a, double exponent, A* out, int64_t n) {
  using C = ComputeType<A>;
  if (exponent == 2) {
    for (int64_t i = 0; i < n; ++i) {
      const C x = static_cast<C>(a[i]);
      out[i] = static_cast<A>(functors::Mul()(x, x));
    }
    return true;
  }
  if constexpr (std::is_floating_point_v<C>) {
    if (exponent == 0.5) {
      constexpr C kInfinity = std::numeric_limits<C>::infinity();
      for (int64_t i = 0; i < n; ++i) {
        const C x = static_cast<C>(a[i]);
        out[i] = static_cast<A>(x == -kInfinity ? kInfinity : std::sqrt(x) + C(0));
      }
      return true;
    }
    if (exponent == 3) {
      for (int64_t i = 0; i < n; ++i) {
        const C x = static_cast<C>(a[i]);
        out[i] = static_cast<A>(x * x * x);
      }
      return true;
    }
  }
  return false;
}

template <typename A, typename B>
void RunPow(const BroadcastTile<2>& tile, const void* a_data, const void* b_data, void* out_data,
            const LoopParameters&) {
  using CA = ComputeType<A>;
  using CB = ComputeType<B>;
  const A* a = static_cast<const A*>(a_data) + tile.offset[0];
  const B* b = static_cast<const B*>(b_data) + tile.offset[1];
  A* out = static_cast<A*>(out_data) + tile.out_offset;
  for (int64_t row = 0; row < tile.rows; ++row) {
    const bool common = tile.column_stride[0] == 1 && tile.column_stride[1] == 0 &&
                        RunCommonExponent(a, static_cast<double>(*b), out, tile.columns);
    for (int64_t i = 0; i < tile.columns && !common; ++i) {
      const CA x = static_cast<CA>(a[i * tile.column_stride[0]]);
      const CB y = static_cast<CB>(b[i * tile.column_stride[1]]);
      out[i] = static_cast<A>(functors::Pow()(x, y));
    }
    a += tile.row_stride[0];
    b += tile.row_stride[1];
    out += tile.columns;
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePow(const NodeSpec& spec) {
  BinaryLoop loop = nullptr;
  DispatchDType(BaseTypes(), spec.input_dtype(0), [&](auto base) {
    DispatchDType(NumericTypes(), spec.input_dtype(1), [&](auto exponent) {
      loop = RunPow<typename decltype(base)::type, typename decltype(exponent)::type>;
    });
  });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  const bool same_size = BitSize(spec.input_dtype(0)) == BitSize(spec.input_dtype(1));
  return std::make_unique<BinaryKernel>(loop, same_size, LoopParameters(), kMathGrain);
}

constexpr KernelEntry kKernels[] = {
    {"", "Pow", "pow_reference", MakePow},
};

}  // namespace

KernelList ReferencePow() { return kKernels; }

}  // namespace onward::kernels::cpu

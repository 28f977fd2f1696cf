#include "kernels/cpu/reference/resize_passes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace onward::kernels::cpu {
namespace {

// Sums in double where float would not hold the integers.
template <typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) >= 4),
                       double, float>;

// Rounds as the standard's reference casts: integers to nearest even, saturating.
template <typename To, typename A>
To Store(A value) {
  if constexpr (std::is_integral_v<To>) {
    constexpr auto kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
    value = std::nearbyint(value);
    if (!(value > static_cast<A>(kLow))) return kLow;
    if (value >= static_cast<A>(kHigh)) return kHigh;
  }
  return static_cast<To>(value);
}

template <typename A>
const A* WeightsOf(const Pass& pass) {
  if constexpr (std::is_same_v<A, double>) {
    return pass.weights;
  } else {
    return pass.float_weights;
  }
}

// Rows of `inner` elements: sums of whole rows.
template <typename From, typename To, typename A>
void SumRows(const Pass& pass, const From* from, To* to, A extrapolation, int64_t row) {
  const int64_t o = row / pass.out, x = row % pass.out;
  const int64_t* at = pass.positions + x * pass.taps;
  const A* weight = WeightsOf<A>(pass) + x * pass.taps;
  to += row * pass.inner;
  if (at[0] < 0) return static_cast<void>(std::fill_n(to, pass.inner, Store<To>(extrapolation)));
  from += o * pass.in * pass.inner;
  if (pass.taps == 2) {
    const From *low = from + at[0] * pass.inner, *high = from + at[1] * pass.inner;
    for (int64_t j = 0; j < pass.inner; ++j) {
      to[j] = Store<To>(weight[0] * static_cast<A>(low[j]) + weight[1] * static_cast<A>(high[j]));
    }
    return;
  }
  constexpr int64_t kBlock = 256;
  A sums[kBlock];
  for (int64_t begin = 0; begin < pass.inner; begin += kBlock) {
    const int64_t count = std::min(kBlock, pass.inner - begin);
    std::fill_n(sums, count, A(0));
    for (int64_t i = 0; i < pass.taps; ++i) {
      const From* source = from + at[i] * pass.inner + begin;
      for (int64_t j = 0; j < count; ++j) sums[j] += weight[i] * static_cast<A>(source[j]);
    }
    for (int64_t j = 0; j < count; ++j) to[begin + j] = Store<To>(sums[j]);
  }
}

// The last axis: each element of a row is a sum of its own.
template <typename From, typename To, typename A>
void SumWithinRow(const Pass& pass, const From* from, To* to, A extrapolation, int64_t row) {
  from += row * pass.in;
  to += row * pass.out;
  const int64_t* at = pass.positions;
  const A* weight = WeightsOf<A>(pass);
  for (int64_t x = 0; x < pass.out; ++x, at += pass.taps, weight += pass.taps) {
    A sum = 0;
    if (at[0] < 0) {
      sum = extrapolation;
    } else if (pass.taps == 2) {
      sum = weight[0] * static_cast<A>(from[at[0]]) + weight[1] * static_cast<A>(from[at[1]]);
    } else {
      for (int64_t i = 0; i < pass.taps; ++i) sum += weight[i] * static_cast<A>(from[at[i]]);
    }
    to[x] = Store<To>(sum);
  }
}

template <typename From, typename To, typename A>
void RunPass(const RunContext& context, const Pass& pass, const void* from, void* to,
             float extrapolation) {
  const bool within = pass.inner == 1;
  const int64_t work = (within ? pass.out : pass.inner) * pass.taps;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(1, work));
  context.ParallelFor(
      within ? pass.outer : pass.outer * pass.out, grain, [&](int64_t begin, int64_t end) {
        const auto* source = static_cast<const From*>(from);
        auto* target = static_cast<To*>(to);
        for (int64_t row = begin; row < end; ++row) {
          if (within) {
            SumWithinRow<From, To, A>(pass, source, target, static_cast<A>(extrapolation), row);
          } else {
            SumRows<From, To, A>(pass, source, target, static_cast<A>(extrapolation), row);
          }
        }
      });
}

template <typename T>
void Interpolate(const RunContext& context, const ResizePasses& state, float extrapolation) {
  using A = Accumulator<T>;
  if (state.num_passes == 0) return CopyElements(context.input(0), context.output(0));
  const void* in = context.input(0).data;
  void* out = context.output(0).data;
  A* buffers[2] = {context.scratch<A>(), context.scratch<A>() + state.buffer};
  if (state.num_passes == 1)
    return RunPass<T, T, A>(context, state.passes[0], in, out, extrapolation);
  RunPass<T, A, A>(context, state.passes[0], in, buffers[0], extrapolation);
  const int64_t last = state.num_passes - 1;
  for (int64_t i = 1; i < last; ++i) {
    RunPass<A, A, A>(context, state.passes[i], buffers[(i + 1) % 2], buffers[i % 2], extrapolation);
  }
  RunPass<A, T, A>(context, state.passes[last], buffers[(last + 1) % 2], out, extrapolation);
}

template <typename T>
void RunPasses(const RunContext& context, float extrapolation) {
  Interpolate<T>(context, context.state<ResizePasses>(), extrapolation);
}

}  // namespace

RunResize InterpolationOf(DType dtype, int64_t* accumulator_size) {
  RunResize run = nullptr;
  DispatchDType(NumericTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run = RunPasses<T>;
    *accumulator_size = sizeof(Accumulator<T>);
  });
  return run;
}

void StoreExtrapolation(DType dtype, float value, void* element) {
  DispatchDType(NumericTypes(), dtype, [&](auto tag) {
    const auto number = Store<typename decltype(tag)::type>(value);
    std::memcpy(element, &number, sizeof(number));
  });
}

}  // namespace onward::kernels::cpu

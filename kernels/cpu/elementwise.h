// Kernels of one and two elementwise operands around a loop over elements, which a family supplies
// per dtype or instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/binary_functors.h"
#include "kernels/bind/functor_parameters.h"
#include "kernels/broadcast.h"
#include "kernels/cpu/simd/unary.h"
#include "kernels/unary_functors.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// Elements per parallel chunk: of loops that memory bounds, and of loops that call a math function.
inline constexpr int64_t kCheapGrain = 32768;
inline constexpr int64_t kMathGrain = 4096;

// Processes one tile; the pointers are those of the whole tensors. Either operand may be the same
// memory as `out` if its shape is the output's.
using BinaryLoop = void (*)(const BroadcastTile<2>& tile, const void* a, const void* b, void* out,
                            const LoopParameters&);

class UnaryKernel : public Kernel {
 public:
  // `in_size`, `out_size`: bytes of one element.
  UnaryKernel(UnaryLoop loop, size_t in_size, size_t out_size, LoopParameters parameters,
              int64_t grain)
      : loop_(loop),
        in_size_(static_cast<int64_t>(in_size)),
        out_size_(static_cast<int64_t>(out_size)),
        grain_(grain),
        parameters_(parameters) {}
  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  UnaryLoop loop_;
  int64_t in_size_, out_size_, grain_;
  LoopParameters parameters_;
};

enum class Broadcasting : uint8_t {
  kMultidirectional,
  kToFirst,  // operand 1 broadcasts to the shape of operand 0
  kNone,     // equal shapes
};

class BinaryKernel : public Kernel {
 public:
  BinaryKernel(BinaryLoop loop, bool same_size, LoopParameters parameters, int64_t grain,
               Broadcasting broadcasting = Broadcasting::kMultidirectional)
      : loop_(loop),
        grain_(grain),
        broadcasting_(broadcasting),
        same_size_(same_size),
        parameters_(parameters) {}
  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  BinaryLoop loop_;
  int64_t grain_;
  Broadcasting broadcasting_;
  bool same_size_;  // operands' and output's elements have equal size: in place is possible
  LoopParameters parameters_;
};

// Runs `body` over all tiles of a loop, in parallel by chunks of about `grain` elements. The chunks
// depend on the shapes only.
template <int N>
void ParallelTiles(const RunContext& context, const BroadcastLoop<N>& loop, int64_t grain,
                   absl::FunctionRef<void(const BroadcastTile<N>&)> body) {
  const int64_t columns = loop.dims[0];
  int64_t rows = 1;
  for (int d = 1; d < loop.rank; ++d) rows *= loop.dims[d];
  if (rows == 0 || columns == 0) return;
  if (columns < 2 * grain) {
    context.ParallelFor(
        rows, std::max<int64_t>(1, grain / columns),
        [&](int64_t begin, int64_t end) { ForEachTile(loop, begin, end, 0, columns, body); });
    return;
  }
  const int64_t pieces = (columns + grain - 1) / grain;
  context.ParallelFor(rows * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / pieces, first = (piece - row * pieces) * grain;
      ForEachTile(loop, row, row + 1, first, std::min(grain, columns - first), body);
    }
  });
}

// Reads the parameters of functor F from the attributes.
template <typename F>
LoopParameters ReadParameters(const Attributes& attributes) {
  LoopParameters parameters;
  ReadFunctorParameters<F>(attributes, parameters.values);
  return parameters;
}

// Unimplemented: "no loop for dtype string".
absl::Status NoLoopFor(DType dtype);

template <typename F, typename T>
void RunUnaryLoop(const void* in, void* out, int64_t count, const LoopParameters& parameters) {
  using C = ComputeType<T>;
  const F f = MakeFunctor<F>(parameters.values);
  using R = ResultType<F, T, C>;
  const T* x = static_cast<const T*>(in);
  R* y = static_cast<R*>(out);
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<R>(f(static_cast<C>(x[i])));
}

// One row of a table: makes the kernel of functor F for the element types of Types.
template <typename F, typename Types, int64_t grain = kMathGrain>
absl::StatusOr<std::unique_ptr<Kernel>> MakeUnary(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = ResultType<F, T, ComputeType<T>>;
    kernel = std::make_unique<UnaryKernel>(RunUnaryLoop<F, T>, sizeof(T), sizeof(R),
                                           ReadParameters<F>(spec.attributes()), grain);
  });
  if (kernel == nullptr) return NoLoopFor(spec.input_dtype(0));
  return kernel;
}

template <typename F, typename T>
void RunBinaryLoop(const BroadcastTile<2>& tile, const void* a_data, const void* b_data,
                   void* out_data, const LoopParameters& parameters) {
  using C = ComputeType<T>;
  const F f = MakeFunctor<F>(parameters.values);
  using R = ResultType<F, T, C, C>;
  const T* a = static_cast<const T*>(a_data) + tile.offset[0];
  const T* b = static_cast<const T*>(b_data) + tile.offset[1];
  R* out = static_cast<R*>(out_data) + tile.out_offset;
  const int64_t n = tile.columns;
  for (int64_t row = 0; row < tile.rows; ++row) {
    if (tile.column_stride[0] != 0 && tile.column_stride[1] != 0) {
      for (int64_t i = 0; i < n; ++i)
        out[i] = static_cast<R>(f(static_cast<C>(a[i]), static_cast<C>(b[i])));
    } else if (tile.column_stride[0] != 0) {
      const C y = static_cast<C>(*b);
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(static_cast<C>(a[i]), y));
    } else if (tile.column_stride[1] != 0) {
      const C x = static_cast<C>(*a);
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(x, static_cast<C>(b[i])));
    } else {
      std::fill(out, out + n, static_cast<R>(f(static_cast<C>(*a), static_cast<C>(*b))));
    }
    a += tile.row_stride[0];
    b += tile.row_stride[1];
    out += n;
  }
}

template <typename F, typename Types, int64_t grain = kCheapGrain,
          Broadcasting broadcasting = Broadcasting::kMultidirectional>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    constexpr bool kSameSize = sizeof(ResultType<F, T, C, C>) == sizeof(T);
    kernel = std::make_unique<BinaryKernel>(
        RunBinaryLoop<F, T>, kSameSize, ReadParameters<F>(spec.attributes()), grain, broadcasting);
  });
  if (kernel == nullptr) return NoLoopFor(spec.input_dtype(0));
  return kernel;
}

}  // namespace onward::kernels::cpu

// Elementwise kernels of two operands with broadcasting, from the functors that the CPU kernels
// use.
#pragma once

#include <memory>

#include "kernels/binary_functors.h"
#include "kernels/bind/binary.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/functor_values.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packs.cuh"

namespace onward::kernels::cuda {

// f(a, b) for elements stored as A and B, with a result stored as R. A thread reads only what it
// writes of an operand that has the output's shape, so that `out` may be that operand.
template <typename F, typename A, typename B, typename R>
__global__ void BinaryLoop(const A* a, const B* b, R* out, int64_t count, BroadcastLoop<2> loop,
                           FunctorValues parameters) {
  const F f = MakeFunctor<F>(parameters.values);
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    int64_t at[2];
    FindOperands(loop, i, at);
    out[i] = Rounded<R>(f(Load(a[at[0]]), Load(b[at[1]])));
  }
}

// The same by packs of `loop`, which counts elements (InPacks). A scalar's element is one for the
// whole pack.
template <typename F, typename A, typename B, typename R>
__global__ void BinaryPacks(const A* a, const B* b, R* out, int64_t packs, BroadcastLoop<2> loop,
                            bool a_scalar, bool b_scalar, FunctorValues parameters) {
  constexpr int kPack = kPackOf<A, B, R>;
  const F f = MakeFunctor<F>(parameters.values);
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    int64_t at[2];
    FindOperands(loop, p, at);
    Pack<A, kPack> x;
    Pack<B, kPack> y;
    if (a_scalar) {
      for (A& element : x.elements) element = a[at[0]];
    } else {
      x = LoadPack<kPack>(a + at[0]);
    }
    if (b_scalar) {
      for (B& element : y.elements) element = b[at[1]];
    } else {
      y = LoadPack<kPack>(b + at[1]);
    }
    Pack<R, kPack> result;
    for (int i = 0; i < kPack; ++i)
      result.elements[i] = Rounded<R>(f(Load(x.elements[i]), Load(y.elements[i])));
    StorePack(result, out + p * kPack);
  }
}

using LaunchBinaryLoop = absl::Status (*)(const void* a, const void* b, void* out, int64_t count,
                                          const BroadcastLoop<2>& loop, FunctorValues parameters,
                                          cudaStream_t stream);

template <typename F, typename A, typename B, typename R>
absl::Status LaunchBinary(const void* a, const void* b, void* out, int64_t count,
                          const BroadcastLoop<2>& loop, FunctorValues parameters,
                          cudaStream_t stream) {
  constexpr int kPack = kPackOf<A, B, R>;
  BroadcastLoop<2> packs = loop;
  if (ArePackAligned({a, b, out}) && InPacks(kPack, packs)) {
    return Launch(BinaryPacks<F, A, B, R>, Blocks(count / kPack), kThreads, 0, stream,
                  static_cast<const A*>(a), static_cast<const B*>(b), static_cast<R*>(out),
                  count / kPack, packs, loop.strides[0][0] == 0, loop.strides[1][0] == 0,
                  parameters);
  }
  return Launch(BinaryLoop<F, A, B, R>, Blocks(count), kThreads, 0, stream,
                static_cast<const A*>(a), static_cast<const B*>(b), static_cast<R*>(out), count,
                loop, parameters);
}

class Binary : public Kernel {
 public:
  Binary(LaunchBinaryLoop launch, BinaryRules rules, FunctorValues parameters = {})
      : launch_(launch), rules_(rules), parameters_(parameters) {}
  absl::Status Bind(BindContext& context) const override { return BindBinary(context, rules_); }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.output(0).num_elements();
    if (count == 0) return absl::OkStatus();
    return launch_(context.input(0).data, context.input(1).data, context.output(0).data, count,
                   context.state<BroadcastLoop<2>>(), parameters_, StreamOf(context));
  }

 private:
  LaunchBinaryLoop launch_;
  BinaryRules rules_;
  FunctorValues parameters_;
};

using BinaryTypes = Concat<FloatTypes, TypeList<int32_t, int64_t>>;

// One row of a table: the kernel of functor F for the element types of Types.
template <typename F, typename Types = BinaryTypes, bool kToFirst = false, bool kEqual = false>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = ResultType<F, T, ComputeType<T>, ComputeType<T>>;
    const BinaryRules rules = {sizeof(T) == sizeof(R), kToFirst, kEqual};
    kernel = std::make_unique<Binary>(LaunchBinary<F, T, T, R>, rules,
                                      ReadFunctorValues<F>(spec.attributes()));
  });
  if (kernel == nullptr) return NoLoopFor(spec.input_dtype(0));
  return kernel;
}

}  // namespace onward::kernels::cuda

// Sum, Mean, Max and Min of any number of operands: a chain of two-operand loops into the output.
#include "kernels/bind/variadic.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

namespace f = functors;

class Variadic : public Kernel {
 public:
  // `divide`, if any, divides the result by the number of operands.
  Variadic(BinaryLoop loop, UnaryLoop divide, int num_inputs, int64_t element_size)
      : loop_(loop), divide_(divide), num_inputs_(num_inputs), element_size_(element_size) {}

  absl::Status Bind(BindContext& context) const override {
    return BindVariadic(context, num_inputs_);
  }

  absl::Status Run(RunContext& context) const override {
    const auto* loops = context.state<const BroadcastLoop<2>*>();
    void* out = context.output(0).data;
    if (num_inputs_ == 1) {
      if (context.input(0).data != out) CopyElements(context.input(0), context.output(0));
      return absl::OkStatus();
    }
    for (int i = 1; i < num_inputs_; ++i) {
      const void* a = i == 1 ? context.input(0).data : out;
      const void* b = context.input(i).data;
      ParallelTiles<2>(context, loops[i], kCheapGrain, [&](const BroadcastTile<2>& tile) {
        loop_(tile, a, b, out, LoopParameters());
      });
    }
    if (divide_ != nullptr) {
      std::byte* data = static_cast<std::byte*>(out);
      const LoopParameters parameters{{static_cast<float>(num_inputs_), 0}};
      context.ParallelFor(context.output(0).num_elements(), kCheapGrain,
                          [&](int64_t begin, int64_t end) {
                            std::byte* from = data + begin * element_size_;
                            divide_(from, from, end - begin, parameters);
                          });
    }
    return absl::OkStatus();
  }

 private:
  BinaryLoop loop_;
  UnaryLoop divide_;
  int num_inputs_;
  int64_t element_size_;
};

template <typename F, typename Types, bool mean = false>
absl::StatusOr<std::unique_ptr<Kernel>> MakeVariadic(const NodeSpec& spec) {
  BinaryLoop loop = nullptr;
  UnaryLoop divide = nullptr;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop = RunBinaryLoop<F, T>;
    if constexpr (mean) divide = RunUnaryLoop<DivideBy, T>;
  });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Variadic>(loop, divide, spec.num_inputs(),
                                    BitSize(spec.input_dtype(0)) / 8);
}

constexpr KernelEntry kKernels[] = {
    {"", "Max", "max_reference", MakeVariadic<f::Max, NumericTypes>},
    {"", "Mean", "mean_reference", MakeVariadic<f::Add, FloatTypes, true>},
    {"", "Min", "min_reference", MakeVariadic<f::Min, NumericTypes>},
    {"", "Sum", "sum_reference", MakeVariadic<f::Add, FloatTypes>},
};

}  // namespace

KernelList ReferenceVariadic() { return kKernels; }

}  // namespace onward::kernels::cpu

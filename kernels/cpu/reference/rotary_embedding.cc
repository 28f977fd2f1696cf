// RotaryEmbedding: rotates pairs of elements of every head by the angle of its position.
#include "kernels/bind/rotary_embedding.h"

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

template <typename T>
class RotaryEmbedding : public Kernel {
 public:
  explicit RotaryEmbedding(RotaryAttributes attributes) : a_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    return BindRotaryEmbedding(context, a_);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& g = context.state<RotaryGeometry>();
    const int64_t* ids = context.has_input(3) ? context.in<int64_t>(3) : nullptr;
    for (int64_t i = 0; ids != nullptr && i < g.batch * g.steps; ++i) {
      if (ids[i] < 0 || ids[i] >= g.positions) {
        return absl::InvalidArgumentError(
            absl::StrCat("position_ids[", i, "] is ", ids[i], ", the caches have ", g.positions));
      }
    }
    const int64_t rows = g.batch * g.steps;
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / (g.heads * g.head_size + 1));
    context.ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t position = ids == nullptr ? row : ids[row];
        const T* cos = context.in<T>(1) + position * (g.rotary_dim / 2);
        const T* sin = context.in<T>(2) + position * (g.rotary_dim / 2);
        const int64_t offset = row / g.steps * g.x_batch + row % g.steps * g.x_step;
        for (int64_t head = 0; head < g.heads; ++head) {
          Rotate(g, context.in<T>(0) + offset + head * g.x_head, cos, sin,
                 context.out<T>(0) + offset + head * g.x_head);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  void Rotate(const RotaryGeometry& g, const T* x, const T* cos, const T* sin, T* y) const {
    const int64_t half = g.rotary_dim / 2;
    const int64_t step = a_.interleaved ? 2 : 1, other = a_.interleaved ? 1 : half;
    for (int64_t i = 0; i < half; ++i) {
      const RotatedPair pair = Rotated(x[i * step], x[i * step + other], cos[i], sin[i]);
      y[i * step] = static_cast<T>(pair.first);
      y[i * step + other] = static_cast<T>(pair.second);
    }
    std::copy(x + g.rotary_dim, x + g.head_size, y + g.rotary_dim);
  }

  RotaryAttributes a_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeRotaryEmbedding(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const RotaryAttributes attributes, RotaryAttributes::Parse(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(TypeList<float, Float16, BFloat16>(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<RotaryEmbedding<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr)
    return absl::UnimplementedError("RotaryEmbedding takes float32, float16 and bfloat16");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "RotaryEmbedding", "rotary_embedding_reference", MakeRotaryEmbedding},
};

}  // namespace

KernelList ReferenceRotaryEmbedding() { return kKernels; }

}  // namespace onward::kernels::cpu

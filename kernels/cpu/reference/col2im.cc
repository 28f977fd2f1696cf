// Col2Im.
#include "kernels/bind/col2im.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/binary.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

constexpr int64_t kGrain = 32768;  // elements

// Adds every column's elements to the places of the image that they were taken from.
template <typename T>
class Col2Im : public Kernel {
 public:
  explicit Col2Im(Col2ImAttributes attributes) : attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    return BindCol2Im(context, attributes_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<Col2ImPlan>();
    const int64_t work = std::max<int64_t>(1, state.block * state.columns);
    context.ParallelFor(
        state.planes, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
          for (int64_t plane = begin; plane < end; ++plane) {
            T* out = context.out<T>(0) + plane * state.image;
            std::fill_n(out, state.image, T());
            for (int64_t k = 0; k < state.block; ++k)
              AddElement(state, RangesOf(state, k), 0,
                         context.in<T>(0) + (plane * state.block + k) * state.columns, out);
          }
        });
    return absl::OkStatus();
  }

 private:
  // The columns of an axis at which an element of the block lies in the image, and where.
  struct Range {
    int64_t first = 0, count = 0, at = 0, step = 1;
  };
  using Ranges = absl::InlinedVector<Range, 4>;
  // Those of element k.
  static Ranges RangesOf(const Col2ImPlan& state, int64_t k) {
    Ranges ranges(static_cast<size_t>(state.axes));
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Col2ImAxis& axis = state.of_axis[i];
      const int64_t step = axis.stride;
      const int64_t start = k / axis.block_inner % axis.block * axis.dilation - axis.pad;
      const int64_t first = start < 0 ? std::min(axis.columns, (step - 1 - start) / step) : 0;
      const int64_t room = axis.image - start;
      const int64_t end = room <= 0 ? 0 : std::min(axis.columns, (room - 1) / step + 1);
      ranges[i] = {first, std::max<int64_t>(0, end - first), start + first * step, step};
    }
    return ranges;
  }
  // Adds one element of the block at all its positions, `in`, from axis i on.
  static void AddElement(const Col2ImPlan& state, const Ranges& ranges, size_t i, const T* in,
                         T* out) {
    const Col2ImAxis& axis = state.of_axis[i];
    const Range& range = ranges[i];
    if (range.count == 0) return;
    in += range.first * axis.columns_inner;
    out += range.at * axis.image_inner;
    if (i + 1 == ranges.size()) return AddRow(in, range.count, range.step, out);
    for (int64_t j = 0; j < range.count; ++j) {
      AddElement(state, ranges, i + 1, in + j * axis.columns_inner,
                 out + j * range.step * axis.image_inner);
    }
  }
  static void AddRow(const T* in, int64_t count, int64_t step, T* out) {
    if constexpr (std::is_same_v<T, float>) {
      if (step == 1) {
        static const FloatBinaryLoop add = kBinaryPerTarget.For(VectorTarget())(FloatBinary::kAdd);
        return add(out, 1, in, 1, out, count);
      }
    }
    if (step == 1) {
      for (int64_t j = 0; j < count; ++j) out[j] = static_cast<T>(out[j] + in[j]);
    } else {
      for (int64_t j = 0; j < count; ++j) out[j * step] = static_cast<T>(out[j * step] + in[j]);
    }
  }
  Col2ImAttributes attributes_;
};

Made MakeCol2Im(const NodeSpec& spec) {
  std::unique_ptr<Kernel> made;
  DispatchDType(Concat<NumericTypes, ComplexTypes>(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<Col2Im<typename decltype(tag)::type>>(Col2ImAttributes::Read(spec));
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

constexpr KernelEntry kKernels[] = {
    {"", "Col2Im", "col2im_reference", MakeCol2Im},
};

}  // namespace

KernelList ReferenceCol2Im() { return kKernels; }

}  // namespace onward::kernels::cpu

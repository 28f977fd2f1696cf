// DeformConv (two spatial axes): each tap reads the image at a learned fractional offset,
// bilinearly and zero outside, times a mask.
#include "kernels/bind/deform_conv.h"

#include <utility>

#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

template <typename T>
class DeformConv : public Kernel {
  using Acc = Accumulator<T>;

 public:
  explicit DeformConv(DeformConvAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    return BindDeformConv(context, attributes_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<DeformConvPlan>();
    const T* w = context.in<T>(1);
    const T* bias = context.has_input(3) ? context.in<T>(3) : nullptr;
    T* y = context.out<T>(0);
    const int64_t filters = s.filters / s.group, depth_all = s.channels / s.group * s.kernel_size;
    TiledProduct<Acc>(
        context, s.batch * s.group, filters, s.positions, depth_all,
        [&](int64_t batch, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          const T* from = w + (batch % s.group * filters + row) * depth_all + p;
          PackRows(from, depth_all, 1, rows, depth, kTileDepth, to);
        },
        [&](int64_t batch, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          PackColumns(context, s, batch, p, depth, column, columns, to);
        },
        [&](int64_t batch, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
          T* to = y + (batch * filters + row) * s.positions + column;
          const Acc offset =
              bias == nullptr ? Acc(0) : static_cast<Acc>(bias[batch % s.group * filters + row]);
          for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(sums[j] + offset);
        });
    return absl::OkStatus();
  }

 private:
  // Rows [p, p + depth) of the (channel, tap) matrix of a group for the output positions [column,
  // column + columns).
  static void PackColumns(const RunContext& context, const DeformConvPlan& s, int64_t batch,
                          int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
    const WindowAxis &rows = s.axes[0], &cols = s.axes[1];
    const int64_t image = batch / s.group, first = batch % s.group * (s.channels / s.group);
    for (int64_t q = p; q < p + depth; ++q, to += kTileColumns) {
      const int64_t channel = first + q / s.kernel_size, tap = q % s.kernel_size;
      const int64_t offsets = image * s.offset_group + channel / (s.channels / s.offset_group);
      const int64_t row = offsets * s.kernel_size + tap;
      const T* x = context.in<T>(0) + (image * s.channels + channel) * rows.input * cols.input;
      const T* down = context.in<T>(2) + 2 * row * s.positions;
      const T* right = down + s.positions;
      const T* mask = context.has_input(4) ? context.in<T>(4) + row * s.positions : nullptr;
      const int64_t tap_row = tap / cols.kernel * rows.dilation;
      const int64_t tap_column = tap % cols.kernel * cols.dilation;
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at = column + j;
        const Acc sample = SampleImage<Acc>(
            rows.input, cols.input,
            static_cast<Acc>(rows.start(at / cols.output) + tap_row) + static_cast<Acc>(down[at]),
            static_cast<Acc>(cols.start(at % cols.output) + tap_column) +
                static_cast<Acc>(right[at]),
            [&](int64_t i, int64_t k) { return static_cast<Acc>(x[i * cols.input + k]); });
        to[j] = mask == nullptr ? sample : sample * static_cast<Acc>(mask[at]);
      }
    }
  }

  DeformConvAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDeformConv(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const DeformConvAttributes attributes, DeformConvAttributes::Parse(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<DeformConv<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr) return absl::UnimplementedError("DeformConv takes floating-point tensors");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "DeformConv", "deform_conv_reference", MakeDeformConv},
};

}  // namespace

KernelList ReferenceDeformConv() { return kKernels; }

}  // namespace onward::kernels::cpu

// DeformConv (two spatial axes): each tap reads the image at a learned fractional offset,
// bilinearly and zero outside, times a mask.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/tiled_product.h"
#include "kernels/shapes/conv.h"

namespace onward::kernels::cpu {
namespace {

struct DeformState {
  WindowAxis axes[2];
  int64_t batch, channels, filters, group, kernel_size, positions;
};

template <typename T>
class DeformConv : public Kernel {
  using Acc = Accumulator<T>;

 public:
  DeformConv(ConvAttributes attributes, int64_t offset_group)
      : attributes_(std::move(attributes)), offset_group_(offset_group) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView bias = context.has_input(3) ? context.input_dims(3) : DimsView();
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g,
                            ConvDims(attributes_, context.input_dims(0), context.input_dims(1),
                                     context.has_input(3) ? &bias : nullptr));
    if (g.axes.size() != 2) {
      return absl::UnimplementedError(
          absl::StrCat("DeformConv of ", g.axes.size(), " spatial axes, expected 2"));
    }
    if (g.channels % offset_group_ != 0) {
      return absl::InvalidArgumentError(absl::StrCat(g.channels, " channels do not divide into ",
                                                     offset_group_, " offset groups"));
    }
    const int64_t taps = g.kernel_size() * offset_group_;
    Dims expected = {g.batch, 2 * taps, g.axes[0].output, g.axes[1].output};
    ONWARD_RETURN_IF_ERROR(CheckDims("offset", context.input_dims(2), expected));
    expected[1] = taps;
    if (context.has_input(4))
      ONWARD_RETURN_IF_ERROR(CheckDims("mask", context.input_dims(4), expected));
    context.SetOutput(0, g.output);
    *context.NewState<DeformState>() = {
        {g.axes[0], g.axes[1]}, g.batch,        g.channels, g.filters, g.group,
        g.kernel_size(),        g.output_size()};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<DeformState>();
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
          const int64_t first = batch % s.group * (s.channels / s.group);
          for (int64_t q = p; q < p + depth; ++q, to += kTileColumns) {
            PackRow(context, s, batch / s.group, first + q / s.kernel_size, q % s.kernel_size,
                    column, columns, to);
          }
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
  static absl::Status CheckDims(const char* name, DimsView dims, DimsView expected) {
    if (dims == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has shape ", DimsString(dims), ", expected ", DimsString(expected)));
  }

  // What tap `tap` of channel `channel` reads for the output positions [column, column + columns).
  void PackRow(const RunContext& context, const DeformState& s, int64_t image, int64_t channel,
               int64_t tap, int64_t column, int64_t columns, Acc* to) const {
    const WindowAxis &rows = s.axes[0], &cols = s.axes[1];
    const T* x = context.in<T>(0) + (image * s.channels + channel) * rows.input * cols.input;
    const int64_t group = channel / (s.channels / offset_group_);
    const int64_t row = (image * offset_group_ + group) * s.kernel_size + tap;
    const T* down = context.in<T>(2) + 2 * row * s.positions;
    const T* right = down + s.positions;
    const T* mask = context.has_input(4) ? context.in<T>(4) + row * s.positions : nullptr;
    const int64_t tap_row = tap / cols.kernel * rows.dilation;
    const int64_t tap_column = tap % cols.kernel * cols.dilation;
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t position = column + j;
      const Acc at_row = static_cast<Acc>(rows.start(position / cols.output) + tap_row) +
                         static_cast<Acc>(down[position]);
      const Acc at_column = static_cast<Acc>(cols.start(position % cols.output) + tap_column) +
                            static_cast<Acc>(right[position]);
      to[j] = Sample(x, rows.input, cols.input, at_row, at_column);
      if (mask != nullptr) to[j] *= static_cast<Acc>(mask[position]);
    }
  }

  static Acc Sample(const T* x, int64_t height, int64_t width, Acc row, Acc column) {
    // Also rejects NaN.
    if (!(row > -1 && row < static_cast<Acc>(height) && column > -1 &&
          column < static_cast<Acc>(width))) {
      return Acc(0);
    }
    const int64_t top = static_cast<int64_t>(std::floor(row));
    const int64_t left = static_cast<int64_t>(std::floor(column));
    const Acc down = row - static_cast<Acc>(top), right = column - static_cast<Acc>(left);
    const auto at = [&](int64_t i, int64_t j) {
      const bool inside = i >= 0 && i < height && j >= 0 && j < width;
      return inside ? static_cast<Acc>(x[i * width + j]) : Acc(0);
    };
    return (1 - down) * ((1 - right) * at(top, left) + right * at(top, left + 1)) +
           down * ((1 - right) * at(top + 1, left) + right * at(top + 1, left + 1));
  }

  ConvAttributes attributes_;
  int64_t offset_group_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDeformConv(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const ConvAttributes attributes, ConvAttributes::Parse(spec));
  const int64_t offset_group = spec.attributes().Int("offset_group", 1);
  if (offset_group < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("offset_group is ", offset_group, ", must be at least 1"));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<DeformConv<typename decltype(tag)::type>>(attributes, offset_group);
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

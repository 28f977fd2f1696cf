// DeformConv (two spatial axes): each tap reads the image at a learned fractional offset,
// bilinearly and zero outside, times a mask.
#include "kernels/bind/deform_conv.h"

#include <cmath>
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
  // column + columns). The channels that share offsets read the same places.
  static void PackColumns(const RunContext& context, const DeformConvPlan& s, int64_t batch,
                          int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
    const int64_t image = batch / s.group, size = s.axes[0].input * s.axes[1].input,
                  first = batch % s.group * (s.channels / s.group);
    Places places;
    for (int64_t tap = p; tap < p + std::min(depth, s.kernel_size); ++tap) {
      int64_t found = -1;  // the group of offsets that `places` are of
      for (int64_t q = tap; q < p + depth; q += s.kernel_size) {
        const int64_t channel = first + q / s.kernel_size,
                      offsets = channel / (s.channels / s.offset_group);
        if (offsets != std::exchange(found, offsets)) {
          FindPlaces(context, s, (image * s.offset_group + offsets) * s.kernel_size,
                     q % s.kernel_size, column, columns, places);
        }
        const T* x = context.in<T>(0) + (image * s.channels + channel) * size;
        for (int64_t j = 0; j < columns; ++j)
          to[(q - p) * kTileColumns + j] = SampleAt(x, places[j]);
      }
    }
  }

  // Between which elements of an image one tap reads for one output; those outside are -1.
  struct Place {
    int64_t corners[4];
    Acc down, right, mask;
  };
  using Places = Place[kTileColumns];

  static void FindPlaces(const RunContext& context, const DeformConvPlan& s, int64_t first_row,
                         int64_t tap, int64_t column, int64_t columns, Places& places) {
    const WindowAxis &rows = s.axes[0], &cols = s.axes[1];
    const int64_t row = first_row + tap;
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
      places[j] = PlaceOf(rows.input, cols.input, at_row, at_column);
      places[j].mask = mask == nullptr ? Acc(1) : static_cast<Acc>(mask[position]);
    }
  }

  static Place PlaceOf(int64_t height, int64_t width, Acc row, Acc column) {
    Place place = {{-1, -1, -1, -1}, 0, 0, 1};
    // Also rejects NaN.
    if (!(row > -1 && row < static_cast<Acc>(height) && column > -1 &&
          column < static_cast<Acc>(width)))
      return place;
    const auto top = static_cast<int64_t>(std::floor(row)),
               left = static_cast<int64_t>(std::floor(column));
    place.down = row - static_cast<Acc>(top), place.right = column - static_cast<Acc>(left);
    for (int64_t corner = 0; corner < 4; ++corner) {
      const int64_t r = top + corner / 2, c = left + corner % 2;
      if (r >= 0 && r < height && c >= 0 && c < width) place.corners[corner] = r * width + c;
    }
    return place;
  }

  static Acc SampleAt(const T* image, const Place& place) {
    Acc values[4];
    for (int corner = 0; corner < 4; ++corner) {
      const int64_t at = place.corners[corner];
      values[corner] = at < 0 ? Acc(0) : static_cast<Acc>(image[at]);
    }
    const Acc left = 1 - place.right;
    return ((1 - place.down) * (left * values[0] + place.right * values[1]) +
            place.down * (left * values[2] + place.right * values[3])) *
           place.mask;
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

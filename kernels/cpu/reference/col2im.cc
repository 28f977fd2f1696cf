// Col2Im and MaxRoiPool.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/binary.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

constexpr int64_t kGrain = 32768;  // elements

// Sizes along an axis, and products of those of the axes after it.
struct Col2ImAxis {
  int64_t image = 0, block = 0, columns = 0;  // columns: positions of the block
  int64_t image_inner = 1, block_inner = 1, columns_inner = 1;
};
struct Col2ImState {
  int64_t axes = 0, columns = 0, block = 0, image = 0, planes = 0;
  const Col2ImAxis* of_axis = nullptr;
};

// Adds every column's elements to the places of the image that they were taken from.
template <typename T>
class Col2Im : public Kernel {
 public:
  explicit Col2Im(const Attributes& attributes)
      : dilations_(attributes.Ints("dilations")),
        pads_(attributes.Ints("pads")),
        strides_(attributes.Ints("strides")) {}

  absl::Status Bind(BindContext& context) const override {
    const TensorView *image = context.input_value(1), *block = context.input_value(2);
    if (image == nullptr || block == nullptr) return context.Defer();
    const DimsView in = context.input_dims(0);
    const auto axes = static_cast<size_t>(image->num_elements());
    auto* state = context.NewState<Col2ImState>();
    const auto has = [&](const std::vector<int64_t>& list, size_t size) {
      return list.empty() || list.size() == size;
    };
    if (in.size() != 3 || block->num_elements() != static_cast<int64_t>(axes) || axes == 0 ||
        !has(dilations_, axes) || !has(pads_, 2 * axes) || !has(strides_, axes)) {
      return absl::InvalidArgumentError("shapes and attributes disagree on the number of axes");
    }
    auto* of_axis = context.NewArray<Col2ImAxis>(static_cast<int64_t>(axes));
    Dims out = {in[0], 1};
    for (const int64_t size : image->span<int64_t>()) out.push_back(size);
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
    state->axes = static_cast<int64_t>(axes);
    state->columns = state->block = 1;
    for (size_t i = 0; i < axes; ++i) {
      const int64_t size = image->as<int64_t>()[i], kernel = block->as<int64_t>()[i];
      const std::optional<int64_t> positions = Positions(i, axes, size, kernel);
      const auto all = positions ? CheckedMul(state->columns, *positions) : std::nullopt;
      const auto elements = positions ? CheckedMul(state->block, kernel) : std::nullopt;
      if (!all || !elements)
        return absl::InvalidArgumentError(absl::StrCat("the block does not fit axis ", i));
      of_axis[i] = {size, kernel, *positions};
      state->columns = *all;
      state->block = *elements;
    }
    if (in[1] % state->block != 0 || in[2] != state->columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input of shape ", DimsString(in), " is not of blocks of ", state->block,
                       " elements at ", state->columns, " positions"));
    }
    out[1] = in[1] / state->block;
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
    state->planes = out[0] * out[1];
    state->image = NumElements(out, 2, static_cast<int64_t>(out.size()));
    for (size_t i = axes - 1; i-- > 0;) {
      const Col2ImAxis& inner = of_axis[i + 1];
      of_axis[i].image_inner = inner.image * inner.image_inner;
      of_axis[i].block_inner = inner.block * inner.block_inner;
      of_axis[i].columns_inner = inner.columns * inner.columns_inner;
    }
    state->of_axis = of_axis;
    context.SetOutput(0, out);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<Col2ImState>();
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
  static int64_t Of(const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
    return list.empty() ? otherwise : list[i];
  }
  // Positions of the block along an axis; nothing where it does not fit.
  std::optional<int64_t> Positions(size_t axis, size_t axes, int64_t size, int64_t kernel) const {
    constexpr int64_t kLargest = int64_t{1} << 60;  // of each, so that sums do not overflow
    const int64_t dilation = Of(dilations_, axis, 1), stride = Of(strides_, axis, 1);
    const int64_t begin = Of(pads_, axis, 0), end = Of(pads_, axis + axes, 0);
    for (const int64_t number : {size, begin, end}) {
      if (number < -kLargest || number > kLargest) return std::nullopt;
    }
    if (size < 0 || kernel < 1 || stride < 1 || dilation < 1) return std::nullopt;
    const std::optional<int64_t> reach = CheckedMul(dilation, kernel - 1);
    if (!reach) return std::nullopt;
    const int64_t room = size + begin + end - *reach - 1;
    return room < 0 ? std::nullopt : std::optional(room / stride + 1);
  }
  // The columns of an axis at which an element of the block lies in the image, and where.
  struct Range {
    int64_t first = 0, count = 0, at = 0, step = 1;
  };
  using Ranges = absl::InlinedVector<Range, 4>;
  // Those of element k.
  Ranges RangesOf(const Col2ImState& state, int64_t k) const {
    Ranges ranges(static_cast<size_t>(state.axes));
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Col2ImAxis& axis = state.of_axis[i];
      const int64_t step = Of(strides_, i, 1);
      const int64_t start =
          k / axis.block_inner % axis.block * Of(dilations_, i, 1) - Of(pads_, i, 0);
      const int64_t first = start < 0 ? std::min(axis.columns, (step - 1 - start) / step) : 0;
      const int64_t room = axis.image - start;
      const int64_t end = room <= 0 ? 0 : std::min(axis.columns, (room - 1) / step + 1);
      ranges[i] = {first, std::max<int64_t>(0, end - first), start + first * step, step};
    }
    return ranges;
  }
  // Adds one element of the block at all its positions, `in`, from axis i on.
  static void AddElement(const Col2ImState& state, const Ranges& ranges, size_t i, const T* in,
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
  std::vector<int64_t> dilations_, pads_, strides_;
};

// The greatest element of each bin of a region; regions are [image, x1, y1, x2, y2].
template <typename T>
class MaxRoiPool : public Kernel {
 public:
  MaxRoiPool(int64_t height, int64_t width, float scale)
      : height_(height), width_(width), scale_(scale) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView map = context.input_dims(0), rois = context.input_dims(1);
    if (map.size() != 4 || rois.size() != 2 || rois[1] != 5) {
      return absl::InvalidArgumentError(
          absl::StrCat("X of shape ", DimsString(map), " and rois of shape ", DimsString(rois)));
    }
    context.SetOutput(0, {rois[0], map[1], height_, width_});
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& map = context.input(0);
    const int64_t channels = map.dim(1), height = map.dim(2), width = map.dim(3);
    for (int64_t r = 0; r < context.input(1).dim(0); ++r) {
      const T* roi = context.in<T>(1) + 5 * r;
      const auto image = static_cast<double>(roi[0]);
      if (!(image >= 0 && image < static_cast<double>(map.dim(0)))) {
        return absl::InvalidArgumentError(
            absl::StrCat("roi ", r, " names image ", image, " of a batch of ", map.dim(0)));
      }
      const T* in = context.in<T>(0) + static_cast<int64_t>(image) * channels * height * width;
      T* out = context.out<T>(0) + r * channels * height_ * width_;
      context.ParallelFor(channels, 16, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c)
          PoolRegion(roi, in + c * height * width, height, width, out + c * height_ * width_);
      });
    }
    return absl::OkStatus();
  }

 private:
  // Bin `i` of `count` between two corners of the region, cut to the map.
  std::pair<int64_t, int64_t> Bin(T from, T to, int64_t i, int64_t count, int64_t size) const {
    const auto edge = [&](T at) {
      return std::clamp(std::round(static_cast<float>(at) * scale_), -1e9f, 1e9f);
    };
    const float start = edge(from), extent = std::max(edge(to) - start + 1, 1.0f);
    const float bin = extent / static_cast<float>(count);
    const float begin = std::floor(static_cast<float>(i) * bin) + start;
    const float end = std::ceil(static_cast<float>(i + 1) * bin) + start;
    return {std::clamp<int64_t>(static_cast<int64_t>(begin), 0, size),
            std::clamp<int64_t>(static_cast<int64_t>(end), 0, size)};
  }
  void PoolRegion(const T* roi, const T* in, int64_t height, int64_t width, T* out) const {
    for (int64_t y = 0; y < height_; ++y) {
      const auto [top, bottom] = Bin(roi[2], roi[4], y, height_, height);
      for (int64_t x = 0; x < width_; ++x) {
        const auto [left, right] = Bin(roi[1], roi[3], x, width_, width);
        T best = T(0);
        for (int64_t i = top; i < bottom; ++i) {
          for (int64_t j = left; j < right; ++j) {
            const T value = in[i * width + j];
            if ((i == top && j == left) || value > best) best = value;
          }
        }
        *out++ = best;
      }
    }
  }
  int64_t height_, width_;
  float scale_;
};

Made MakeCol2Im(const NodeSpec& spec) {
  std::unique_ptr<Kernel> made;
  DispatchDType(Concat<NumericTypes, ComplexTypes>(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<Col2Im<typename decltype(tag)::type>>(spec.attributes());
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

Made MakeMaxRoiPool(const NodeSpec& spec) {
  const std::vector<int64_t> shape = spec.attributes().Ints("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("pooled_shape is ", DimsString(shape), ", must be two numbers of at least 1"));
  std::unique_ptr<Kernel> made;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<MaxRoiPool<typename decltype(tag)::type>>(
        shape[0], shape[1], spec.attributes().Float("spatial_scale", 1));
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

constexpr KernelEntry kKernels[] = {
    {"", "Col2Im", "col2im_reference", MakeCol2Im},
    {"", "MaxRoiPool", "max_roi_pool_reference", MakeMaxRoiPool},
};

}  // namespace

KernelList ReferenceCol2Im() { return kKernels; }

}  // namespace onward::kernels::cpu

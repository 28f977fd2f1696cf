// ConvTranspose over one to three spatial axes in float32: per image, the product of the transposed
// weights with X gives what every input position adds to every tap; the taps are then summed into
// the output. Large volumes go slice by slice.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/conv.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxProducts = 4 << 20;  // of a volume at once

struct ConvTransposeState {
  GemmPlan plan;  // one batch per group
  WindowAxis depth, rows, columns;
  int64_t batch, channels, filters, group, taps;
  int64_t slices;          // of X whose products are made at once
  bool tiles_output;       // each element of Y is one product
  int64_t x_size, y_size;  // of one channel

  int64_t slice_size() const { return rows.output * columns.output; }
  int64_t positions() const { return slices * slice_size(); }
};

class ConvTranspose : public Kernel {
 public:
  ConvTranspose(ConvTransposeAttributes attributes, const GemmTileKernels& tiles, Tensor weights)
      : attributes_(std::move(attributes)), tiles_(tiles), weights_(std::move(weights)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvTransposeDims(attributes_, context));
    if (g.axes.size() > 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("X ", DimsString(context.input_dims(0)), " has more axes than declared"));
    }
    context.SetOutput(0, g.output);
    auto* s = context.NewState<ConvTransposeState>();
    const size_t axes = g.axes.size();
    s->depth = axes == 3 ? g.axes[0] : WindowAxis{1, 1};
    s->rows = axes >= 2 ? g.axes[axes - 2] : WindowAxis{1, 1};
    s->columns = g.axes.back();
    s->batch = g.batch, s->channels = g.channels, s->filters = g.filters, s->group = g.group;
    s->taps = g.kernel_size();
    s->x_size = g.output_size();
    s->y_size = g.input_size();
    const bool at_once = s->depth.output <= 1 ||
                         g.filters * s->taps <= kMaxProducts / std::max<int64_t>(1, s->x_size);
    s->slices = at_once ? s->depth.output : 1;
    s->tiles_output = std::all_of(g.axes.begin(), g.axes.end(), [](const WindowAxis& axis) {
      return axis.stride == axis.kernel && axis.dilation == 1 && axis.pad_begin == 0 &&
             axis.input == axis.output * axis.kernel;
    });
    s->plan = PlanGemm(tiles_, ColumnsLayout::kRows, g.filters / g.group * s->taps, s->positions(),
                       g.channels / g.group, g.group, false);
    const Dims products = {g.filters, s->taps, s->positions()};
    ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(DType::kFloat32, products));
    context.SetScratch(bytes + context.num_workers() * s->plan.scratch *
                                   static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<ConvTransposeState>();
    const int64_t grain = std::max<int64_t>(1, 16 * 1024 / (s.taps * s.positions() + s.y_size + 1));
    for (int64_t image = 0; image < s.batch; ++image) {
      for (int64_t slice = 0; slice == 0 || slice < s.depth.output; slice += s.slices) {
        Multiply(context, s, image, slice);
        context.ParallelFor(s.filters, grain, [&](int64_t begin, int64_t end) {
          for (int64_t filter = begin; filter < end; ++filter)
            SumTaps(context, s, image, slice, filter);
        });
        if (s.slices == 0) break;
      }
    }
    return absl::OkStatus();
  }

 private:
  // products[filter][tap][position of X], of slices from `slice` on.
  void Multiply(const RunContext& context, const ConvTransposeState& s, int64_t image,
                int64_t slice) const {
    const int64_t channels = s.channels / s.group, rows = s.filters / s.group * s.taps;
    float* products = context.scratch<float>();
    float* scratch = products + s.filters * s.taps * s.positions();
    context.ParallelForWorkers(
        s.plan.chunks(), s.plan.grain, [&](int worker, int64_t begin, int64_t end) {
          for (int64_t chunk = begin; chunk < end; ++chunk) {
            const int64_t group = chunk / s.plan.chunks_per_batch();
            GemmArguments args;
            args.a = (weights_.empty() ? context.in<float>(1) : weights_.data<float>()) +
                     group * channels * rows;
            args.a_row = weights_.empty() ? 1 : channels;
            args.a_k = weights_.empty() ? rows : 1;
            args.b = context.in<float>(0) + (image * s.channels + group * channels) * s.x_size +
                     slice * s.slice_size();
            args.b_stride = s.x_size;
            args.c = products + group * rows * s.positions();
            args.c_row = s.positions();
            RunGemmChunk(tiles_, s.plan, args, chunk % s.plan.chunks_per_batch(),
                         scratch + worker * s.plan.scratch);
          }
        });
  }

  static void SumTaps(const RunContext& context, const ConvTransposeState& s, int64_t image,
                      int64_t slice, int64_t filter) {
    const float* products = context.scratch<float>() + filter * s.taps * s.positions();
    float* y = context.out<float>(0) + (image * s.filters + filter) * s.y_size;
    const float bias = context.has_input(2) ? context.in<float>(2)[filter] : 0.0f;
    if (slice == 0 && !s.tiles_output) std::fill_n(y, s.y_size, bias);
    const int64_t y_slice = s.rows.input * s.columns.input,
                  slice_taps = s.rows.kernel * s.columns.kernel;
    for (int64_t k = 0; k < s.depth.kernel; ++k) {
      int64_t begin, end;
      OutputsOfTap(s.depth, k, &begin, &end);
      for (int64_t z = std::max(begin, slice); z < std::min(end, slice + s.slices); ++z) {
        const float* from =
            products + k * slice_taps * s.positions() + (z - slice) * s.slice_size();
        float* to = y + (s.depth.start(z) + k * s.depth.dilation) * y_slice;
        s.tiles_output ? JoinTapsOfSlice(s, from, bias, to) : SumTapsOfSlice(s, from, to);
      }
    }
  }

  // Where taps do not meet: each row of Y takes its columns from those of one row of taps in turn.
  static void JoinTapsOfSlice(const ConvTransposeState& s, const float* products, float bias,
                              float* y) {
    const int64_t taps = s.columns.kernel, width = s.columns.output;
    for (int64_t row = 0; row < s.rows.output * s.rows.kernel; ++row, y += width * taps) {
      const float* from =
          products + row % s.rows.kernel * taps * s.positions() + row / s.rows.kernel * width;
      if (taps == 2) {
        const float* odd = from + s.positions();
        for (int64_t j = 0; j < width; ++j) {
          y[2 * j] = from[j] + bias;
          y[2 * j + 1] = odd[j] + bias;
        }
        continue;
      }
      for (int64_t l = 0; l < taps; ++l) {
        for (int64_t j = 0; j < width; ++j) y[j * taps + l] = from[l * s.positions() + j] + bias;
      }
    }
  }

  static void SumTapsOfSlice(const ConvTransposeState& s, const float* products, float* y) {
    for (int64_t k = 0; k < s.rows.kernel; ++k) {
      int64_t row_begin, row_end;
      OutputsOfTap(s.rows, k, &row_begin, &row_end);
      for (int64_t l = 0; l < s.columns.kernel; ++l, products += s.positions()) {
        int64_t begin, end;
        OutputsOfTap(s.columns, l, &begin, &end);
        for (int64_t i = row_begin; i < row_end; ++i) {
          const float* from = products + i * s.columns.output;
          float* to = y + (s.rows.start(i) + k * s.rows.dilation) * s.columns.input +
                      s.columns.start(0) + l * s.columns.dilation;
          AddRow(from, begin, end, s.columns.stride, to);
        }
      }
    }
  }

  static void AddRow(const float* from, int64_t begin, int64_t end, int64_t stride, float* to) {
    if (stride == 1) {
      for (int64_t j = begin; j < end; ++j) to[j] += from[j];
    } else {
      for (int64_t j = begin; j < end; ++j) to[j * stride] += from[j];
    }
  }

  ConvTransposeAttributes attributes_;
  const GemmTileKernels& tiles_;
  Tensor weights_;  // of each group transposed, [group][filter][tap][channel], when constant
};

// W is [channels, filters / group, kernel...].
absl::StatusOr<Tensor> TransposeWeights(const Tensor& w, int64_t group) {
  const int64_t channels = w.dims()[0] / group, rows = NumElements(w.dims().subspan(1));
  ONWARD_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kFloat32, {group, rows, channels}));
  for (int64_t g = 0; g < group; ++g) {
    const float* from = w.data<float>() + g * channels * rows;
    float* to = result.mutable_data<float>() + g * channels * rows;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t r = 0; r < rows; ++r) to[r * channels + c] = from[c * rows + r];
    }
  }
  return result;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithTiles(const NodeSpec& spec,
                                                      const GemmTileKernels& tiles) {
  const auto& shape = spec.input_type(0).shape;
  if (!shape.has_value() || shape->size() > 5)
    return absl::UnimplementedError("one to three spatial axes, known when the kernel is made");
  ONWARD_ASSIGN_OR_RETURN(ConvTransposeAttributes attributes, ConvTransposeAttributes::Parse(spec));
  if (spec.only_asks()) return nullptr;
  Tensor weights;
  const Tensor* w = spec.constant(1);
  if (w != nullptr && w->rank() >= 3 && w->num_elements() > 0 &&
      w->dims()[0] % attributes.conv.group == 0) {
    ONWARD_ASSIGN_OR_RETURN(weights, TransposeWeights(*w, attributes.conv.group));
    spec.ReleaseConstant(1);
  }
  return std::make_unique<ConvTranspose>(std::move(attributes), tiles, std::move(weights));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvTranspose(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return MakeWithTiles(spec, kGemmTilesPerTarget.For(TargetOf(spec))());
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvTranspose", "conv_transpose", MakeConvTranspose, kVectorTargets},
};

}  // namespace

KernelList ConvTransposeKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

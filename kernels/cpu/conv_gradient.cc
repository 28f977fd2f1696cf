// The gradient of convolutions over one or two spatial axes by their weights, in float32: what the
// windows read becomes a matrix [channel and tap][position], piece by piece, and each piece of dY
// times its transpose is added up. Tiles of pairs round both to bfloat16. X may be kept in 16 bits.
#include "kernels/bind/conv_gradient.h"

#include <algorithm>

#include "graph/base/checked.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/small_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kPieceFloats = 384 * 1024;  // of the matrix: it stays in the second-level cache
constexpr int64_t kLeastPositions = 256, kMostPositions = 4096;
constexpr int64_t kFillGrain = 16 * 1024;  // floats that one thread copies at a time

// A piece is rows of the output of one image, or several whole images.
struct ConvGradientState {
  WindowAxis rows, columns;
  int64_t batch, channels, filters, group, taps;
  int64_t x_size, y_size;  // of one channel
  int64_t piece_rows;      // output rows; a multiple of rows.output for several images
  int64_t pieces;
  bool gathered;  // dY of a piece is copied: it is not one matrix in memory
  GemmPlan plan, last_plan;

  int64_t all_rows() const { return batch * rows.output; }
  int64_t piece_size() const { return piece_rows * columns.output; }
};

class ConvWeightGradient : public Kernel {
 public:
  ConvWeightGradient(ConvWeightAttributes attributes, const GemmTileKernels& tiles, DType x)
      : attributes_(std::move(attributes)),
        tiles_(tiles),
        fill_(x == DType::kBFloat16  ? FillChannel<BFloat16>
              : x == DType::kFloat16 ? FillChannel<Float16>
                                     : FillChannel<float>) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0), dy = context.input_dims(1);
    ONWARD_ASSIGN_OR_RETURN(const WindowAxes axes, attributes_.Axes(x, dy));
    context.SetOutput(0, attributes_.OutputDims(x, dy));
    auto* s = context.NewState<ConvGradientState>();
    s->rows = axes.size() == 2 ? axes[0] : WindowAxis{1, 1};
    s->columns = axes.back();
    s->batch = x[0], s->channels = x[1], s->filters = dy[1], s->group = attributes_.group;
    s->taps = NumElements(attributes_.kernel);
    s->x_size = s->rows.input * s->columns.input;
    s->y_size = s->rows.output * s->columns.output;
    if (NumElements(x) == 0 || NumElements(dy) == 0) return absl::OkStatus();
    Cut(*s);
    const int64_t matrix_rows = s->channels * s->taps + (s->gathered ? s->filters : 0);
    ONWARD_ASSIGN_OR_RETURN(const int64_t bytes,
                            CheckedByteSize(DType::kFloat32, Dims{matrix_rows, s->piece_size()}));
    context.SetScratch(bytes + context.num_workers() *
                                   std::max(s->plan.scratch, s->last_plan.scratch) *
                                   static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<ConvGradientState>();
    if (s.pieces == 0) {
      std::fill_n(context.out<float>(0), context.output(0).num_elements(), 0.0f);
      return absl::OkStatus();
    }
    float* matrix = context.scratch<float>();
    float* gathered = matrix + s.channels * s.taps * s.piece_size();
    for (int64_t piece = 0; piece < s.pieces; ++piece) {
      const int64_t begin = piece * s.piece_rows;
      const int64_t end = std::min(s.all_rows(), begin + s.piece_rows);
      const int64_t grain = std::max<int64_t>(1, kFillGrain / (s.taps * s.piece_size()));
      context.ParallelFor(s.channels, grain, [&](int64_t first, int64_t last) {
        for (int64_t c = first; c < last; ++c) fill_(context, s, c, begin, end, matrix);
      });
      if (s.gathered) Gather(context, s, begin, end, gathered);
      Multiply(context, s, piece, matrix, gathered);
    }
    return absl::OkStatus();
  }

 private:
  void Cut(ConvGradientState& s) const {
    const int64_t height = s.channels * s.taps;
    const int64_t wanted =
        std::clamp(kPieceFloats / height, kLeastPositions, kMostPositions) / s.columns.output;
    if (wanted >= s.rows.output) {
      s.piece_rows = std::min(s.batch, wanted / s.rows.output) * s.rows.output;
      s.gathered = s.piece_rows > s.rows.output;
    } else {
      s.piece_rows = EvenPiece(s.rows.output, std::max<int64_t>(1, wanted));
      // Pieces may not cross images.
      while (s.rows.output % s.piece_rows != 0) ++s.piece_rows;
      s.gathered = false;
    }
    s.pieces = CeilDiv(s.all_rows(), s.piece_rows);
    const int64_t m = s.filters / s.group, n = s.channels / s.group * s.taps;
    const auto plan = [&](int64_t rows) {
      return PlanGemm(tiles_, ColumnsLayout::kTransposed, m, n, rows * s.columns.output, s.group,
                      false);
    };
    s.plan = plan(s.piece_rows);
    s.last_plan = plan(s.all_rows() - (s.pieces - 1) * s.piece_rows);
  }

  // The rows of one channel's taps for the output rows [begin, end) of all images.
  template <typename T>
  static void FillChannel(const RunContext& context, const ConvGradientState& s, int64_t channel,
                          int64_t begin, int64_t end, float* matrix) {
    float* to = matrix + channel * s.taps * s.piece_size();
    for (int64_t k = 0; k < s.rows.kernel; ++k) {
      for (int64_t l = 0; l < s.columns.kernel; ++l, to += s.piece_size()) {
        int64_t first, last;
        OutputsOfTap(s.columns, l, &first, &last);
        float* row = to;
        for (int64_t at = begin; at < end; ++at, row += s.columns.output) {
          const int64_t image = at / s.rows.output;
          const int64_t y = s.rows.start(at % s.rows.output) + k * s.rows.dilation;
          if (y < 0 || y >= s.rows.input) {
            std::fill_n(row, s.columns.output, 0.0f);
            continue;
          }
          const T* x = context.in<T>(0) + (image * s.channels + channel) * s.x_size +
                       y * s.columns.input + s.columns.start(0) + l * s.columns.dilation;
          CopyRow(x, first, last, s.columns, row);
        }
      }
    }
  }

  template <typename T>
  static void CopyRow(const T* x, int64_t first, int64_t last, const WindowAxis& axis, float* row) {
    std::fill_n(row, first, 0.0f);
    if (axis.stride == 1) {
      std::copy(x + first, x + std::max(first, last), row + first);
    } else {
      for (int64_t i = first; i < last; ++i) row[i] = x[i * axis.stride];
    }
    std::fill(row + std::max(first, last), row + axis.output, 0.0f);
  }

  // dY of several images as [filter][position].
  static void Gather(const RunContext& context, const ConvGradientState& s, int64_t begin,
                     int64_t end, float* gathered) {
    const int64_t first = begin / s.rows.output, last = end / s.rows.output;
    context.ParallelFor(s.filters, std::max<int64_t>(1, kFillGrain / s.piece_size()),
                        [&](int64_t from, int64_t to) {
                          for (int64_t f = from; f < to; ++f) {
                            float* row = gathered + f * s.piece_size();
                            for (int64_t image = first; image < last; ++image, row += s.y_size) {
                              const float* dy =
                                  context.in<float>(1) + (image * s.filters + f) * s.y_size;
                              std::copy(dy, dy + s.y_size, row);
                            }
                          }
                        });
  }

  void Multiply(const RunContext& context, const ConvGradientState& s, int64_t piece,
                const float* matrix, const float* gathered) const {
    const GemmPlan& plan = piece + 1 < s.pieces ? s.plan : s.last_plan;
    const int64_t row = piece * s.piece_rows, image = row / s.rows.output;
    const float* dy = gathered;
    if (!s.gathered) {
      dy = context.in<float>(1) + image * s.filters * s.y_size +
           row % s.rows.output * s.columns.output;
    }
    const int64_t dy_row = s.gathered ? s.piece_size() : s.y_size;
    float* scratch = context.scratch<float>() +
                     (s.channels * s.taps + (s.gathered ? s.filters : 0)) * s.piece_size();
    const int64_t worker_scratch = std::max(s.plan.scratch, s.last_plan.scratch);
    context.ParallelForWorkers(plan.chunks(), plan.grain,
                               [&](int worker, int64_t begin, int64_t end) {
                                 for (int64_t chunk = begin; chunk < end; ++chunk) {
                                   const int64_t group = chunk / plan.chunks_per_batch();
                                   GemmArguments args;
                                   args.a = dy + group * plan.m * dy_row;
                                   args.a_row = dy_row;
                                   args.b = matrix + group * plan.n * s.piece_size();
                                   args.b_stride = s.piece_size();
                                   args.c = context.out<float>(0) + group * plan.m * plan.n;
                                   args.c_row = plan.n;
                                   if (piece > 0) {
                                     args.residual = args.c;
                                     args.residual_row = plan.n;
                                   }
                                   RunGemmChunk(tiles_, plan, args, chunk % plan.chunks_per_batch(),
                                                scratch + worker * worker_scratch);
                                 }
                               });
  }

  using Fill = void (*)(const RunContext& context, const ConvGradientState& s, int64_t channel,
                        int64_t begin, int64_t end, float* matrix);

  ConvWeightAttributes attributes_;
  const GemmTileKernels& tiles_;
  Fill fill_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithTiles(const NodeSpec& spec,
                                                      const GemmTileKernels& tiles) {
  ONWARD_ASSIGN_OR_RETURN(ConvWeightAttributes attributes, ConvWeightAttributes::Parse(spec));
  return std::make_unique<ConvWeightGradient>(std::move(attributes), tiles, spec.input_dtype(0));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvWeightGradient(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec, 0));
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, FasterTilesOf(spec));
  return MakeWithTiles(spec, *tiles);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ConvWeightGradient", "conv_weight_gradient_gathered_bf16", MakeConvWeightGradient,
     kBf16Targets},
    {"onward", "ConvWeightGradient", "conv_weight_gradient", MakeConvWeightGradient,
     kVectorTargets},
};

}  // namespace

KernelList ConvGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

// DeformConv of float32: the places that a tap reads are found once for all channels that share
// their offsets, and what they hold is written as the panels of a product.
#include "kernels/bind/deform_conv.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/base/checked.h"
#include "kernels/cpu/block_product.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/deform_places.h"

namespace onward::kernels::cpu {
namespace {

// Floats of the panels of a piece: they stay in the second-level cache while filters pass by.
constexpr int64_t kPieceFloats = 1 << 16;
// Outputs of a piece at most, of whose places there is a record.
constexpr int64_t kMostOutputs = 512;

// A piece of work: `columns` outputs of one group of one image.
struct DeformPieces {
  int64_t depth = 0;    // steps of the product: channels of a group times taps
  int64_t columns = 0;  // of a piece
  int64_t count = 0;    // for a group of an image
  int64_t scratch = 0;  // floats of a worker

  DeformPieces(const DeformConvPlan& s, const GemmTileKernels& tiles) {
    const int64_t width = tiles.tile_cols;
    depth = s.channels / s.group * s.kernel_size;
    const int64_t most =
        std::min(kPieceFloats / std::max<int64_t>(1, depth), kMostOutputs) / width * width;
    columns = std::max(width, std::min(most, CeilDiv(s.positions, width) * width));
    count = CeilDiv(s.positions, columns);
    scratch = BlockPanelsSize(tiles, depth, columns) + 8 * columns;
  }
};

class DeformConv : public Kernel {
 public:
  DeformConv(DeformConvAttributes attributes, const GemmTileKernels& tiles,
             const DeformLoops& loops)
      : attributes_(std::move(attributes)), tiles_(tiles), loops_(loops) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindDeformConv(context, attributes_));
    const auto& s = *static_cast<const DeformConvPlan*>(context.state());
    if (s.axes[0].input * s.axes[1].input > std::numeric_limits<int32_t>::max())
      return absl::UnimplementedError("an image of more than 2^31 - 1 elements");
    ONWARD_ASSIGN_OR_RETURN(
        const int64_t bytes,
        CheckedByteSize(DType::kFloat32,
                        Dims{context.num_workers(), DeformPieces(s, tiles_).scratch}));
    context.SetScratch(bytes);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<DeformConvPlan>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const DeformPieces pieces(s, tiles_);
    float* scratch = context.scratch<float>();
    context.ParallelForWorkers(
        s.batch * s.group * pieces.count, 1, [&](int worker, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            RunPiece(context, s, pieces, i, scratch + worker * pieces.scratch);
        });
    return absl::OkStatus();
  }

 private:
  void RunPiece(const RunContext& context, const DeformConvPlan& s, const DeformPieces& pieces,
                int64_t piece, float* panels) const {
    const int64_t batch = piece / pieces.count, column = piece % pieces.count * pieces.columns;
    const int64_t columns = std::min(pieces.columns, s.positions - column);
    const int64_t group = batch % s.group, filters = s.filters / s.group;
    if (context.input(0).num_elements() == 0) {
      std::fill_n(panels, BlockPanelsSize(tiles_, pieces.depth, pieces.columns), 0.0f);
    } else {
      PackPanels(context, s, pieces, batch, column, columns, panels);
    }
    float* y = context.out<float>(0) + batch * filters * s.positions + column;
    const float* bias = context.has_input(3) ? context.in<float>(3) + group * filters : nullptr;
    for (int64_t row = 0; row < filters && bias != nullptr; ++row)
      std::fill_n(y + row * s.positions, columns, bias[row]);
    const float* weights = context.in<float>(1) + group * filters * pieces.depth;
    const BlockProduct product = {
        .m = filters,
        .n = columns,
        .k = pieces.depth,
        .a = PackBlockRows(tiles_, weights, pieces.depth, false, filters, pieces.depth, nullptr),
        .b = {panels, pieces.depth},
        .c = y,
        .c_row = s.positions,
        .accumulate = bias != nullptr};
    Multiply(tiles_, product, [&](int64_t, int64_t) {
      return BlockWindow{0, columns, 0, pieces.depth};
    });
  }

  // `batch`: of images and groups.
  void PackPanels(const RunContext& context, const DeformConvPlan& s, const DeformPieces& pieces,
                  int64_t batch, int64_t column, int64_t columns, float* panels) const {
    const int64_t width = tiles_.tile_cols, size = s.axes[0].input * s.axes[1].input;
    const int64_t image = batch / s.group, channels = s.channels / s.group;
    const int64_t first = batch % s.group * channels, sharing = s.channels / s.offset_group;
    float* rows = panels + BlockPanelsSize(tiles_, pieces.depth, pieces.columns);
    float* starts = rows + pieces.columns;
    auto* upper = reinterpret_cast<int32_t*>(starts + pieces.columns);
    int32_t* lower = upper + pieces.columns;
    float* weights = reinterpret_cast<float*>(lower + pieces.columns);
    const DeformPlaces places = {upper, lower, weights, weights + 2 * pieces.columns};
    for (int64_t j = 0; j < columns; ++j) {
      rows[j] = static_cast<float>(s.axes[0].start((column + j) / s.axes[1].output));
      starts[j] = static_cast<float>(s.axes[1].start((column + j) % s.axes[1].output));
    }
    DeformTap tap = {static_cast<int32_t>(s.axes[0].input), static_cast<int32_t>(s.axes[1].input),
                     rows, starts};
    const auto sample = tap.width > 1 ? loops_.sample : loops_.sample_column;
    for (int64_t c = first, end; c < first + channels; c = end) {  // those that share offsets
      end = std::min(first + channels, (c / sharing + 1) * sharing);
      const float* from = context.in<float>(0) + (image * s.channels + c) * size;
      for (int64_t t = 0; t < s.kernel_size; ++t) {
        SetTap(context, s, (image * s.offset_group + c / sharing) * s.kernel_size, t, column, tap);
        loops_.find(tap, columns, CeilDiv(columns, width) * width, places);
        for (int64_t j = 0; j < columns; j += width) {
          float* to = panels + j * pieces.depth + ((c - first) * s.kernel_size + t) * width;
          sample(places.From(j), width, from, size, end - c, to, s.kernel_size * width);
        }
      }
    }
  }

  // `row`: of offsets and masks, of the first tap.
  static void SetTap(const RunContext& context, const DeformConvPlan& s, int64_t row, int64_t t,
                     int64_t column, DeformTap& tap) {
    const int64_t at = (row + t) * s.positions + column;
    tap.row = static_cast<float>(t / s.axes[1].kernel * s.axes[0].dilation);
    tap.column = static_cast<float>(t % s.axes[1].kernel * s.axes[1].dilation);
    tap.down = context.in<float>(2) + at + (row + t) * s.positions;
    tap.right = tap.down + s.positions;
    tap.mask = context.has_input(4) ? context.in<float>(4) + at : nullptr;
  }

  const DeformConvAttributes attributes_;
  const GemmTileKernels& tiles_;
  const DeformLoops& loops_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(const DeformConvAttributes attributes, DeformConvAttributes::Parse(spec));
  const Target target = TargetOf(spec);
  return std::make_unique<DeformConv>(attributes, kGemmTilesPerTarget.For(target)(),
                                      kDeformPerTarget.For(target)());
}

constexpr KernelEntry kKernels[] = {{"", "DeformConv", "deform_conv", Make, kVectorTargets}};

}  // namespace

KernelList DeformConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

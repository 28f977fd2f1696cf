// Conv and onward.FusedConv in float32 whose filters fit the cache: they come by too seldom for
// patches of the image to be worth packing. Filters lie along the vectors, and each pixel is read
// where it lies.
#include <algorithm>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/conv_filters.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/conv_row.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMinPixels = 36;                 // of an output
constexpr int64_t kMaxFilterFloats = 192 * 1024;   // all of them, which each row reads
constexpr int64_t kMinChunkProducts = 300 * 1000;  // about 2 us
constexpr int64_t kWantedChunks = 16;
constexpr int64_t kMaxCopiedFloats = 4 * 1024;  // half of a small first-level cache

// Some output rows of a group at a time: what they read of the image is copied with its padding.
struct DirectPlan {
  PatchWindow window;
  int64_t images = 0;  // batch x groups
  int64_t groups = 1;
  int64_t channels = 0, filters = 0;  // of a group
  int64_t panels = 0;
  int64_t rows_per_copy = 1;
  int64_t copied_rows = 0, row_floats = 0;  // of a channel
  int64_t rows_per_chunk = 0;
  int64_t row_chunks = 0;
  int64_t grain = 1;        // chunks
  int64_t sums_offset = 0;  // in a worker's scratch, behind the copy
  int64_t worker_floats = 0;
};

DirectPlan PlanDirect(const GemmTileKernels& tiles, const ConvGeometry& g) {
  DirectPlan plan;
  plan.window = WindowOf(g.axes);
  plan.groups = g.group;
  plan.images = g.batch * g.group;
  plan.channels = g.channels / g.group;
  plan.filters = g.filters / g.group;
  plan.panels = CeilDiv(plan.filters, tiles.tile_cols);
  const PatchWindow& w = plan.window;
  const int64_t row_products =
      std::max<int64_t>(1, w.out_w * plan.filters * plan.channels * w.taps());
  const int64_t rows =
      std::max(CeilDiv(kMinChunkProducts, row_products), w.out_h * plan.images / kWantedChunks);
  plan.rows_per_chunk = EvenPiece(w.out_h, std::max<int64_t>(1, rows));
  plan.row_chunks = CeilDiv(w.out_h, plan.rows_per_chunk);
  plan.grain = CeilDiv(kMinChunkProducts, plan.rows_per_chunk * row_products);
  plan.row_floats = (w.out_w - 1) * w.stride_w + w.kernel_w;
  const int64_t least_rows = (w.kernel_h - 1) * w.dilation_h + 1;
  const int64_t more_rows =
      std::max<int64_t>(0, kMaxCopiedFloats / (plan.channels * plan.row_floats) - least_rows);
  plan.rows_per_copy = EvenPiece(plan.rows_per_chunk, 1 + more_rows / w.stride_h);
  plan.copied_rows = (plan.rows_per_copy - 1) * w.stride_h + least_rows;
  const int64_t copied = plan.channels * plan.copied_rows * plan.row_floats;
  plan.sums_offset = CeilDiv(copied, kMaxPatchWidth) * kMaxPatchWidth;
  plan.worker_floats = plan.sums_offset + w.out_w * tiles.tile_cols;
  return plan;
}

class Direct : public ConvAlgorithm {
 public:
  Direct(const GemmTileKernels& tiles, ActivationSpec activation, Tensor packed)
      : tiles_(tiles),
        patches_(kConvTilesPerTarget.For(tiles.target)()),
        products_(kConvRowProductsPerTarget.For(tiles.target)()),
        activation_(activation),
        packed_(std::move(packed)) {}

  const void* Bind(BindContext& context, const ConvGeometry& g) const override {
    auto* plan = context.NewArray<DirectPlan>(1);
    *plan = PlanDirect(tiles_, g);
    if (g.output_size() == 0) plan->images = 0;
    context.SetScratch(plan->worker_floats * context.num_workers() *
                       static_cast<int64_t>(sizeof(float)));
    return plan;
  }

  void Run(RunContext& context, const void* state) const override {
    const DirectPlan& plan = *static_cast<const DirectPlan*>(state);
    context.ParallelForWorkers(
        plan.images * plan.row_chunks, plan.grain, [&](int worker, int64_t begin, int64_t end) {
          float* own = context.scratch<float>() + worker * plan.worker_floats;
          // The padding beside the rows; between them CopyImage writes.
          std::fill_n(own, plan.sums_offset, 0.0f);
          for (int64_t chunk = begin; chunk < end; ++chunk) RunChunk(context, plan, chunk, own);
        });
  }

 private:
  void RunChunk(const RunContext& context, const DirectPlan& plan, int64_t chunk,
                float* scratch) const {
    const int64_t image = chunk / plan.row_chunks;
    const int64_t begin = chunk % plan.row_chunks * plan.rows_per_chunk;
    const int64_t end = std::min(plan.window.out_h, begin + plan.rows_per_chunk);
    const int64_t step = plan.window.stride_h * plan.row_floats;
    for (int64_t first = begin; first < end; first += plan.rows_per_copy) {
      CopyImage(context, plan, image, first, scratch);
      for (int64_t y = first; y < std::min(end, first + plan.rows_per_copy); ++y) {
        for (int64_t panel = 0; panel < plan.panels; ++panel)
          RunPanel(context, plan, image, y, panel, scratch + (y - first) * step,
                   scratch + plan.sums_offset);
      }
    }
  }

  // Copies what the output rows from `first` read.
  static void CopyImage(const RunContext& context, const DirectPlan& plan, int64_t image,
                        int64_t first, float* to) {
    const PatchWindow& w = plan.window;
    const int64_t left = std::min(w.pad_left, plan.row_floats);
    const int64_t count = std::clamp<int64_t>(plan.row_floats - left, 0, w.in_w);
    const int64_t top = first * w.stride_h - w.pad_top;
    const float* x = context.in<float>(0) + image * plan.channels * w.in_h * w.in_w;
    to += left;
    for (int64_t channel = 0; channel < plan.channels; ++channel, x += w.in_h * w.in_w) {
      for (int64_t row = top; row < top + plan.copied_rows; ++row, to += plan.row_floats) {
        if (row < 0 || row >= w.in_h) {
          std::fill_n(to, count, 0.0f);
        } else {
          std::copy_n(x + row * w.in_w, count, to);
        }
      }
    }
  }

  // Computes a panel's filters for output row y; `x` points to its first row of taps.
  void RunPanel(const RunContext& context, const DirectPlan& plan, int64_t image, int64_t y,
                int64_t panel, const float* x, float* sums) const {
    const PatchWindow& w = plan.window;
    const int64_t group = image % plan.groups, filter = panel * tiles_.tile_cols;
    const int64_t k = plan.channels * w.taps();
    ConvRow row;
    row.filters = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, plan.filters - filter));
    row.channels = plan.channels;
    row.channel_floats = plan.copied_rows * plan.row_floats;
    row.kernel_h = w.kernel_h;
    row.row_floats = w.dilation_h * plan.row_floats;
    row.kernel_w = w.kernel_w;
    row.stride = static_cast<int>(w.stride_w);
    row.w = packed_.data<float>() + (group * plan.panels + panel) * k * tiles_.tile_cols;
    if (context.has_input(2)) row.bias = context.in<float>(2) + group * plan.filters + filter;
    const bool one_vector = row.filters <= tiles_.tile_cols / 2;
    const int64_t tiles = CeilDiv(w.out_w, MaxRowPixels(tiles_.tile_rows, one_vector));
    for (int64_t i = 0; i < tiles; ++i) {
      const RowRange pixels = RowsOfTile(w.out_w, tiles, i);
      row.pixels = pixels.count;
      row.x = x + pixels.begin * w.stride_w;
      row.sums = sums + pixels.begin * tiles_.tile_cols;
      products_(row);
    }
    const int64_t plane = w.out_h * w.out_w;
    const int64_t at = (image * plan.filters + filter) * plane + y * w.out_w;
    patches_.store_transposed(sums, tiles_.tile_cols, static_cast<int>(w.out_w), row.filters,
                              context.has_input(3) ? context.in<float>(3) + at : nullptr,
                              activation_, context.out<float>(0) + at, plane);
  }

  const GemmTileKernels& tiles_;
  const ConvTileKernels& patches_;
  const ConvRowFunction products_;
  ActivationSpec activation_;
  Tensor packed_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDirect(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const Tensor* w = spec.constant(1);
  if (w == nullptr || w->rank() != 4)
    return absl::UnimplementedError("constant weights of two spatial axes only");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const std::optional<ConvGeometry> g = KnownGeometry(spec, attributes);
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  if (!g || !PrefersDirect(tiles, *g))
    return absl::UnimplementedError(
        "filters that fit the cache, and sizes known when compiling only");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  if (spec.only_asks()) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(
      Tensor packed, PackConstantFilters(spec, tiles, ConvForm::kChannelLanes, attributes.group));
  return ConvKernel(std::move(attributes), DirectProducts(tiles, activation, std::move(packed)));
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "direct_conv", MakeDirect, kVectorTargets},
    {"onward", "FusedConv", "fused_direct_conv", MakeDirect, kVectorTargets},
};

}  // namespace

bool PrefersDirect(const GemmTileKernels& tiles, const ConvGeometry& g) {
  if (g.axes.size() != 2 || g.output_size() <= kMinPixels) return false;
  const WindowAxis& columns = g.axes[1];
  if (columns.dilation != 1 || columns.stride > 2 || columns.pad_begin < 0) return false;
  const int64_t m = g.filters / g.group, k = g.channels / g.group * g.kernel_size();
  if (g.kernel_size() == 1 || m == 0 || k == 0) return false;
  if (m * k > kMaxFilterFloats || columns.output < tiles.tile_rows / 2) return false;
  // In steps of k for one pixel: a transposed store costs about 17; a patch that is packed, as much
  // as 20 filters, and 28 where columns are taken apart for it.
  const int64_t lanes = tiles.tile_cols / 2;
  return CeilDiv(m, lanes) * lanes * (k + 17) < (m + (columns.stride == 2 ? 28 : 20)) * k;
}

std::unique_ptr<ConvAlgorithm> DirectProducts(const GemmTileKernels& tiles,
                                              ActivationSpec activation, Tensor packed) {
  return std::make_unique<Direct>(tiles, activation, std::move(packed));
}

KernelList DirectConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

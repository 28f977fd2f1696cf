// Conv over three spatial axes in float32: per output slice, the product of weights and patches of
// the volume, on the tiles of one instruction set.
#include <algorithm>

#include "kernels/cpu/conv_filters.h"
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMaxBlockOfK = 512;
constexpr int64_t kMaxWorkerPatches = 64 * 1024;  // floats
constexpr int64_t kSplitGrain = 16 * 1024;        // floats of planes: about 5 us
constexpr int64_t kWantedChunks = 32;

// Every channel is copied as slices x planes: slice z is slice z - pad of the input, or zero.
struct VolumeState {
  PatchWindow window;  // over the last two axes
  WindowAxis depth;
  int64_t images = 0, groups = 1;  // batch x groups
  int64_t m = 0, n = 0, k = 0;     // of one group and output slice
  int64_t channels = 0;            // of a group
  int64_t slices = 0;              // of a channel as planes
  int64_t plane_floats = 0;        // of one slice
  int64_t taps = 0;
  const int64_t* tap_offsets = nullptr;
  const float* live_filters = nullptr;  // packed anew, where taps were left out
  int64_t row_tiles = 0, panels = 0, panels_per_chunk = 0, panel_chunks = 0, k_block = 0;
  int64_t workers_offset = 0, worker_floats = 0;  // in scratch, behind the planes

  int64_t channel_floats() const { return slices * plane_floats; }
  int64_t chunks() const { return images * depth.output * panel_chunks; }
};

struct VolumeData {
  const float* x;
  const float* w;
  bool packed;
  const float* bias;
  float* y;
  float* planes;
};

class VolumeConv {
 public:
  VolumeConv(const GemmTileKernels& tiles, const ConvTileKernels& patches, const VolumeState& state,
             const VolumeData& data)
      : tiles_(tiles), patches_(patches), state_(state), data_(data) {}

  // Slice `index` of all channels of all images.
  void SplitSlice(int64_t index) const {
    const int64_t channel = index / state_.slices;
    const int64_t z = index % state_.slices - state_.depth.pad_begin;
    float* planes = data_.planes + index * state_.plane_floats;
    if (z < 0 || z >= state_.depth.input) {
      std::fill_n(planes, state_.plane_floats, 0.0f);
      return;
    }
    const int64_t slice = state_.window.in_h * state_.window.in_w;
    patches_.split_channel(state_.window, data_.x + (channel * state_.depth.input + z) * slice,
                           planes);
  }

  // Some panels of one output slice, all filters.
  void Run(int64_t chunk, float* scratch) const {
    const int64_t image = chunk / state_.panel_chunks / state_.depth.output;
    const int64_t slice = chunk / state_.panel_chunks % state_.depth.output;
    const int64_t begin = chunk % state_.panel_chunks * state_.panels_per_chunk;
    const int64_t end = std::min(state_.panels, begin + state_.panels_per_chunk);
    const int64_t pixel = begin * tiles_.tile_cols;
    const int64_t pixels = std::min(state_.n, end * tiles_.tile_cols) - pixel;
    const int64_t panel_floats = state_.k_block * tiles_.tile_cols;
    const int64_t group = image % state_.groups;
    const PatchSource source = PatchesOf(image, slice);
    GemmTile tile;
    tile.b_padded = true;
    tile.b_k = tiles_.tile_cols;
    tile.c_row = state_.depth.output * state_.n;
    for (int64_t k0 = 0; k0 == 0 || k0 < state_.k; k0 += state_.k_block) {
      tile.k = std::min(state_.k_block, state_.k - k0);
      tile.accumulate = k0 > 0;
      patches_.pack_patches(source, pixel, pixels, k0, k0 + tile.k, tiles_.tile_cols, panel_floats,
                            scratch);
      for (int64_t i = 0; i < state_.row_tiles; ++i) {
        const RowRange rows = RowsOfTile(state_.m, state_.row_tiles, i);
        SetFilters(group, rows, k0, tile);
        for (int64_t p = begin; p < end; ++p) {
          const int64_t at = p * tiles_.tile_cols;
          tile.cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, state_.n - at));
          tile.b = scratch + (p - begin) * panel_floats;
          tile.c = data_.y + (image * state_.m + rows.begin) * tile.c_row + slice * state_.n + at;
          tiles_.tile(tile);
        }
      }
    }
  }

 private:
  PatchSource PatchesOf(int64_t image, int64_t slice) const {
    PatchSource source;
    source.planes = data_.planes + image * state_.channels * state_.channel_floats() +
                    slice * state_.depth.stride * state_.plane_floats;
    source.has_slack = true;
    source.channel = state_.channel_floats();
    source.tap_offsets = state_.tap_offsets;
    source.taps = state_.taps;
    source.out_w = state_.window.out_w;
    source.row = PlaneWidth(state_.window);
    return source;
  }
  void SetFilters(int64_t group, RowRange rows, int64_t k0, GemmTile& tile) const {
    const float* w = data_.w + (group * state_.m + rows.begin) * state_.k;
    tile.rows = rows.count;
    tile.a = w + (data_.packed ? k0 * rows.count : k0);
    tile.a_row = data_.packed ? 1 : state_.k;
    tile.a_k = data_.packed ? rows.count : 1;
    if (data_.bias != nullptr) tile.bias_of_row = data_.bias + group * state_.m + rows.begin;
  }

  const GemmTileKernels& tiles_;
  const ConvTileKernels& patches_;
  const VolumeState& state_;
  const VolumeData& data_;
};

class ConvVolume : public Kernel {
 public:
  ConvVolume(Target target, ConvAttributes attributes, Tensor packed)
      : tiles_(kGemmTilesPerTarget.For(target)()),
        patches_(kConvTilesPerTarget.For(target)()),
        attributes_(std::move(attributes)),
        packed_(std::move(packed)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(ConvGeometry g, ConvDims(attributes_, context));
    context.SetOutput(0, g.output);
    auto* state = context.NewState<VolumeState>();
    state->live_filters = LeaveDeadTapsOut(context, tiles_, ConvForm::kPixelLanes, packed_, g);
    Plan(context, g, *state);
    if (NumElements(g.output) == 0) return absl::OkStatus();
    const int64_t planes =
        state->images * state->channels * state->channel_floats() + 2 * kPatchSlack;
    state->workers_offset = CeilDiv(planes, kMaxPatchWidth) * kMaxPatchWidth;
    context.SetScratch((state->workers_offset + state->worker_floats * context.num_workers()) *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<VolumeState>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    float* scratch = context.scratch<float>();
    const VolumeData data = {context.in<float>(0),
                             state.live_filters != nullptr ? state.live_filters
                             : packed_.empty()             ? context.in<float>(1)
                                                           : packed_.data<float>(),
                             !packed_.empty(),
                             context.has_input(2) ? context.in<float>(2) : nullptr,
                             context.out<float>(0),
                             scratch + kPatchSlack};
    const VolumeConv conv(tiles_, patches_, state, data);
    context.ParallelFor(state.images * state.channels * state.slices,
                        CeilDiv(kSplitGrain, std::max<int64_t>(1, state.plane_floats)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) conv.SplitSlice(i);
                        });
    context.ParallelForWorkers(state.chunks(), 1, [&](int worker, int64_t begin, int64_t end) {
      float* own = scratch + state.workers_offset + worker * state.worker_floats;
      for (int64_t chunk = begin; chunk < end; ++chunk) conv.Run(chunk, own);
    });
    return absl::OkStatus();
  }

 private:
  void Plan(BindContext& context, const ConvGeometry& g, VolumeState& state) const {
    state.depth = g.axes[0];
    state.window = WindowOf(g.axes);
    state.groups = g.group;
    state.images = g.batch * g.group;
    state.m = g.filters / g.group;
    state.channels = g.channels / g.group;
    state.n = state.window.out_h * state.window.out_w;
    state.taps = state.depth.kernel * state.window.taps();
    state.k = state.channels * state.taps;
    state.plane_floats = ChannelPlanes(state.window);
    state.slices = (state.depth.output - 1) * state.depth.stride +
                   (state.depth.kernel - 1) * state.depth.dilation + 1;
    int64_t* offsets = context.NewArray<int64_t>(state.taps);
    state.tap_offsets = offsets;
    for (int64_t t = 0; t < state.taps; ++t) {
      const int64_t plane_taps = state.window.taps(), in_plane = t % plane_taps;
      offsets[t] = t / plane_taps * state.depth.dilation * state.plane_floats +
                   TapOffset(state.window, in_plane / state.window.kernel_w,
                             in_plane % state.window.kernel_w);
    }
    // Whole channels, so that the taps of one are packed together.
    state.k_block = state.taps > 0 && state.taps <= kMaxBlockOfK
                        ? state.taps * EvenPiece(state.channels, kMaxBlockOfK / state.taps)
                        : EvenPiece(state.k, kMaxBlockOfK);
    state.row_tiles = CeilDiv(state.m, tiles_.tile_rows);
    state.panels = CeilDiv(state.n, tiles_.tile_cols);
    const int64_t room = kMaxWorkerPatches / (state.k_block * tiles_.tile_cols);
    const int64_t wanted = state.panels * state.images * state.depth.output / kWantedChunks;
    state.panels_per_chunk =
        EvenPiece(state.panels, std::clamp<int64_t>(std::min(room, wanted), 1, kMaxPatchPanels));
    state.panel_chunks = CeilDiv(state.panels, state.panels_per_chunk);
    state.worker_floats = state.panels_per_chunk * state.k_block * tiles_.tile_cols;
  }

  const GemmTileKernels& tiles_;
  const ConvTileKernels& patches_;
  ConvAttributes attributes_;
  Tensor packed_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvVolume(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const auto& shape = spec.input_type(1).shape;
  if (!shape || shape->size() != 5) return absl::UnimplementedError("three spatial axes only");
  ONWARD_ASSIGN_OR_RETURN(const ConvAttributes attributes, ConvAttributes::Parse(spec));
  if (spec.only_asks()) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(Tensor packed,
                          PackConstantFilters(spec, kGemmTilesPerTarget.For(TargetOf(spec))(),
                                              ConvForm::kPixelLanes, attributes.group));
  return std::make_unique<ConvVolume>(TargetOf(spec), attributes, std::move(packed));
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "conv_volume", MakeConvVolume, kVectorTargets},
};

}  // namespace

KernelList ConvVolumeKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

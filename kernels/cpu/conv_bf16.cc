#include "kernels/cpu/conv_bf16.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/cpu/fast_float.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kFillGrain = 16 * 1024;  // words that one thread packs at a time
constexpr int64_t kFiltersTogether = 4;
constexpr int64_t kFilterParts = 8;  // of a group

class PairsConv {
 public:
  PairsConv(const PairsImages& images, const PairsConvPlan& plan, const PairsConvData& data)
      : images_(images),
        plan_(plan),
        data_(data),
        tiles_(kBf16TilesPerTarget.For(images.target)()),
        kernels_(kConvPairsPerTarget.For(images.target)()),
        patches_(kConvTilesPerTarget.For(tiles_.target)()) {}

  // Parts of all filters.
  int64_t filter_parts() const {
    return images_.groups *
           (plan_.by_columns() ? kFilterParts : CeilDiv(plan_.m, kFiltersTogether));
  }
  // `to`: all filters.
  void PackFilters(int64_t part, float* to) const {
    const PairsFilters& f = plan_.filters;
    if (plan_.by_columns()) {
      const int64_t group = part / kFilterParts, i = part % kFilterParts;
      const int64_t begin = plan_.k * i / kFilterParts, end = plan_.k * (i + 1) / kFilterParts;
      tiles_.pack_pairs_of_columns(data_.w + group * f.group + 2 * begin * f.channel, f.channel,
                                   plan_.m, std::min(images_.channels, 2 * end) - 2 * begin,
                                   plan_.filter_row,
                                   to + group * group_floats() + begin * order().step);
      return;
    }
    const int64_t parts = CeilDiv(plan_.m, kFiltersTogether), group = part / parts;
    const int64_t first = part % parts * kFiltersTogether;
    const int64_t count = std::min(kFiltersTogether, plan_.m - first);
    const float* w = data_.w + group * f.group + first * f.filter;
    to += group * group_floats() + first * plan_.filter_row;
    if (f.taps == 1) {
      tiles_.pack_pairs_of_rows(w, f.filter, count, images_.channels, plan_.filter_row, to);
      return;
    }
    for (int64_t i = 0; i < count; ++i, w += f.filter, to += plan_.filter_row) {
      if (!plan_.direct) {
        kernels_.pack_filter(w, f.channel, images_.channels, f.taps, plan_.tap_index, plan_.taps,
                             to);
        continue;
      }
      for (int64_t t = 0; t < plan_.taps; ++t) {
        kernels_.pack_filter(w, f.channel, images_.channels, f.taps, plan_.tap_index + t, 1,
                             to + t * images_.pairs());
      }
    }
  }

  int64_t shared_parts() const {
    return plan_.shared && !plan_.direct ? images_.groups * plan_.panel_chunks * BlocksOfK() : 0;
  }
  void PackShared(int64_t part) const {
    const int64_t k0 = part % BlocksOfK() * plan_.k_block;
    const int64_t panel = part / BlocksOfK() % plan_.panel_chunks * plan_.panels_per_chunk;
    const int64_t group = part / BlocksOfK() / plan_.panel_chunks;
    Pack(group, panel, PanelEnd(panel), k0, SharedPanel(group, panel) + k0 * tiles_.tile_cols,
         plan_.k * tiles_.tile_cols);
  }

  int64_t chunks() const { return images_.groups * plan_.row_chunks * plan_.panel_chunks; }
  void RunChunk(int64_t chunk, float* own) const {
    const int64_t panel = chunk % plan_.panel_chunks * plan_.panels_per_chunk;
    const int64_t first = chunk / plan_.panel_chunks % plan_.row_chunks * plan_.tiles_per_chunk;
    const int64_t group = chunk / (plan_.panel_chunks * plan_.row_chunks);
    const int64_t last = std::min(plan_.row_tiles, first + plan_.tiles_per_chunk);
    const int64_t count = PanelEnd(panel) - panel;
    Panel panels[kMaxPatchPanels];
    for (int64_t i = 0; i < count; ++i)
      panels[i] = PanelAt(group, panel + i, RowsOf(first).begin, own, i);
    int64_t k0 = 0;
    do {  // once even for k = 0
      if (!plan_.shared && !plan_.direct)
        Pack(group, panel, PanelEnd(panel), k0, own, plan_.k_block * tiles_.tile_cols);
      Multiply(group, first, last, k0, {panels, static_cast<size_t>(count)});
      k0 += plan_.k_block;
    } while (k0 < plan_.k);
    for (int64_t i = 0; i < count; ++i) {
      if (!panels[i].lies_in_y)
        Scatter(group, RowsOf(first).begin, RowsOf(last - 1), panel + i, panels[i].sums);
    }
  }

 private:
  int64_t BlocksOfK() const { return CeilDiv(plan_.k, plan_.k_block); }
  int64_t PanelEnd(int64_t panel) const {
    return std::min(plan_.panels, panel + plan_.panels_per_chunk);
  }
  RowRange RowsOf(int64_t tile) const { return RowsOfTile(plan_.m, plan_.row_tiles, tile); }
  int64_t group_floats() const { return plan_.m * plan_.filter_row; }
  const float* FiltersOf(int64_t group) const {
    return (data_.filters != nullptr ? data_.filters : data_.scratch) + group * group_floats();
  }
  float* SharedPanel(int64_t group, int64_t panel) const {
    return data_.scratch + plan_.filter_floats +
           (group * plan_.panels + panel) * plan_.k * tiles_.tile_cols;
  }
  // Of the packed filters of a group.
  PairsOrder order() const {
    return plan_.by_columns() ? tiles_.OrderOfColumns(plan_.m, plan_.filter_row)
                              : PairsOrder{plan_.filter_row, 1};
  }
  int64_t sums_row() const { return plan_.panels_per_chunk * tiles_.tile_cols; }

  // Words of steps [k0, k0 + k_block) of the panels, which lie `stride` apart.
  void Pack(int64_t group, int64_t panel, int64_t panel_end, int64_t k0, float* to,
            int64_t stride) const {
    const int64_t width = tiles_.tile_cols, k1 = std::min(plan_.k, k0 + plan_.k_block);
    const int64_t pixel = panel * width;
    const int64_t count = std::min(plan_.pixels, panel_end * width) - pixel;
    PatchSource source;
    source.rows = plan_.rows;
    source.out_w = plan_.columns;
    if (images_.points) {
      const int64_t size = images_.channel_floats;
      source.planes = data_.x + group * images_.channels * size;
      source.channel = size;
      source.row = plan_.columns;
      source.image = images_.groups * images_.channels * size;
      kernels_.pack_points(source, pixel, count, 2 * k0, std::min(images_.channels, 2 * k1),
                           static_cast<int>(width), stride, to);
      return;
    }
    source.planes = PlanesOf(0, group);
    source.has_slack = true;
    source.row = PlaneWidth(images_.window);
    source.image = images_.groups * images_.pairs() * images_.plane();
    source.channel = images_.plane();
    source.tap_offsets = plan_.tap_offsets;
    source.taps = plan_.taps;
    patches_.pack_patches(source, pixel, count, k0, k1, static_cast<int>(width), stride, to);
  }
  const float* PlanesOf(int64_t image, int64_t group) const {
    return data_.planes + kPatchSlack +
           (image * images_.groups + group) * images_.pairs() * images_.plane();
  }

  // Where a panel's patches are read and its sums go.
  struct Panel {
    int cols;
    bool lies_in_y;  // its pixels are neighbours in Y
    const float* patches;
    int64_t patches_step;  // from one block of K to the next
    float* sums;           // of filter `first_row`
    int64_t sums_row;
    const float* residual;
    int64_t first_row;
  };
  // A part of a row of Y, whose taps are read from the planes.
  Panel DirectPanel(int64_t group, int64_t panel, int64_t first_row) const {
    const int64_t row = panel / plan_.row_panels, image = row / plan_.rows, y = row % plan_.rows;
    const RowRange columns = RowsOfTile(plan_.columns, plan_.row_panels, panel % plan_.row_panels);
    const int64_t place = ChannelAt(group, first_row, row * plan_.columns) +
                          y * plan_.target.row_floats + columns.begin;
    Panel at;
    at.cols = columns.count;
    at.first_row = first_row;
    at.patches = PlanesOf(image, group) + y * PlaneWidth(images_.window) + columns.begin;
    at.patches_step = 0;
    at.lies_in_y = true;
    at.sums = data_.y + place;
    at.sums_row = plan_.target.channel_floats;
    at.residual = data_.residual == nullptr ? nullptr : data_.residual + place;
    return at;
  }
  Panel PanelAt(int64_t group, int64_t panel, int64_t first_row, float* own, int64_t slot) const {
    if (plan_.direct) return DirectPanel(group, panel, first_row);
    const int64_t width = tiles_.tile_cols, pixel = panel * width;
    Panel at;
    at.cols = static_cast<int>(std::min(width, plan_.pixels - pixel));
    at.first_row = first_row;
    at.patches = plan_.shared ? SharedPanel(group, panel) : own + slot * plan_.k_block * width;
    at.patches_step = plan_.shared ? plan_.k_block * width : 0;
    at.residual = nullptr;
    at.lies_in_y = plan_.target.column_floats == 1 && plan_.target.row_floats == plan_.columns &&
                   pixel / plan_.image_pixels() == (pixel + at.cols - 1) / plan_.image_pixels();
    if (at.lies_in_y) {
      const int64_t place = ChannelAt(group, first_row, pixel) + pixel % plan_.image_pixels();
      at.sums = data_.y + place;
      at.sums_row = plan_.target.channel_floats;
      if (data_.residual != nullptr) at.residual = data_.residual + place;
    } else {
      at.sums = own + plan_.packed_floats + slot * width;
      at.sums_row = sums_row();
    }
    return at;
  }
  // Of a channel of Y in the image of `pixel`.
  int64_t ChannelAt(int64_t group, int64_t row, int64_t pixel) const {
    const int64_t image = pixel / plan_.image_pixels();
    return ((image * images_.groups + group) * plan_.m + row) * plan_.target.channel_floats +
           plan_.target.begin;
  }

  void Multiply(int64_t group, int64_t first, int64_t last, int64_t k0,
                absl::Span<const Panel> panels) const {
    const bool ends = k0 + plan_.k_block >= plan_.k;
    GemmTile tile;
    tile.k = std::min(plan_.k_block, plan_.k - k0);
    tile.accumulate = k0 > 0;
    tile.a_row = order().row;
    tile.a_k = order().step;
    tile.b_k = tiles_.tile_cols;
    tile.b_padded = true;
    if (plan_.direct) {
      tile.k = images_.pairs();
      tile.b_k = images_.plane();
      tile.b_runs = plan_.tap_offsets;
      tile.num_runs = plan_.taps;
    }
    const KeepTiles keep(tiles_);
    for (int64_t i = first; i < last; ++i) {
      const RowRange rows = RowsOf(i);
      tile.rows = rows.count;
      tile.a = FiltersOf(group) + rows.begin * tile.a_row + k0 * tile.a_k;
      if (data_.bias != nullptr) tile.bias_of_row = data_.bias + group * plan_.m + rows.begin;
      for (const Panel& panel : panels) {
        const int64_t at = (rows.begin - panel.first_row) * panel.sums_row;
        tile.cols = panel.cols;
        tile.b = panel.patches + k0 / plan_.k_block * panel.patches_step;
        tile.c = panel.sums + at;
        tile.c_row = tile.residual_row = panel.sums_row;
        tile.residual = panel.residual == nullptr ? nullptr : panel.residual + at;
        tile.activation = ends && panel.lies_in_y ? data_.activation : ActivationSpec{};
        tiles_.tile(tile);
      }
    }
  }

  // Sums, from filter `begin` on, of a panel whose pixels lie in several images or rows of Y.
  void Scatter(int64_t group, int64_t begin, RowRange last, int64_t panel,
               const float* sums) const {
    const PairsTarget& target = plan_.target;
    int64_t pixel = panel * tiles_.tile_cols;
    const int64_t stop = std::min<int64_t>(pixel + tiles_.tile_cols, plan_.pixels);
    for (const float* from = sums; pixel < stop;) {
      const int64_t row = pixel % plan_.image_pixels() / plan_.columns;
      const int64_t column = pixel % plan_.columns;
      const int64_t count = std::min(stop - pixel, plan_.columns - column);
      int64_t at =
          ChannelAt(group, begin, pixel) + row * target.row_floats + column * target.column_floats;
      for (int64_t r = begin; r < last.begin + last.count; ++r, at += target.channel_floats)
        StoreRun(from + (r - begin) * sums_row(), count, at);
      pixel += count;
      from += count;
    }
  }

  void StoreRun(const float* from, int64_t count, int64_t at) const {
    float* y = data_.y + at;
    const int64_t stride = plan_.target.column_floats;
    if (data_.residual != nullptr) {
      const float* residual = data_.residual + at;
      for (int64_t j = 0; j < count; ++j) y[j * stride] = from[j] + residual[j * stride];
    } else if (stride == 1) {
      std::copy_n(from, count, y);
    } else {
      for (int64_t j = 0; j < count; ++j) y[j * stride] = from[j];
    }
    if (data_.activation.kind == Activation::kNone) return;
    for (int64_t j = 0; stride != 1 && j < count; ++j)
      tiles_.activate(data_.activation, y + j * stride, 1);
    if (stride == 1) tiles_.activate(data_.activation, y, count);
  }

  const PairsImages& images_;
  const PairsConvPlan& plan_;
  const PairsConvData& data_;
  const GemmTileKernels& tiles_;
  const ConvPairsKernels& kernels_;
  const ConvTileKernels& patches_;
};

}  // namespace

absl::StatusOr<Tensor> PackPairsFilters(Target target, const Tensor& w, int64_t groups,
                                        bool direct) {
  PairsImages images;
  images.groups = groups;
  images.channels = w.dims()[1];
  images.target = target;
  PairsConvPlan plan;
  plan.m = w.dims()[0] / groups;
  plan.taps = NumElements(w.dims().subspan(2));
  plan.filters = PairsFiltersOf(plan.m, images.channels, plan.taps);
  plan.direct = direct;
  CutPairsConv(kBf16TilesPerTarget.For(target)(), images, plan);
  std::vector<int32_t> index(static_cast<size_t>(plan.taps));
  std::iota(index.begin(), index.end(), 0);
  plan.tap_index = index.data();
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, Tensor::Create(DType::kFloat32, {plan.filter_floats}));
  PairsConvData data;
  data.w = w.data<float>();
  const PairsConv conv(images, plan, data);
  for (int64_t part = 0; part < conv.filter_parts(); ++part)
    conv.PackFilters(part, packed.mutable_data<float>());
  return packed;
}

void MakePlanes(const PairsImages& images, const PairsConvData& data, const RunContext& context) {
  const ConvPairsKernels& kernels = kConvPairsPerTarget.For(images.target)();
  const int64_t pairs = images.pairs(), plane = images.plane();
  context.ParallelFor(
      images.planes(), CeilDiv(kFillGrain, std::max<int64_t>(1, plane)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t channel = i % pairs * 2;
          const float* x = data.x + (i / pairs * images.channels + channel) * images.channel_floats;
          kernels.split_two_channels(
              images.window, x, channel + 1 < images.channels ? x + images.channel_floats : nullptr,
              data.planes + kPatchSlack + i * plane);
        }
      });
}

void RunPairsConv(const PairsImages& images, const PairsConvPlan& plan, const PairsConvData& data,
                  const RunContext& context) {
  const PairsConv conv(images, plan, data);
  if (plan.packs_filters) {
    context.ParallelFor(conv.filter_parts(),
                        CeilDiv(kFillGrain * conv.filter_parts(), plan.filter_floats),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t part = begin; part < end; ++part)
                            conv.PackFilters(part, data.scratch);
                        });
  }
  context.ParallelFor(conv.shared_parts(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) conv.PackShared(part);
  });
  float* workers = data.scratch + plan.filter_floats + plan.patch_floats;
  context.ParallelForWorkers(conv.chunks(), 1, [&](int worker, int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk)
      conv.RunChunk(chunk, workers + worker * plan.worker_floats);
  });
}

}  // namespace onward::kernels::cpu

// A float32 convolution as products of matrices, and the way they are cut. Per image and
// group: Y[m, n] = W[m, k] P[k, n] with m filters, n output pixels and k = channels x taps, where
// the columns of P are the patches of the image.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/bind/conv.h"
#include "kernels/cpu/simd/conv_tile.h"
#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {

// The operand that lies along the vectors.
enum class ConvForm : uint8_t {
  kPixelLanes,    // tiles of filters x pixels, stored as they are
  kChannelLanes,  // tiles of pixels x filters, stored transposed: for maps too small to fill lanes
};

struct ConvPlan {
  ConvForm form = ConvForm::kPixelLanes;
  PatchWindow window;
  int64_t images = 0;  // batch x groups
  int64_t groups = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t channels = 0;        // of a group
  int64_t channel_floats = 0;  // of one channel of the image
  int64_t out_floats = 0;      // of one channel of Y
  int64_t out_begin = 0;       // of the pixels that are computed, among them
  bool pointwise = false;      // P is the image itself
  bool packs_patches = false;
  bool shared_patches = false;  // packed once for all chunks, before the products
  int64_t row_tiles = 0;        // along m; along n for kChannelLanes
  int64_t panels = 0;           // of tile_cols along n; along m for kChannelLanes
  int64_t tiles_per_chunk = 0;
  int64_t panels_per_chunk = 0;
  int64_t row_chunks = 0;
  int64_t panel_chunks = 0;
  int64_t k_block = 0;
  int64_t plane_floats = 0;   // of one channel as planes
  int64_t patch_floats = 0;   // shared patches of one image
  int64_t worker_floats = 0;  // scratch of one worker

  int64_t chunks() const { return images * row_chunks * panel_chunks; }
  // Patches are packed from planes; those of a pointwise convolution from the image.
  bool splits_channels() const { return packs_patches && !pointwise; }
  int64_t image_floats() const { return channels * channel_floats; }
  int64_t planes_size() const {
    return splits_channels() ? images * channels * plane_floats + 2 * kPatchSlack : 0;
  }
};

// The windows over the last two axes.
PatchWindow WindowOf(const WindowAxes& axes);

// The floats from a channel's planes to what each tap reads, in the binding's memory.
const int64_t* KeepTapOffsets(BindContext& context, const PatchWindow& window);

// Returns the sizes where those of the images are known when compiling and W is constant, for a
// batch of one; nothing elsewhere, or where they do not fit.
std::optional<ConvGeometry> KnownGeometry(const NodeSpec& spec, const ConvAttributes& attributes);

// The sizes of a convolution with an optional residual, which Y may overwrite; sets the output.
absl::StatusOr<ConvGeometry> BindConv(const ConvAttributes& attributes, BindContext& context);
// The same of the convolution that a ConvTranspose with strides of 1 is, with its taps reversed.
absl::StatusOr<ConvGeometry> BindConv(const ConvTransposeAttributes& attributes,
                                      BindContext& context);

// A tile's rows when `rows` rows are cut into `tiles` of nearly equal size.
struct RowRange {
  int64_t begin;
  int count;
};
inline RowRange RowsOfTile(int64_t rows, int64_t tiles, int64_t tile) {
  const int64_t each = rows / tiles, longer = rows % tiles;
  return {tile * each + (tile < longer ? tile : longer),
          static_cast<int>(each + (tile < longer ? 1 : 0))};
}

// The form that wastes fewer lanes for convolutions of this size; kChannelLanes needs W constant.
ConvForm ChooseConvForm(const GemmTileKernels& tiles, const ConvGeometry& geometry);

ConvPlan PlanConv(const GemmTileKernels& tiles, ConvForm form, const ConvGeometry& geometry);

}  // namespace onward::kernels::cpu

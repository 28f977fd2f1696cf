#include "kernels/bind/depth_to_space.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels {
namespace {

absl::Status CannotCut(const BlockAttributes& blocks, DimsView dims) {
  return absl::InvalidArgumentError(
      absl::StrCat("shape ", DimsString(dims), " cannot be cut by blocksize ", blocks.block));
}

}  // namespace

absl::StatusOr<BlockAttributes> ParseBlocks(const NodeSpec& spec) {
  const int64_t block = spec.attributes().Int("blocksize", 0);
  if (block < 1 || block > (int64_t{1} << 30)) {
    return absl::InvalidArgumentError(
        absl::StrCat("blocksize is ", block, ", must be from 1 to 2^30"));
  }
  const std::string mode = spec.attributes().String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return absl::InvalidArgumentError(absl::StrCat("mode is '", mode, "', not DCR or CRD"));
  return BlockAttributes{block, mode == "DCR"};
}

absl::StatusOr<StridedView> DepthToSpaceView(const BlockAttributes& blocks, DimsView dims) {
  const int64_t block = blocks.block;
  if (dims.size() != 4 || dims[1] % (block * block) != 0) return CannotCut(blocks, dims);
  const int64_t n = dims[0], c = dims[1] / (block * block), h = dims[2], w = dims[3];
  // Source strides of channel, row in block, column in block.
  const int64_t channel = blocks.depth_first ? h * w : block * block * h * w;
  const int64_t row = blocks.depth_first ? block * c * h * w : block * h * w;
  const int64_t column = blocks.depth_first ? c * h * w : h * w;
  return StridedView{{n, c, h * block, w * block},
                     {n, c, h, block, w, block},
                     {dims[1] * h * w, channel, w, row, 1, column}};
}

absl::StatusOr<StridedView> SpaceToDepthView(const BlockAttributes& blocks, DimsView dims) {
  const int64_t block = blocks.block;
  if (dims.size() != 4 || dims[2] % block != 0 || dims[3] % block != 0)
    return CannotCut(blocks, dims);
  const int64_t n = dims[0], c = dims[1], h = dims[2] / block, w = dims[3] / block;
  const int64_t channel = dims[2] * dims[3], row = dims[3];
  const Dims output = {n, c * block * block, h, w};
  if (blocks.depth_first) {
    return StridedView{
        output, {n, block, block, c, h, w}, {c * channel, row, 1, channel, row * block, block}};
  }
  return StridedView{
      output, {n, c, block, block, h, w}, {c * channel, channel, row, 1, row * block, block}};
}

}  // namespace onward::kernels

#include "kernels/cpu/kept_boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kBoxesPerBin = 16;

bool IsSuppressed(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const float height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  if (!(width > 0) || !(height > 0)) return false;
  const float both = width * height, either = a.area + b.area - both;
  if (both <= 0 || a.area <= 0 || b.area <= 0 || either <= 0) return false;
  return both / either > threshold;
}

// An axis of some boxes.
struct Extent {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  double lengths = 0;

  void Add(float begin, float end) {
    if (!(begin < end) || !std::isfinite(begin) || !std::isfinite(end)) return;
    low = std::min(low, begin), high = std::max(high, end);
    lengths += static_cast<double>(end) - static_cast<double>(begin);
  }
  bool valid() const { return high > low && std::isfinite(high - low); }
  // The mean share of a box.
  double share() const { return lengths / (static_cast<double>(high) - static_cast<double>(low)); }
};

}  // namespace

int KeptBoxes::NumBins(int64_t boxes) {
  return static_cast<int>(std::clamp<int64_t>(boxes / kBoxesPerBin, 1, kMostBins));
}

int64_t KeptBoxes::Entries(int64_t boxes) {
  return kCovered * boxes + (NumBins(boxes) + 1) * kBoxPadding;
}

int64_t KeptBoxes::Bytes(int64_t boxes) {
  return static_cast<int64_t>(sizeof(Line)) * (kMostBins + 1) +
         Entries(boxes) * static_cast<int64_t>(kColumns * sizeof(float) + sizeof(int32_t));
}

KeptBoxes::KeptBoxes(const Box* boxes, absl::Span<const int32_t> candidates,
                     FirstOverlapLoop first_overlap, char* memory)
    : boxes_(boxes),
      first_overlap_(first_overlap),
      bins_(NumBins(static_cast<int64_t>(candidates.size()))),
      entries_(Entries(static_cast<int64_t>(candidates.size()))),
      lines_(reinterpret_cast<Line*>(memory)),
      columns_(reinterpret_cast<float*>(lines_ + kMostBins + 1)),
      index_(reinterpret_cast<int32_t*>(columns_ + kColumns * entries_)) {
  ChooseAxis(candidates);
  Reserve(candidates);
}

void KeptBoxes::ChooseAxis(absl::Span<const int32_t> candidates) {
  Extent x, y;
  for (const int32_t i : candidates) {
    x.Add(boxes_[i].x_min, boxes_[i].x_max);
    y.Add(boxes_[i].y_min, boxes_[i].y_max);
  }
  along_y_ = y.valid() && (!x.valid() || y.share() < x.share());
  const Extent& along = along_y_ ? y : x;
  if (!along.valid()) {
    bins_ = 1;
    return;
  }
  low_ = along.low;
  scale_ = static_cast<float>(bins_) / (along.high - along.low);
}

// Room in each line for all candidates that may be added to it.
void KeptBoxes::Reserve(absl::Span<const int32_t> candidates) {
  std::fill_n(lines_, bins_ + 1, Line());
  for (const int32_t i : candidates) {
    const Bins covered = Covered(boxes_[i]);
    for (int bin = covered.begin; bin < covered.end; ++bin) ++lines_[bin].count;
  }
  int64_t first = 0;
  for (int bin = 0; bin <= bins_; ++bin) {
    const int64_t most = lines_[bin].count;
    lines_[bin] = {first, 0};
    first += most + kBoxPadding;
  }
}

int KeptBoxes::BinOf(float place) const {
  const float bin = (place - low_) * scale_;
  // NaN of infinities, too, is the first one.
  if (!(bin > 0)) return 0;
  return bin >= static_cast<float>(bins_) ? bins_ - 1 : static_cast<int>(bin);
}

KeptBoxes::Bins KeptBoxes::Covered(const Box& box) const {
  const float begin = along_y_ ? box.y_min : box.x_min, end = along_y_ ? box.y_max : box.x_max;
  if (!(begin < end)) return {0, 0};
  const Bins covered = {BinOf(begin), BinOf(end) + 1};
  return covered.end - covered.begin > kCovered ? Bins{bins_, bins_ + 1} : covered;
}

void KeptBoxes::AddTo(Line& line, int32_t box) {
  const int64_t at = line.first + line.count++;
  const Box& b = boxes_[box];
  const float numbers[kColumns] = {b.x_min, b.y_min, b.x_max, b.y_max, b.area};
  for (int i = 0; i < kColumns; ++i) columns_[i * entries_ + at] = numbers[i];
  index_[at] = box;
}

void KeptBoxes::Add(int32_t box) {
  const Bins covered = Covered(boxes_[box]);
  for (int bin = covered.begin; bin < covered.end; ++bin) AddTo(lines_[bin], box);
}

bool KeptBoxes::SuppressesIn(const Line& line, const Box& box, float threshold) const {
  const float* from = columns_ + line.first;
  const BoxColumns all = {from, from + entries_, from + 2 * entries_, from + 3 * entries_,
                          from + 4 * entries_};
  // A little less, so that rounding hides none.
  const float share = threshold * 0.999f;
  for (int64_t i = 0; i < line.count; ++i) {
    i = first_overlap_(all, box, share, i, line.count);
    if (i < line.count && IsSuppressed(box, boxes_[index_[line.first + i]], threshold)) return true;
  }
  return false;
}

bool KeptBoxes::Suppresses(int32_t box, float threshold) const {
  const Box& b = boxes_[box];
  const float begin = along_y_ ? b.y_min : b.x_min, end = along_y_ ? b.y_max : b.x_max;
  if (!(begin < end)) return false;
  for (int bin = BinOf(begin); bin <= BinOf(end); ++bin)
    if (SuppressesIn(lines_[bin], b, threshold)) return true;
  return SuppressesIn(lines_[bins_], b, threshold);
}

}  // namespace onward::kernels::cpu

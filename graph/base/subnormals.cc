#include "graph/base/subnormals.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace onward {

namespace {

constexpr uint32_t kSign = 0x80000000u;
constexpr int32_t kSmallestNormal = 0x00800000;

// Compares with signs, as every instruction set has for vectors.
int32_t IsSubnormal(float value) {
  const auto magnitude = static_cast<int32_t>(std::bit_cast<uint32_t>(value) & ~kSign);
  return (magnitude > 0) & (magnitude < kSmallestNormal);
}

}  // namespace

bool HasSubnormals(absl::Span<const float> values) {
  constexpr size_t kBlock = 4096;  // a block has no exit, so that it is compiled to vectors
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const size_t size = std::min(values.size() - begin, kBlock);
    const float* block = values.data() + begin;
    int32_t any = 0;
    for (size_t i = 0; i < size; ++i) any |= IsSubnormal(block[i]);
    if (any != 0) return true;
  }
  return false;
}

void SubnormalsToZero(absl::Span<float> values) {
  for (float& value : values) {
    if (IsSubnormal(value) == 0) continue;
    value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & kSign);
  }
}

}  // namespace onward

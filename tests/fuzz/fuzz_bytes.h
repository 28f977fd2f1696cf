// Decisions drawn from a fuzzer's bytes. Bytes that have run out read as zeros, so every input
// decides everything, and an input's beginning decides first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

namespace onward::fuzz {

class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  uint64_t Word() {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | Byte();
    return word;
  }
  // In [0, count); `count` is positive.
  size_t Below(size_t count) {
    return count <= 256 ? Byte() % count : (size_t{Byte()} << 8 | Byte()) % count;
  }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<size_t>(high - low + 1)));
  }
  // True once in `count` draws; never when the bytes have run out.
  bool OneIn(size_t count) { return Below(count) == count - 1; }
  template <typename List>
  const auto& Pick(const List& list) {
    return list[Below(std::size(list))];
  }
  // Mostly small, sometimes at the edges of what integers hold.
  int64_t Integer() {
    static constexpr int64_t kEdges[] = {std::numeric_limits<int64_t>::min(),
                                         std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::min() + 1,
                                         std::numeric_limits<int32_t>::min(),
                                         std::numeric_limits<int32_t>::max(),
                                         int64_t{1} << 32,
                                         int64_t{1} << 40,
                                         -(int64_t{1} << 40),
                                         1000,
                                         65536,
                                         -129,
                                         255};
    return OneIn(6) ? Pick(kEdges) : Between(-4, 9);
  }
  float Real() {
    static constexpr float kEdges[] = {0.0f,
                                       -0.0f,
                                       std::numeric_limits<float>::infinity(),
                                       -std::numeric_limits<float>::infinity(),
                                       std::numeric_limits<float>::quiet_NaN(),
                                       std::numeric_limits<float>::max(),
                                       std::numeric_limits<float>::denorm_min(),
                                       1e30f,
                                       -1e10f};
    return OneIn(6) ? Pick(kEdges) : static_cast<float>(Between(-16, 16)) / 4.0f;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace onward::fuzz

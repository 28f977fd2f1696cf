// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC11). The value at an index depends on the stream and the index alone, so results do
// not depend on the number of threads or the device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/functor.h"

namespace onward::kernels {

// Names one stream of random numbers: a seed, the node that draws and the run of the session.
struct RandomStream {
  uint64_t seed = 0;
  uint32_t node = 0;
  uint32_t run = 0;
};

struct RandomBlock {
  uint32_t word[4];
};

// Block `index` of the stream: four independent uniform words.
ONWARD_HOST_DEVICE inline RandomBlock Philox(const RandomStream& stream, uint64_t index) {
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
  uint32_t c2 = stream.node, c3 = stream.run;
  uint32_t k0 = static_cast<uint32_t>(stream.seed), k1 = static_cast<uint32_t>(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Uniform in [0, 1), a multiple of 2^-24.
ONWARD_HOST_DEVICE inline float UniformFloat(uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// Uniform in [0, 1), a multiple of 2^-53.
ONWARD_HOST_DEVICE inline double UniformDouble(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

// Uniform numbers of type T (float or double): kPerBlock come from one block.
template <typename T>
struct UniformNumbers {
  static constexpr int kPerBlock = 16 / sizeof(T);
  ONWARD_HOST_DEVICE static void Draw(const RandomStream& stream, uint64_t block, T* out) {
    const RandomBlock words = Philox(stream, block);
    if constexpr (sizeof(T) == sizeof(float)) {
      for (int i = 0; i < 4; ++i) out[i] = UniformFloat(words.word[i]);
    } else {
      out[0] = UniformDouble(words.word[0], words.word[1]);
      out[1] = UniformDouble(words.word[2], words.word[3]);
    }
  }
};

// Standard normal numbers by the Box-Muller transform, in pairs of uniform ones.
template <typename T>
struct NormalNumbers {
  static constexpr int kPerBlock = UniformNumbers<T>::kPerBlock;
  ONWARD_HOST_DEVICE static void Draw(const RandomStream& stream, uint64_t block, T* out) {
    UniformNumbers<T>::Draw(stream, block, out);
    for (int i = 0; i < kPerBlock; i += 2) {
      const T radius = std::sqrt(T(-2) * std::log(T(1) - out[i]));
      const T angle = T(6.28318530717958647692) * out[i + 1];
      out[i] = radius * std::cos(angle);
      out[i + 1] = radius * std::sin(angle);
    }
  }
};

}  // namespace onward::kernels

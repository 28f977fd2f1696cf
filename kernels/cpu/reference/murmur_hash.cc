// com.microsoft.MurmurHash3: MurmurHash3_x86_32 (Austin Appleby, public domain) of the bytes of
// each element.
#include <cstring>
#include <string>

#include "graph/ops/onward_schemas.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

uint32_t RotatedLeft(uint32_t x, int bits) { return (x << bits) | (x >> (32 - bits)); }

uint32_t Mixed(uint32_t block) { return RotatedLeft(block * 0xcc9e2d51u, 15) * 0x1b873593u; }

uint32_t Hash(const unsigned char* bytes, size_t size, uint32_t seed) {
  uint32_t h = seed;
  const size_t blocks = size / 4;
  for (size_t i = 0; i < blocks; ++i) {
    uint32_t block;
    std::memcpy(&block, bytes + 4 * i, 4);
    h = RotatedLeft(h ^ Mixed(block), 13) * 5 + 0xe6546b64u;
  }
  uint32_t rest = 0;
  for (size_t i = size; i > 4 * blocks; --i) rest = rest << 8 | bytes[i - 1];
  h ^= Mixed(rest);
  h ^= static_cast<uint32_t>(size);
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

// The dtype of the result is of one width whether it has a sign or not.
class MurmurHash : public Kernel {
 public:
  MurmurHash(size_t size, uint32_t seed) : size_(size), seed_(seed) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    uint32_t* to = static_cast<uint32_t*>(context.output(0).data);
    context.ParallelFor(in.num_elements(), kCheapGrain / 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (size_ == 0) {
          const std::string& text = static_cast<const std::string*>(in.data)[i];
          to[i] = Hash(reinterpret_cast<const unsigned char*>(text.data()), text.size(), seed_);
        } else {
          const auto* bytes = static_cast<const unsigned char*>(in.data);
          to[i] = Hash(bytes + static_cast<size_t>(i) * size_, size_, seed_);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  size_t size_;  // of an element in bytes; 0: strings
  uint32_t seed_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMurmurHash(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  const size_t size = dtype == DType::kString ? 0 : static_cast<size_t>(ByteSize(dtype, 1));
  return std::make_unique<MurmurHash>(size,
                                      static_cast<uint32_t>(spec.attributes().Int("seed", 0)));
}

constexpr KernelEntry kKernels[] = {
    {kMicrosoftDomain, "MurmurHash3", "murmur_hash_reference", MakeMurmurHash},
};

}  // namespace

KernelList ReferenceMurmurHash() { return kKernels; }

}  // namespace onward::kernels::cpu

// EyeLike, by element size.
#include <cstring>
#include <utility>

#include "kernels/bind/eye_like.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

// k is compared without adding to it, for it may be any int64.
template <typename T>
__global__ void EyeLoop(T* out, T one, int64_t count, int64_t columns, int64_t k) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t row = Quotient(i, columns), column = i - row * columns;
    out[i] = column - row == k ? one : T{};
  }
}

class EyeLike : public Kernel {
 public:
  EyeLike(Tensor one, int64_t k) : one_(std::move(one)), k_(k) {}
  absl::Status Bind(BindContext& context) const override { return BindEyeLike(context); }
  absl::Status Run(RunContext& context) const override {
    const TensorView& out = context.output(0);
    const int64_t count = out.num_elements();
    if (count == 0) return absl::OkStatus();
    return DispatchChunk(static_cast<uint64_t>(BitSize(out.dtype) / 8), [&](auto chunk) {
      using T = decltype(chunk);
      T one;
      std::memcpy(&one, one_.raw_data(), sizeof(T));
      return Launch(EyeLoop<T>, Blocks(count), kThreads, 0, StreamOf(context), context.out<T>(0),
                    one, count, out.dim(1), k_);
    });
  }

 private:
  Tensor one_;
  int64_t k_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeEyeLike(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(Tensor one, EyeLikeOne(spec));
  return std::make_unique<EyeLike>(std::move(one), spec.attributes().Int("k", 0));
}

constexpr KernelEntry kKernels[] = {{"", "EyeLike", "eye_like_cuda", MakeEyeLike}};

}  // namespace

KernelList EyeLikeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda

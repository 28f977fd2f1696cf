// Dropout: the identity, or in training mode a random mask and the scale 1 / (1 - ratio). The mask
// of a node with a seed is that of the standard's reference, which draws it from NumPy's
// RandomState(seed); its run r of a session draws from RandomState(seed + r).
#include "kernels/bind/dropout.h"

#include <optional>
#include <random>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/random_source.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kPerBlock = UniformNumbers<float>::kPerBlock;

// Numbers of the node's counter-based stream, by blocks.
class BlockNumbers {
 public:
  BlockNumbers(const RandomStream& stream, int64_t begin)
      : stream_(stream), next_(begin / kPerBlock), skipped_(begin % kPerBlock) {
    if (skipped_ > 0) DrawBlock();
  }
  void Draw(double* numbers) {
    double* next = numbers;
    if (skipped_ > 0) next = std::copy(block_ + skipped_, block_ + kPerBlock, numbers);
    DrawBlock();
    std::copy(block_, block_ + (numbers + kPerBlock - next), next);
  }

 private:
  void DrawBlock() { UniformNumbers<float>::Draw(stream_, static_cast<uint64_t>(next_++), block_); }

  const RandomStream& stream_;
  int64_t next_, skipped_;
  float block_[kPerBlock];
};

// NumPy's RandomState(seed).uniform(): 53 bits of two numbers of a Mersenne twister.
class LegacyNumbers {
 public:
  LegacyNumbers(uint32_t seed, int64_t begin) : engine_(seed) {
    engine_.discard(2 * static_cast<uint64_t>(begin));
  }
  void Draw(double* numbers) {
    for (int64_t i = 0; i < kPerBlock; ++i) {
      const uint32_t high = static_cast<uint32_t>(engine_()) >> 5;
      const uint32_t low = static_cast<uint32_t>(engine_()) >> 6;
      numbers[i] = (high * 67108864.0 + low) / 9007199254740992.0;
    }
  }

 private:
  std::mt19937 engine_;
};

struct DropoutSpan {
  const void* in;
  void* out;
  bool* mask;  // may be null
  int64_t begin, end;
};

template <typename T, typename Numbers>
void DropElements(Numbers& source, double ratio, const DropoutSpan& span) {
  using C = ComputeType<T>;
  const C scale = static_cast<C>(1.0 / (1.0 - ratio));
  const T* x = static_cast<const T*>(span.in);
  T* y = static_cast<T*>(span.out);
  for (int64_t i = span.begin; i < span.end; i += kPerBlock) {
    double numbers[kPerBlock];
    source.Draw(numbers);
    for (int64_t k = i; k < std::min(span.end, i + kPerBlock); ++k) {
      const bool keep = numbers[k - i] >= ratio;
      y[k] = keep ? static_cast<T>(static_cast<C>(x[k]) * scale) : static_cast<T>(C(0));
      if (span.mask != nullptr) span.mask[k] = keep;
    }
  }
}

struct DropoutLoops {
  void (*blocks)(BlockNumbers& source, double ratio, const DropoutSpan& span) = nullptr;
  void (*legacy)(LegacyNumbers& source, double ratio, const DropoutSpan& span) = nullptr;
};

class Dropout : public Kernel {
 public:
  Dropout(DropoutLoops loops, RandomSource source, std::optional<int64_t> seed, bool may_drop)
      : loops_(loops), source_(source), seed_(seed), may_drop_(may_drop) {}

  absl::Status Bind(BindContext& context) const override { return BindDropout(context, may_drop_); }

  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const TensorView& out = context.output(0);
    bool* mask = context.has_output(1) ? context.out<bool>(1) : nullptr;
    ONWARD_ASSIGN_OR_RETURN(const double ratio, DropoutRatio(context, may_drop_));
    if (ratio == 0.0) {
      if (in.data != out.data) CopyElements(in, out);
      if (mask != nullptr) std::fill(mask, mask + in.num_elements(), true);
      return absl::OkStatus();
    }
    const BatchElements elements = source_.Elements(context, in.dims);
    if (seed_) {
      const auto seed = static_cast<uint64_t>(*seed_) + context.services()->run_index();
      elements.ForEachPart(0, in.num_elements(), [&](int64_t begin, int64_t end, int64_t at) {
        LegacyNumbers numbers(static_cast<uint32_t>(seed), at);
        loops_.legacy(numbers, ratio, {in.data, out.data, mask, begin, end});
      });
      return absl::OkStatus();
    }
    const RandomStream stream = source_.Stream(context);
    const auto draw = [&](int64_t begin, int64_t end, int64_t at) {
      BlockNumbers numbers(stream, at);
      loops_.blocks(numbers, ratio, {in.data, out.data, mask, begin, end});
    };
    context.ParallelFor(in.num_elements(), kMathGrain, [&](int64_t begin, int64_t end) {
      elements.ForEachPart(begin, end, draw);
    });
    return absl::OkStatus();
  }
  bool pure() const override { return !may_drop_; }

 private:
  DropoutLoops loops_;
  RandomSource source_;
  std::optional<int64_t> seed_;
  bool may_drop_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDropout(const NodeSpec& spec) {
  DropoutLoops loops;
  DispatchDType(DropoutTypes(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    loops = {DropElements<T, BlockNumbers>, DropElements<T, LegacyNumbers>};
  });
  if (loops.blocks == nullptr) return NoLoopFor(spec.input_dtype(0));
  std::optional<int64_t> seed;
  if (spec.attributes().Has("seed")) seed = spec.attributes().Int("seed", 0);
  return std::make_unique<Dropout>(loops, RandomSource(spec), seed, MayDrop(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "Dropout", "dropout_reference", MakeDropout},
};

}  // namespace

KernelList ReferenceDropout() { return kKernels; }

}  // namespace onward::kernels::cpu

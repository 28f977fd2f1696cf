// onward.MapBytes: 8-bit integers by a table.
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/quantize_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 64 * 1024;  // bytes
constexpr int64_t kEntries = 256;

class MapBytes : public Kernel {
 public:
  explicit MapBytes(const QuantizeLoops& loops) : loops_(loops) {}

  absl::Status Bind(BindContext& context) const override {
    if (context.input_dims(1) != DimsView({kEntries})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the table has shape ", DimsString(context.input_dims(1)), ", must be [256]"));
    }
    context.SetOutput(0, context.input_dims(0));
    context.AllowInPlace(0, 0);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    // By the bits of a number, of which negative ones come last.
    uint8_t table[kEntries];
    const int64_t first = context.input(0).dtype == DType::kInt8 ? kEntries / 2 : 0;
    const uint8_t* given = context.in<uint8_t>(1);
    for (int64_t i = 0; i < kEntries; ++i) table[i] = given[(i + first) % kEntries];
    const uint8_t* x = context.in<uint8_t>(0);
    uint8_t* y = context.out<uint8_t>(0);
    context.ParallelFor(context.input(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      loops_.map(x + begin, end - begin, table, y + begin);
    });
    return absl::OkStatus();
  }

 private:
  const QuantizeLoops& loops_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMapBytes(const NodeSpec& spec) {
  return std::make_unique<MapBytes>(kQuantizationPerTarget.For(TargetOf(spec))());
}

constexpr KernelEntry kKernels[] = {
    {"onward", "MapBytes", "map_bytes", MakeMapBytes, kVectorTargets},
};

}  // namespace

KernelList ByteTableKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

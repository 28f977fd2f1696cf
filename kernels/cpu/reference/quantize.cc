// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. Packed types pass through one byte
// per element; scales and zero points through float.
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/quantized_range.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/quantize_plan.h"

namespace onward::kernels::cpu {
namespace {

// How x / scale is rounded before it is rounded to the quantized type.
enum class DivisionPrecision { kFloat, kFloat16, kBFloat16, kDouble };

// Of an integer type's codes.
struct CodeRange {
  int32_t low, high;
};

// Nothing for a float type.
CodeRange CodesOf(DType dtype) {
  if (IsFloating(dtype)) return {0, 0};
  const QuantizedRange range = QuantizedRangeOf(dtype);
  return {static_cast<int32_t>(range.low), static_cast<int32_t>(range.high)};
}

// Whether QuantizeLinear gives the type.
bool IsQuantized(DType dtype) {
  if (IsFloating(dtype)) return BitSize(dtype) <= 8 && dtype != DType::kFloat8E8M0;
  return std::isfinite(QuantizedRangeOf(dtype).high);
}

double Divide(double x, double scale, DivisionPrecision precision) {
  if (precision == DivisionPrecision::kDouble) return x / scale;
  const float quotient = static_cast<float>(x) / static_cast<float>(scale);
  if (precision == DivisionPrecision::kFloat16)
    return static_cast<double>(static_cast<float>(Float16(quotient)));
  if (precision == DivisionPrecision::kBFloat16)
    return static_cast<double>(static_cast<float>(BFloat16(quotient)));
  return static_cast<double>(quotient);
}

// Writes one row of quotients as codes of one byte (packed types) or the stored type.
struct RowStore {
  DType dtype;
  bool saturate;
  CodeRange range;

  void Integers(const double* quotients, const float* zeros, int64_t zero_step, int64_t count,
                void* out, int64_t offset) const {
    const auto code = [&](int64_t i) {
      const double rounded = std::nearbyint(quotients[i]);
      const double shifted = rounded + static_cast<double>(zeros[i * zero_step]);
      if (!(shifted > range.low)) return range.low;  // NaN too
      return shifted >= range.high ? range.high : static_cast<int32_t>(shifted);
    };
    if (BitSize(dtype) == 16) {
      auto* to = static_cast<uint16_t*>(out) + offset;
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint16_t>(code(i));
    } else {
      auto* to = static_cast<uint8_t*>(out) + offset;
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(code(i));
    }
  }

  void Floats(const double* quotients, const float* zeros, int64_t zero_step, int64_t count,
              void* out, int64_t offset) const {
    auto* to = static_cast<uint8_t*>(out) + offset;
    DispatchDType(PackedFloatTypes(), dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < count; ++i)
        to[i] = T(static_cast<float>(quotients[i]) + zeros[i * zero_step]).bits;
    });
    DispatchDType(TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>(), dtype,
                  [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    for (int64_t i = 0; i < count; ++i) {
                      const float value = static_cast<float>(quotients[i]) + zeros[i * zero_step];
                      to[i] = Float8FromFloat(T::kKind, value, saturate);
                    }
                  });
  }
};

class QuantizeLinear : public Kernel {
 public:
  QuantizeLinear(DType out, QuantizeAttributes attributes, DivisionPrecision precision,
                 bool saturate)
      : attributes_(attributes), precision_(precision), store_{out, saturate, CodesOf(out)} {}

  absl::Status Bind(BindContext& context) const override {
    return BindQuantization(context, attributes_, store_.dtype);
  }

  absl::Status Run(RunContext& context) const override {
    const QuantizePlan& plan = context.state<QuantizePlan>();
    const QuantizeScratch scratch = PrepareScales(context, plan);
    const TensorView& x = context.input(0);
    const bool packed = IsSubByte(store_.dtype);
    void* out = packed ? static_cast<void*>(scratch.unpacked) : context.output(0).data;
    ForEachRow(context, plan, [&](const QuantizeRow& row) {
      double buffer[kQuantizeColumns];
      LoadDoubles(x, row.offset, row.count, buffer);
      const float* scales = scratch.scales + row.scale;
      for (int64_t i = 0; i < row.count; ++i)
        buffer[i] = Divide(buffer[i], static_cast<double>(scales[i * row.scale_step]), precision_);
      const float* zeros = scratch.zeros + row.scale;
      if (IsFloating(store_.dtype)) {
        store_.Floats(buffer, zeros, row.scale_step, row.count, out, row.offset);
      } else {
        store_.Integers(buffer, zeros, row.scale_step, row.count, out, row.offset);
      }
    });
    if (packed)
      PackSubByte(store_.dtype, scratch.unpacked, x.num_elements(), context.output(0).data);
    return absl::OkStatus();
  }

 private:
  QuantizeAttributes attributes_;
  DivisionPrecision precision_;
  RowStore store_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeQuantizeLinear(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  DType out = static_cast<DType>(attributes.Int("output_dtype", 0));
  if (spec.has_input(2)) {
    if (out != DType::kUndefined && out != spec.input_dtype(2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_dtype is ", std::string(DTypeName(out)), " but y_zero_point is ",
                       std::string(DTypeName(spec.input_dtype(2)))));
    }
    out = spec.input_dtype(2);
  }
  if (out == DType::kUndefined) out = DType::kUint8;
  if (!IsQuantized(out)) return NoLoopFor(out);
  for (int i : {0, 1}) {
    if (!CanLoad(spec.input_dtype(i))) return NoLoopFor(spec.input_dtype(i));
  }
  const auto given = static_cast<DType>(attributes.Int("precision", 0));
  const DType precision = given == DType::kUndefined ? spec.input_dtype(1) : given;
  DivisionPrecision division = DivisionPrecision::kFloat;
  if (precision == DType::kFloat16) division = DivisionPrecision::kFloat16;
  if (precision == DType::kBFloat16) division = DivisionPrecision::kBFloat16;
  if (precision == DType::kInt32 || precision == DType::kFloat64)
    division = DivisionPrecision::kDouble;
  return std::make_unique<QuantizeLinear>(out, QuantizeAttributes(spec), division,
                                          attributes.Int("saturate", 1) != 0);
}

class DequantizeLinear : public Kernel {
 public:
  DequantizeLinear(DType out, QuantizeAttributes attributes) : out_(out), attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    return BindQuantization(context, attributes_, context.input_dtype(0));
  }

  absl::Status Run(RunContext& context) const override {
    const QuantizePlan& plan = context.state<QuantizePlan>();
    const QuantizeScratch scratch = PrepareScales(context, plan);
    TensorView x = context.input(0);
    if (IsSubByte(x.dtype)) {
      UnpackSubByte(x.dtype, x.data, x.num_elements(), scratch.unpacked);
      x.data = scratch.unpacked;
    }
    DispatchDType(FloatTypes(), out_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* y = context.out<T>(0);
      ForEachRow(context, plan, [&](const QuantizeRow& row) {
        float buffer[kQuantizeColumns];
        LoadUnpacked(x, row.offset, row.count, buffer);
        const float* scales = scratch.scales + row.scale;
        const float* zeros = scratch.zeros + row.scale;
        T* to = y + row.offset;
        if (row.scale_step == 0) {
          const float scale = *scales, zero = *zeros;
          for (int64_t i = 0; i < row.count; ++i)
            to[i] = static_cast<T>((buffer[i] - zero) * scale);
        } else {
          for (int64_t i = 0; i < row.count; ++i)
            to[i] = static_cast<T>((buffer[i] - zeros[i]) * scales[i]);
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  DType out_;
  QuantizeAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDequantizeLinear(const NodeSpec& spec) {
  DType out = static_cast<DType>(spec.attributes().Int("output_dtype", 0));
  if (out == DType::kUndefined) out = spec.input_dtype(1);
  if (out != DType::kFloat32 && out != DType::kFloat16 && out != DType::kBFloat16)
    return NoLoopFor(out);
  for (int i : {0, 1}) {
    if (!CanLoad(spec.input_dtype(i))) return NoLoopFor(spec.input_dtype(i));
  }
  return std::make_unique<DequantizeLinear>(out, QuantizeAttributes(spec));
}

// uint8 with the range [min(x, 0), max(x, 0)].
class DynamicQuantizeLinear : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    BindDynamicQuantize(context);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const float* x = context.in<float>(0);
    const int64_t count = context.input(0).num_elements();
    float low = 0, high = 0;
    for (int64_t i = 0; i < count; ++i) {
      low = x[i] < low ? x[i] : low;
      high = x[i] > high ? x[i] : high;
    }
    const float scale = (high == low ? 1.0f : high - low) / 255.0f;
    const float zero = std::nearbyint(std::min(255.0f, std::max(0.0f, -low / scale)));
    *context.out<float>(1) = scale;
    *context.out<uint8_t>(2) = static_cast<uint8_t>(zero);
    uint8_t* y = context.out<uint8_t>(0);
    context.ParallelFor(count, kCheapGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float value = std::nearbyint(x[i] / scale) + zero;
        y[i] = static_cast<uint8_t>(!(value > 0.0f) ? 0.0f : value > 255.0f ? 255.0f : value);
      }
    });
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDynamicQuantizeLinear(const NodeSpec& spec) {
  if (spec.input_dtype(0) != DType::kFloat32) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<DynamicQuantizeLinear>();
}

constexpr KernelEntry kKernels[] = {
    {"", "DequantizeLinear", "dequantize_linear_reference", MakeDequantizeLinear},
    {"", "DynamicQuantizeLinear", "dynamic_quantize_linear_reference", MakeDynamicQuantizeLinear},
    {"", "QuantizeLinear", "quantize_linear_reference", MakeQuantizeLinear},
};

}  // namespace

KernelList ReferenceQuantize() { return kKernels; }

}  // namespace onward::kernels::cpu

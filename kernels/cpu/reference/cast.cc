// Cast, CastLike and BitCast. Types with a C++ number behind them convert by one loop per pair; the
// 8-bit floats, packed types and strings pass through blocks of float or int8.
#include "kernels/bind/cast.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/cast_convert.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/cast_string.h"

namespace onward::kernels::cpu {
namespace {

using PlainTypes = Concat<NumericTypes, TypeList<bool>>;

// Elements per block: a multiple of all packing factors.
constexpr int64_t kBlock = 1024;

// How values convert to the 8-bit float formats.
struct CastOptions {
  bool saturate = true;
  E8M0Rounding rounding = E8M0Rounding::kUp;
};

using ConvertLoop = void (*)(const void* from, void* to, int64_t count);

template <typename From, typename To>
void RunConvert(const void* from_data, void* to_data, int64_t count) {
  const From* from = static_cast<const From*>(from_data);
  To* to = static_cast<To*>(to_data);
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    // Blocks without NaN and values out of range take the processor's conversion.
    constexpr bool kShort = sizeof(To) < 4 || std::is_same_v<To, int32_t>;
    using Whole = std::conditional_t<kShort, int32_t, int64_t>;
    constexpr From kLimit = From(std::is_same_v<Whole, int32_t> ? 0x1p31 : 0x1p63);
    constexpr int64_t kRun = 64;
    while (i + kRun <= count) {
      int inside = 1;
      for (int64_t j = i; j < i + kRun; ++j) inside &= (from[j] > -kLimit) & (from[j] < kLimit);
      if (inside == 0) {
        for (const int64_t end = i + kRun; i < end; ++i) to[i] = Convert<To>(from[i]);
        continue;
      }
      for (const int64_t end = i + kRun; i < end; ++i)
        to[i] = static_cast<To>(static_cast<Whole>(from[i]));
    }
  }
  for (; i < count; ++i) to[i] = Convert<To>(from[i]);
}

ConvertLoop FindConvert(DType from, DType to) {
  ConvertLoop loop = nullptr;
  DispatchDType(PlainTypes(), from, [&](auto source) {
    DispatchDType(PlainTypes(), to, [&](auto target) {
      using From = typename decltype(source)::type;
      // Loops over bytes take vectors, those over bools do not.
      using Plain = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
      loop = RunConvert<Plain, typename decltype(target)::type>;
    });
  });
  return loop;
}

// The plain type through which elements of `dtype` pass: itself, or what a block is decoded to.
DType CarrierOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
    case DType::kFloat4E2M1:
    case DType::kFloat6E2M3:
    case DType::kFloat6E3M2:
      return DType::kFloat32;
    case DType::kUint4:
    case DType::kUint2:
      return DType::kUint8;
    case DType::kInt4:
    case DType::kInt2:
      return DType::kInt8;
    default:
      return dtype;
  }
}

// Decodes elements [begin, begin + count) of a type that is not plain; `begin` is a multiple of
// kBlock.
void DecodeBlock(DType dtype, const void* data, int64_t begin, int64_t count, void* carrier) {
  const auto* bytes = static_cast<const uint8_t*>(data) + ByteSize(dtype, begin);
  if (IsSubByte(dtype)) {
    auto* unpacked = static_cast<int8_t*>(carrier);
    if (!IsFloating(dtype)) return UnpackSubByte(dtype, bytes, count, unpacked);
    int8_t codes[kBlock];
    UnpackSubByte(dtype, bytes, count, codes);
    DispatchDType(PackedFloatTypes(), dtype, [&](auto tag) {
      typename decltype(tag)::type value;
      for (int64_t i = 0; i < count; ++i) {
        value.bits = static_cast<uint8_t>(codes[i]);
        static_cast<float*>(carrier)[i] = static_cast<float>(value);
      }
    });
    return;
  }
  DispatchDType(Float8Types(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = reinterpret_cast<const T*>(bytes);
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(carrier)[i] = static_cast<float>(values[i]);
  });
}

void EncodeBlock(DType dtype, const void* carrier, const CastOptions& options, int64_t begin,
                 int64_t count, void* data) {
  auto* bytes = static_cast<uint8_t*>(data) + ByteSize(dtype, begin);
  const float* values = static_cast<const float*>(carrier);
  if (IsSubByte(dtype)) {
    if (!IsFloating(dtype))
      return PackSubByte(dtype, static_cast<const int8_t*>(carrier), count, bytes);
    int8_t codes[kBlock];
    DispatchDType(PackedFloatTypes(), dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<int8_t>(T(values[i]).bits);
    });
    return PackSubByte(dtype, codes, count, bytes);
  }
  if (dtype == DType::kFloat8E8M0) {
    for (int64_t i = 0; i < count; ++i)
      bytes[i] = Float8E8M0FromFloat(values[i], options.saturate, options.rounding);
    return;
  }
  DispatchDType(TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>(), dtype,
                [&](auto tag) {
                  using T = typename decltype(tag)::type;
                  for (int64_t i = 0; i < count; ++i)
                    bytes[i] = Float8FromFloat(T::kKind, values[i], options.saturate);
                });
}

// A double is brought to float with its sticky bit, so that the formats of 8 bits and fewer round
// it once.
void RoundBlockToOdd(const void* from, void* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<float*>(to)[i] = RoundToOdd(static_cast<const double*>(from)[i]);
}

absl::Status ParseBlock(DType carrier, const std::string* text, int64_t count, void* out) {
  absl::Status status;
  DispatchDType(PlainTypes(), carrier, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    for (int64_t i = 0; i < count && status.ok(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        status = ParseBool(text[i], to + i);
      } else if constexpr (std::is_integral_v<T>) {
        int64_t bits = 0;
        status = ParseInteger(text[i], &bits);
        to[i] = static_cast<T>(bits);
      } else {
        double value = 0;
        status = ParseDouble(text[i], &value);
        to[i] = Convert<T>(value);
      }
    }
  });
  return status;
}

int MantissaBits(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 53;
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat6E2M3:
      return 4;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat6E3M2:
      return 3;
    case DType::kFloat4E2M1:
      return 2;
    case DType::kFloat8E8M0:
      return 1;
    default:
      return 24;
  }
}

void PrintBlock(DType carrier, int mantissa_bits, const void* from, int64_t count,
                std::string* text) {
  DispatchDType(PlainTypes(), carrier, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = static_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        text[i] = values[i] ? "True" : "False";
      } else if constexpr (std::is_integral_v<T>) {
        text[i] = absl::StrCat(values[i]);
      } else {
        text[i] = FloatToString(static_cast<double>(values[i]), mantissa_bits);
      }
    }
  });
}

// Converts between any two types, block by block.
class BlockCast : public Kernel {
 public:
  BlockCast(DType from, DType to, CastOptions options)
      : from_(from),
        to_(to),
        from_carrier_(CarrierOf(from)),
        to_carrier_(CarrierOf(to)),
        convert_(from == DType::kFloat64 && to_carrier_ != to && to_carrier_ == DType::kFloat32
                     ? RoundBlockToOdd
                     : FindConvert(from_carrier_, to_carrier_)),
        options_(options) {}

  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.input(0).num_elements();
    if (from_ == DType::kString) {
      // Text may be malformed: in order, so that the first error is always the same.
      for (int64_t begin = 0; begin < count; begin += kBlock) {
        ONWARD_RETURN_IF_ERROR(RunBlock(context, begin, std::min(kBlock, count - begin)));
      }
      return absl::OkStatus();
    }
    const int64_t blocks = (count + kBlock - 1) / kBlock;
    context.ParallelFor(blocks, kMathGrain / kBlock, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        const int64_t begin = block * kBlock;
        RunBlock(context, begin, std::min(kBlock, count - begin)).IgnoreError();
      }
    });
    return absl::OkStatus();
  }

 private:
  // Fails only when it reads strings.
  absl::Status RunBlock(const RunContext& context, int64_t begin, int64_t count) const {
    alignas(64) std::byte decoded[kBlock * 8], converted[kBlock * 8];
    const void* source = context.input(0).data;
    void* target = context.output(0).data;
    const bool plain_target = to_carrier_ == to_ && to_ != DType::kString;
    void* out = plain_target ? static_cast<std::byte*>(target) + ByteSize(to_, begin) : converted;
    if (from_ == DType::kString) {
      const std::string* text = static_cast<const std::string*>(source) + begin;
      ONWARD_RETURN_IF_ERROR(ParseBlock(to_carrier_, text, count, out));
    } else {
      const void* in = static_cast<const std::byte*>(source) + ByteSize(from_, begin);
      if (from_carrier_ != from_) {
        DecodeBlock(from_, source, begin, count, decoded);
        in = decoded;
      }
      if (to_ == DType::kString) {
        PrintBlock(from_carrier_, MantissaBits(from_), in, count,
                   static_cast<std::string*>(target) + begin);
        return absl::OkStatus();
      }
      convert_(in, out, count);
    }
    if (!plain_target) EncodeBlock(to_, converted, options_, begin, count, target);
    return absl::OkStatus();
  }

  DType from_, to_, from_carrier_, to_carrier_;
  ConvertLoop convert_;
  CastOptions options_;
};

// Converts between plain types by one loop.
class PlainCast : public Kernel {
 public:
  PlainCast(ConvertLoop loop, DType from, DType to)
      : loop_(loop), from_size_(BitSize(from) / 8), to_size_(BitSize(to) / 8) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    if (from_size_ == to_size_) context.AllowInPlace(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const std::byte* from = context.in<std::byte>(0);
    std::byte* to = context.out<std::byte>(0);
    context.ParallelFor(context.input(0).num_elements(), kCheapGrain,
                        [&](int64_t begin, int64_t end) {
                          loop_(from + begin * from_size_, to + begin * to_size_, end - begin);
                        });
    return absl::OkStatus();
  }

 private:
  ConvertLoop loop_;
  int64_t from_size_, to_size_;
};

// The same elements, or (BitCast) the same bits under another name.
class Rename : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override { return BindSameBits(context); }
  absl::Status Run(RunContext& context) const override {
    const TensorView& from = context.input(0);
    void* to = context.output(0).data;
    if (from.data == to) return absl::OkStatus();
    if (from.dtype == DType::kString) {
      CopyElements(from, context.output(0));
    } else if (from.byte_size() > 0) {
      std::memcpy(to, from.data, static_cast<size_t>(from.byte_size()));
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeCastTo(const NodeSpec& spec, DType to) {
  const DType from = spec.input_dtype(0);
  if (from == to) return std::make_unique<Rename>();
  CastOptions options;
  options.saturate = spec.attributes().Int("saturate", 1) != 0;
  const std::string rounding = spec.attributes().String("round_mode", "up");
  if (rounding == "down") {
    options.rounding = E8M0Rounding::kDown;
  } else if (rounding == "nearest") {
    options.rounding = E8M0Rounding::kNearest;
  } else if (rounding != "up") {
    return absl::InvalidArgumentError(
        absl::StrCat("round_mode is '", rounding, "', not 'up', 'down' or 'nearest'"));
  }
  if (ConvertLoop loop = FindConvert(from, to); loop != nullptr)
    return std::make_unique<PlainCast>(loop, from, to);
  for (DType dtype : {from, to}) {
    if (dtype != DType::kString && FindConvert(CarrierOf(dtype), DType::kFloat32) == nullptr)
      return NoLoopFor(dtype);
  }
  return std::make_unique<BlockCast>(from, to, options);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCast(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const DType to, CastTarget(spec));
  return MakeCastTo(spec, to);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCastLike(const NodeSpec& spec) {
  return MakeCastTo(spec, spec.input_dtype(1));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBitCast(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckBitCast(spec));
  return std::make_unique<Rename>();
}

constexpr KernelEntry kKernels[] = {
    {"", "BitCast", "bit_cast_reference", MakeBitCast},
    {"", "Cast", "cast_reference", MakeCast},
    {"", "CastLike", "cast_like_reference", MakeCastLike},
};

}  // namespace

KernelList ReferenceCast() { return kKernels; }

}  // namespace onward::kernels::cpu

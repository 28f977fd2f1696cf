// Expected values: the reference evaluator of onnx 1.23 (NumPy), 16-bit floats in float32 and
// rounded once.
#include "tests/cases/cases.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

std::vector<OpCase> TypesRows() {
  return {
      Row("f32", "Clip", {}, {Of<float>({3}, {0, 3, 9}), Of<float>({}, {1}), Of<float>({}, {5})},
          {Of<float>({3}, {1, 3, 5})}),
      Row("f64", "Clip", {}, {Of<double>({3}, {0, 3, 9}), Of<double>({}, {1}), Of<double>({}, {5})},
          {Of<double>({3}, {1, 3, 5})}),
      Row("f16", "Clip", {},
          {Of<Float16>({3}, {0, 3, 9}), Of<Float16>({}, {1}), Of<Float16>({}, {5})},
          {Of<Float16>({3}, {1, 3, 5})}, 1e-3, 1e-4),
      Row("bf16", "Clip", {},
          {Of<BFloat16>({3}, {0, 3, 9}), Of<BFloat16>({}, {1}), Of<BFloat16>({}, {5})},
          {Of<BFloat16>({3}, {1, 3, 5})}, 8e-3, 1e-4),
      Row("i8", "Clip", {}, {Of<int8_t>({3}, {0, 3, 9}), Of<int8_t>({}, {1}), Of<int8_t>({}, {5})},
          {Of<int8_t>({3}, {1, 3, 5})}),
      Row("i16", "Clip", {},
          {Of<int16_t>({3}, {0, 3, 9}), Of<int16_t>({}, {1}), Of<int16_t>({}, {5})},
          {Of<int16_t>({3}, {1, 3, 5})}),
      Row("i32", "Clip", {},
          {Of<int32_t>({3}, {0, 3, 9}), Of<int32_t>({}, {1}), Of<int32_t>({}, {5})},
          {Of<int32_t>({3}, {1, 3, 5})}),
      Row("i64", "Clip", {},
          {Of<int64_t>({3}, {0, 3, 9}), Of<int64_t>({}, {1}), Of<int64_t>({}, {5})},
          {Of<int64_t>({3}, {1, 3, 5})}),
      Row("u8", "Clip", {},
          {Of<uint8_t>({3}, {0, 3, 9}), Of<uint8_t>({}, {1}), Of<uint8_t>({}, {5})},
          {Of<uint8_t>({3}, {1, 3, 5})}),
      Row("u16", "Clip", {},
          {Of<uint16_t>({3}, {0, 3, 9}), Of<uint16_t>({}, {1}), Of<uint16_t>({}, {5})},
          {Of<uint16_t>({3}, {1, 3, 5})}),
      Row("u32", "Clip", {},
          {Of<uint32_t>({3}, {0, 3, 9}), Of<uint32_t>({}, {1}), Of<uint32_t>({}, {5})},
          {Of<uint32_t>({3}, {1, 3, 5})}),
      Row("u64", "Clip", {},
          {Of<uint64_t>({3}, {0, 3, 9}), Of<uint64_t>({}, {1}), Of<uint64_t>({}, {5})},
          {Of<uint64_t>({3}, {1, 3, 5})}),
  };
}

std::vector<OpCase> EdgesRows() {
  return {
      Row("no_bounds", "Clip", {}, {Of<float>({6}, {-kInf, -2, 0, 7, kInf, kNan})},
          {Of<float>({6}, {-kInf, -2, 0, 7, kInf, kNan})}),
      Row("only_min", "Clip", {},
          {Of<float>({6}, {-kInf, -2, 0, 7, kInf, kNan}), Of<float>({}, {0})},
          {Of<float>({6}, {0, 0, 0, 7, kInf, kNan})}),
      Row("only_max", "Clip", {},
          {Of<float>({6}, {-kInf, -2, 0, 7, kInf, kNan}), Tensor(), Of<float>({}, {1})},
          {Of<float>({6}, {-kInf, -2, 0, 1, 1, kNan})}),
      Row("min_above_max", "Clip", {},
          {Of<float>({3}, {0, 2, 9}), Of<float>({}, {5}), Of<float>({}, {1})},
          {Of<float>({3}, {1, 1, 1})}),
      Row("scalar", "Clip", {}, {Of<float>({}, {9}), Of<float>({}, {0}), Of<float>({}, {5})},
          {Of<float>({}, {5})}),
      Row("empty", "Clip", {}, {Of<int32_t>({0, 2}, {}), Of<int32_t>({}, {0})},
          {Of<int32_t>({0, 2}, {})}),
  };
}

}  // namespace

std::vector<OpCase> ClipCases() { return Join({TypesRows, EdgesRows}); }

}  // namespace onward::cases

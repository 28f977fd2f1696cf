// Expected values: NumPy and ml_dtypes; text in the form that Python prints.
#include "absl/strings/str_cat.h"
#include "tests/cases/cases.h"
#include "tests/cases/packed.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

// 0 and 1 between every two of the types that are not packed, text or narrow floats.
std::vector<OpCase> PairRows() {
  using Types = Concat<NumericTypes, TypeList<bool>>;
  std::vector<OpCase> rows;
  for (int from = 1; from < kNumDTypes; ++from) {
    for (int to = 1; to < kNumDTypes; ++to) {
      const auto source = static_cast<DType>(from), target = static_cast<DType>(to);
      const auto listed = [](DType dtype) { return DispatchDType(Types(), dtype, [](auto) {}); };
      if (!listed(source) || !listed(target)) continue;
      rows.push_back(
          Row(absl::StrCat(std::string(DTypeName(source)), "_to_", std::string(DTypeName(target))),
              "Cast", {{"to", int64_t{to}}}, {OfDType(source, {0, 1})}, {OfDType(target, {0, 1})}));
    }
  }
  return rows;
}

std::vector<OpCase> ValuesRows() {
  return {
      Row("truncate", "Cast", {{"to", int64_t{6}}}, {Of<float>({3}, {1.9, -1.9, -0.5})},
          {Of<int32_t>({3}, {1, -1, 0})}),
      Row("int_wraps", "Cast", {{"to", int64_t{3}}}, {Of<int16_t>({3}, {200, -129, 256})},
          {Of<int8_t>({3}, {-56, 127, 0})}),
      Row("float_to_uint8_wraps", "Cast", {{"to", int64_t{2}}}, {Of<float>({2}, {-1, 300})},
          {Of<uint8_t>({2}, {255, 44})}),
      Row("nan_to_bool", "Cast", {{"to", int64_t{9}}}, {Of<float>({3}, {kNan, -0.0, 1e-40})},
          {Of<bool>({3}, {true, false, true})}),
      Row("float_to_int64", "Cast", {{"to", int64_t{7}}},
          {Of<double>({2}, {-9.223372036854776e18, 9007199254740992})},
          {Of<int64_t>({2}, {INT64_MIN, 9007199254740992})}),
      Row("double_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<double>({4}, {1e300, -1e300, 0.1, kNan})},
          {Of<float>({4}, {kInf, -kInf, 0.1, kNan})}),
      Row("float_to_half", "Cast", {{"to", int64_t{10}}},
          {Of<float>({6}, {65504, 65520, 1e-8, -6e-8, 2049, kInf})},
          {Of<Float16>({6}, {65504, kInf, 0, -5.960464477539063e-8, 2048, kInf})}, 0, 0),
      Row("double_to_half_once", "Cast", {{"to", int64_t{10}}},
          {Of<double>({1}, {1.0004882812509095})}, {Of<Float16>({1}, {1.0009765625})}, 0, 0),
      Row("double_to_bfloat16_once", "Cast", {{"to", int64_t{16}}},
          {Of<double>({1}, {1.0039062500009095})}, {Of<BFloat16>({1}, {1.0078125})}, 0, 0),
      Row("int32_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<int32_t>({2}, {16777217, -2147483648})},
          {Of<float>({2}, {1.6777216e7, -2.1474836e9})}),
      Row("same", "Cast", {{"to", int64_t{1}}}, {Of<float>({2}, {kNan, 1})},
          {Of<float>({2}, {kNan, 1})}),
      Row("empty", "Cast", {{"to", int64_t{7}}}, {Of<float>({0, 2}, {})},
          {Of<int64_t>({0, 2}, {})}),
      Row("scalar", "Cast", {{"to", int64_t{1}}}, {Of<int64_t>({}, {7})}, {Of<float>({}, {7})}),
      Row("like", "CastLike", {}, {Of<float>({2}, {1.5, -2}), Of<int16_t>({1}, {0})},
          {Of<int16_t>({2}, {1, -2})}),
  };
}

std::vector<OpCase> Float8Rows1() {
  return {
      Row("float_to_e4m3_1", "Cast", {{"to", int64_t{17}}, {"saturate", int64_t{1}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E4M3FN>(
              {12}, {0, -0.0, 1, -1.5, 0.3125, 448, 448, -448, kNan, 448, -448, 0.001953125})},
          0, 0),
      Row("float_to_e4m3_0", "Cast", {{"to", int64_t{17}}, {"saturate", int64_t{0}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E4M3FN>(
              {12}, {0, -0.0, 1, -1.5, 0.3125, 448, kNan, kNan, kNan, kNan, kNan, 0.001953125})},
          0, 0),
      Row("e4m3_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<Float8E4M3FN>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<float>({5}, {0, 1, -1.5, 0.25, kNan})}),
      Row("e4m3_to_half", "Cast", {{"to", int64_t{10}}},
          {Of<Float8E4M3FN>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<Float16>({5}, {0, 1, -1.5, 0.25, kNan})}, 1e-3, 1e-4),
      Row("e4m3_to_int8", "Cast", {{"to", int64_t{3}}}, {Of<Float8E4M3FN>({3}, {0, -1.5, 3})},
          {Of<int8_t>({3}, {0, -1, 3})}),
      Row("float_to_e4m3z_1", "Cast", {{"to", int64_t{18}}, {"saturate", int64_t{1}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E4M3FNUZ>(
              {12}, {0, 0, 1, -1.5, 0.3125, 240, 240, -240, kNan, 240, -240, 0.0009765625})},
          0, 0),
      Row("float_to_e4m3z_0", "Cast", {{"to", int64_t{18}}, {"saturate", int64_t{0}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E4M3FNUZ>(
              {12}, {0, 0, 1, -1.5, 0.3125, kNan, kNan, kNan, kNan, kNan, kNan, 0.0009765625})},
          0, 0),
      Row("e4m3z_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<Float8E4M3FNUZ>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<float>({5}, {0, 1, -1.5, 0.25, kNan})}),
      Row("e4m3z_to_half", "Cast", {{"to", int64_t{10}}},
          {Of<Float8E4M3FNUZ>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<Float16>({5}, {0, 1, -1.5, 0.25, kNan})}, 1e-3, 1e-4),
      Row("e4m3z_to_int8", "Cast", {{"to", int64_t{3}}}, {Of<Float8E4M3FNUZ>({3}, {0, -1.5, 3})},
          {Of<int8_t>({3}, {0, -1, 3})}),
      Row("float_to_e5m2_1", "Cast", {{"to", int64_t{19}}, {"saturate", int64_t{1}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E5M2>({12}, {0, -0.0, 1, -1.5, 0.3125, 448, 1024, -57344, kNan, 57344, -57344,
                                 0.0009765625})},
          0, 0),
      Row("float_to_e5m2_0", "Cast", {{"to", int64_t{19}}, {"saturate", int64_t{0}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E5M2>(
              {12}, {0, -0.0, 1, -1.5, 0.3125, 448, 1024, -kInf, kNan, kInf, -kInf, 0.0009765625})},
          0, 0),
      Row("e5m2_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<Float8E5M2>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<float>({5}, {0, 1, -1.5, 0.25, kNan})}),
      Row("e5m2_to_half", "Cast", {{"to", int64_t{10}}},
          {Of<Float8E5M2>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<Float16>({5}, {0, 1, -1.5, 0.25, kNan})}, 1e-3, 1e-4),
      Row("e5m2_to_int8", "Cast", {{"to", int64_t{3}}}, {Of<Float8E5M2>({3}, {0, -1.5, 3})},
          {Of<int8_t>({3}, {0, -1, 3})}),
      Row("float_to_e5m2z_1", "Cast", {{"to", int64_t{20}}, {"saturate", int64_t{1}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E5M2FNUZ>(
              {12}, {0, 0, 1, -1.5, 0.3125, 448, 1024, -57344, kNan, 57344, -57344, 0.0009765625})},
          0, 0),
  };
}

std::vector<OpCase> Float8Rows2() {
  return {
      Row("float_to_e5m2z_0", "Cast", {{"to", int64_t{20}}, {"saturate", int64_t{0}}},
          {Of<float>({12}, {0, -0.0, 1, -1.5, 0.3, 448, 1000, -1000000, kNan, kInf, -kInf, 0.001})},
          {Of<Float8E5M2FNUZ>(
              {12}, {0, 0, 1, -1.5, 0.3125, 448, 1024, kNan, kNan, kNan, kNan, 0.0009765625})},
          0, 0),
      Row("e5m2z_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<Float8E5M2FNUZ>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<float>({5}, {0, 1, -1.5, 0.25, kNan})}),
      Row("e5m2z_to_half", "Cast", {{"to", int64_t{10}}},
          {Of<Float8E5M2FNUZ>({5}, {0, 1, -1.5, 0.25, kNan})},
          {Of<Float16>({5}, {0, 1, -1.5, 0.25, kNan})}, 1e-3, 1e-4),
      Row("e5m2z_to_int8", "Cast", {{"to", int64_t{3}}}, {Of<Float8E5M2FNUZ>({3}, {0, -1.5, 3})},
          {Of<int8_t>({3}, {0, -1, 3})}),
      Row("e4m3_to_e5m2", "Cast", {{"to", int64_t{19}}}, {Of<Float8E4M3FN>({3}, {1, -0.5, 448})},
          {Of<Float8E5M2>({3}, {1, -0.5, 448})}, 0, 0),
      Row("double_to_e5m2_once", "Cast", {{"to", int64_t{19}}},
          {Of<double>({1}, {1.1250000000009095})}, {Of<Float8E5M2>({1}, {1.25})}, 0, 0),
      Row("float_to_e8m0_up", "Cast", {{"to", int64_t{24}}, {"round_mode", std::string("up")}},
          {Of<float>({5}, {1, 1.25, 2.5, 3, 6})}, {Of<Float8E8M0>({5}, {1, 2, 4, 4, 8})}, 0, 0),
      Row("float_to_e8m0_down", "Cast", {{"to", int64_t{24}}, {"round_mode", std::string("down")}},
          {Of<float>({5}, {1, 1.25, 2.5, 3, 6})}, {Of<Float8E8M0>({5}, {1, 1, 2, 2, 4})}, 0, 0),
      Row("float_to_e8m0_nearest", "Cast",
          {{"to", int64_t{24}}, {"round_mode", std::string("nearest")}},
          {Of<float>({5}, {1, 1.25, 2.5, 3, 6})}, {Of<Float8E8M0>({5}, {1, 1, 2, 4, 8})}, 0, 0),
      Row("e8m0_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<Float8E8M0>({4}, {1, 0.25, 1024, kNan})}, {Of<float>({4}, {1, 0.25, 1024, kNan})}),
  };
}

std::vector<OpCase> PackedRows() {
  return {
      Row("kInt4_to_float", "Cast", {{"to", int64_t{1}}},
          {Packed(DType::kInt4, {5}, {-8, 7, 0, 1, 1})}, {Of<float>({5}, {-8, 7, 0, 1, 1})}),
      Row("float_to_kInt4", "Cast", {{"to", int64_t{22}}}, {Of<float>({5}, {-8, 7, 0, 1, 1})},
          {Packed(DType::kInt4, {5}, {-8, 7, 0, 1, 1})}),
      Row("kInt4_to_int64", "Cast", {{"to", int64_t{7}}},
          {Packed(DType::kInt4, {5}, {-8, 7, 0, 1, 1})}, {Of<int64_t>({5}, {-8, 7, 0, 1, 1})}),
      Row("int32_to_kInt4", "Cast", {{"to", int64_t{22}}}, {Of<int32_t>({5}, {-8, 7, 0, 1, 1})},
          {Packed(DType::kInt4, {5}, {-8, 7, 0, 1, 1})}),
      Row("kInt4_to_half", "Cast", {{"to", int64_t{10}}},
          {Packed(DType::kInt4, {5}, {-8, 7, 0, 1, 1})}, {Of<Float16>({5}, {-8, 7, 0, 1, 1})}, 1e-3,
          1e-4),
      Row("kUint4_to_float", "Cast", {{"to", int64_t{1}}},
          {Packed(DType::kUint4, {5}, {0, 15, 0, 1, 1})}, {Of<float>({5}, {0, 15, 0, 1, 1})}),
      Row("float_to_kUint4", "Cast", {{"to", int64_t{21}}}, {Of<float>({5}, {0, 15, 0, 1, 1})},
          {Packed(DType::kUint4, {5}, {0, 15, 0, 1, 1})}),
      Row("kUint4_to_int64", "Cast", {{"to", int64_t{7}}},
          {Packed(DType::kUint4, {5}, {0, 15, 0, 1, 1})}, {Of<int64_t>({5}, {0, 15, 0, 1, 1})}),
      Row("int32_to_kUint4", "Cast", {{"to", int64_t{21}}}, {Of<int32_t>({5}, {0, 15, 0, 1, 1})},
          {Packed(DType::kUint4, {5}, {0, 15, 0, 1, 1})}),
      Row("kUint4_to_half", "Cast", {{"to", int64_t{10}}},
          {Packed(DType::kUint4, {5}, {0, 15, 0, 1, 1})}, {Of<Float16>({5}, {0, 15, 0, 1, 1})},
          1e-3, 1e-4),
      Row("kInt2_to_float", "Cast", {{"to", int64_t{1}}},
          {Packed(DType::kInt2, {5}, {-2, 1, 0, 1, 1})}, {Of<float>({5}, {-2, 1, 0, 1, 1})}),
      Row("float_to_kInt2", "Cast", {{"to", int64_t{26}}}, {Of<float>({5}, {-2, 1, 0, 1, 1})},
          {Packed(DType::kInt2, {5}, {-2, 1, 0, 1, 1})}),
      Row("kInt2_to_int64", "Cast", {{"to", int64_t{7}}},
          {Packed(DType::kInt2, {5}, {-2, 1, 0, 1, 1})}, {Of<int64_t>({5}, {-2, 1, 0, 1, 1})}),
      Row("int32_to_kInt2", "Cast", {{"to", int64_t{26}}}, {Of<int32_t>({5}, {-2, 1, 0, 1, 1})},
          {Packed(DType::kInt2, {5}, {-2, 1, 0, 1, 1})}),
      Row("kInt2_to_half", "Cast", {{"to", int64_t{10}}},
          {Packed(DType::kInt2, {5}, {-2, 1, 0, 1, 1})}, {Of<Float16>({5}, {-2, 1, 0, 1, 1})}, 1e-3,
          1e-4),
      Row("kUint2_to_float", "Cast", {{"to", int64_t{1}}},
          {Packed(DType::kUint2, {5}, {0, 3, 0, 1, 1})}, {Of<float>({5}, {0, 3, 0, 1, 1})}),
      Row("float_to_kUint2", "Cast", {{"to", int64_t{25}}}, {Of<float>({5}, {0, 3, 0, 1, 1})},
          {Packed(DType::kUint2, {5}, {0, 3, 0, 1, 1})}),
      Row("kUint2_to_int64", "Cast", {{"to", int64_t{7}}},
          {Packed(DType::kUint2, {5}, {0, 3, 0, 1, 1})}, {Of<int64_t>({5}, {0, 3, 0, 1, 1})}),
      Row("int32_to_kUint2", "Cast", {{"to", int64_t{25}}}, {Of<int32_t>({5}, {0, 3, 0, 1, 1})},
          {Packed(DType::kUint2, {5}, {0, 3, 0, 1, 1})}),
      Row("kUint2_to_half", "Cast", {{"to", int64_t{10}}},
          {Packed(DType::kUint2, {5}, {0, 3, 0, 1, 1})}, {Of<Float16>({5}, {0, 3, 0, 1, 1})}, 1e-3,
          1e-4),
      Row("float_to_float4", "Cast", {{"to", int64_t{23}}},
          {Of<float>({12}, {0, 0.5, -1, 1.5, 2, 3, 4, -6, 0.25, 0.3, 5, 100})},
          {Packed(DType::kFloat4E2M1, {12}, {0, 1, 10, 3, 4, 5, 6, 15, 0, 1, 6, 7})}),
      Row("float4_to_float", "Cast", {{"to", int64_t{1}}},
          {Packed(DType::kFloat4E2M1, {7}, {0, 1, 10, 3, 4, 5, 6})},
          {Of<float>({7}, {0, 0.5, -1, 1.5, 2, 3, 4})}),
      Row("float_to_float6e2m3", "Cast", {{"to", int64_t{27}}},
          {Of<float>({14}, {0, -0.0, 1, -1.5, 0.3, 7.75, 1000, -1e6, kInf, -kInf, 0.0625, 0.1875,
                            26, 0.03})},
          {Packed(DType::kFloat6E2M3, {14}, {0, 32, 8, 44, 2, 31, 31, 63, 31, 63, 0, 2, 31, 0})}),
      Row("float_to_float6e3m2", "Cast", {{"to", int64_t{28}}},
          {Of<float>({14}, {0, -0.0, 1, -1.5, 0.3, 7.75, 1000, -1e6, kInf, -kInf, 0.0625, 0.1875,
                            26, 0.03})},
          {Packed(DType::kFloat6E3M2, {14}, {0, 32, 12, 46, 5, 24, 31, 63, 31, 63, 1, 3, 30, 0})}),
      Row("float6e2m3_to_float", "Cast", {{"to", int64_t{1}}},
          {Packed(DType::kFloat6E2M3, {7}, {0, 1, 8, 9, 16, 31, 63})},
          {Of<float>({7}, {0, 0.125, 1, 1.125, 2, 7.5, -7.5})}),
      Row("float6e3m2_to_half", "Cast", {{"to", int64_t{10}}},
          {Packed(DType::kFloat6E3M2, {7}, {0, 1, 4, 9, 16, 31, 63})},
          {Of<Float16>({7}, {0, 0.0625, 0.25, 0.625, 2, 28, -28})}, 0, 0),
      Row("float6e3m2_to_float6e2m3", "Cast", {{"to", int64_t{27}}},
          {Packed(DType::kFloat6E3M2, {5}, {1, 3, 9, 20, 63})},
          {Packed(DType::kFloat6E2M3, {5}, {0, 2, 5, 24, 63})}),
      Row("int4_to_float6e2m3", "Cast", {{"to", int64_t{27}}},
          {Packed(DType::kInt4, {3}, {-8, 3, 7})}, {Packed(DType::kFloat6E2M3, {3}, {63, 20, 30})}),
      Row("float6e2m3_to_string", "Cast", {{"to", int64_t{8}}},
          {Packed(DType::kFloat6E2M3, {2}, {1, 63})}, {Of<std::string>({2}, {"0.125", "-7.5"})}),
      Row("string_to_float6e3m2", "Cast", {{"to", int64_t{28}}},
          {Of<std::string>({2}, {"0.3", "-100"})}, {Packed(DType::kFloat6E3M2, {2}, {5, 63})}),
      Row("int4_to_uint4", "Cast", {{"to", int64_t{21}}}, {Packed(DType::kInt4, {3}, {-1, 3, 7})},
          {Packed(DType::kUint4, {3}, {15, 3, 7})}),
  };
}

std::vector<OpCase> TextRows() {
  return {
      Row("float_to_string", "Cast", {{"to", int64_t{8}}},
          {Of<float>({10}, {1, -0.5, 0.1, 1e-5, 1e20, kNan, kInf, -kInf, 0, 123456.79})},
          {Of<std::string>({10}, {"1.0", "-0.5", "0.1", "1e-05", "1e+20", "nan", "inf", "-inf",
                                  "0.0", "123456.79"})}),
      Row("double_to_string", "Cast", {{"to", int64_t{8}}},
          {Of<double>({3}, {0.1, 3.141592653589793, 1e16})},
          {Of<std::string>({3}, {"0.1", "3.141592653589793", "1e+16"})}),
      Row("half_to_string", "Cast", {{"to", int64_t{8}}},
          {Of<Float16>({2}, {0.0999755859375, 65504})}, {Of<std::string>({2}, {"0.1", "65500.0"})}),
      Row("int_to_string", "Cast", {{"to", int64_t{8}}}, {Of<int64_t>({3}, {INT64_MIN, 0, 42})},
          {Of<std::string>({3}, {"-9223372036854775808", "0", "42"})}),
      Row("uint64_to_string", "Cast", {{"to", int64_t{8}}},
          {Of<uint64_t>({1}, {18446744073709551615u})},
          {Of<std::string>({1}, {"18446744073709551615"})}),
      Row("bool_to_string", "Cast", {{"to", int64_t{8}}}, {Of<bool>({2}, {true, false})},
          {Of<std::string>({2}, {"True", "False"})}),
      Row("int4_to_string", "Cast", {{"to", int64_t{8}}}, {Packed(DType::kInt4, {2}, {-8, 7})},
          {Of<std::string>({2}, {"-8", "7"})}),
      Row("string_to_float", "Cast", {{"to", int64_t{1}}},
          {Of<std::string>({9},
                           {"3.14", "1000", "1e-5", "1E8", "INF", "+inf", "-Inf", "nan", " 2 "})},
          {Of<float>({9}, {3.14, 1000, 1e-5, 1e8, kInf, kInf, -kInf, kNan, 2})}),
      Row("string_to_double", "Cast", {{"to", int64_t{11}}},
          {Of<std::string>({4}, {"0.1", "1e400", "-1e400", "1e-400"})},
          {Of<double>({4}, {0.1, kInf, -kInf, 0})}),
      Row("string_to_int64", "Cast", {{"to", int64_t{7}}},
          {Of<std::string>({3}, {"-9223372036854775808", "42", "100.5"})},
          {Of<int64_t>({3}, {INT64_MIN, 42, 100})}),
      Row("string_to_uint64", "Cast", {{"to", int64_t{13}}},
          {Of<std::string>({1}, {"18446744073709551615"})},
          {Of<uint64_t>({1}, {18446744073709551615u})}),
      Row("string_to_bool", "Cast", {{"to", int64_t{9}}},
          {Of<std::string>({4}, {"True", "false", "1", "0"})},
          {Of<bool>({4}, {true, false, true, false})}),
      Row("string_to_half", "Cast", {{"to", int64_t{10}}}, {Of<std::string>({1}, {"0.5"})},
          {Of<Float16>({1}, {0.5})}, 1e-3, 1e-4),
      Row("string_to_string", "Cast", {{"to", int64_t{8}}}, {Of<std::string>({1}, {"a"})},
          {Of<std::string>({1}, {"a"})}),
  };
}

std::vector<OpCase> BitsRows() {
  return {
      Row("float_bits", "BitCast", {{"to", int64_t{6}}}, {Of<float>({2}, {1, -0.0})},
          {Of<int32_t>({2}, {1065353216, -2147483648})}),
      Row("double_bits", "BitCast", {{"to", int64_t{13}}}, {Of<double>({1}, {1})},
          {Of<uint64_t>({1}, {4607182418800017408})}),
      Row("int8_bits", "BitCast", {{"to", int64_t{2}}}, {Of<int8_t>({2}, {-1, 5})},
          {Of<uint8_t>({2}, {255, 5})}),
      Row("half_bits", "BitCast", {{"to", int64_t{4}}}, {Of<Float16>({1}, {1})},
          {Of<uint16_t>({1}, {15360})}),
      Row("int4_bits", "BitCast", {{"to", int64_t{21}}}, {Packed(DType::kInt4, {3}, {-1, 1, 7})},
          {Packed(DType::kUint4, {3}, {15, 1, 7})}),
  };
}

}  // namespace

std::vector<OpCase> CastCases() {
  return Join({PairRows, ValuesRows, Float8Rows1, Float8Rows2, PackedRows, TextRows, BitsRows});
}

}  // namespace onward::cases

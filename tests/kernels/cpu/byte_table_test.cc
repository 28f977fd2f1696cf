// Tables of 8-bit integers against reading them, on every instruction set.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

TEST(ByteTable, AnyLengthAndSign) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const DType from = draw(0, 1) == 0 ? DType::kInt8 : DType::kUint8;
    const DType to = draw(0, 1) == 0 ? DType::kInt8 : DType::kUint8;
    Tensor x(from, {draw(1, 700)}), table(to, {256}), y(to, x.dims());
    for (Tensor* tensor : {&x, &table}) {
      for (int64_t i = 0; i < tensor->num_elements(); ++i) {
        static_cast<uint8_t*>(tensor->raw_mutable_data())[i] = static_cast<uint8_t>(draw(0, 255));
      }
    }
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const uint8_t byte = static_cast<const uint8_t*>(x.raw_data())[i];
      const int64_t number = from == DType::kInt8 ? static_cast<int8_t>(byte) + 128 : byte;
      static_cast<uint8_t*>(y.raw_mutable_data())[i] =
          static_cast<const uint8_t*>(table.raw_data())[number];
    }
    cases::OpCase c;
    c.domain = "onward", c.op = "MapBytes";
    c.name = absl::StrCat(x.num_elements(), " bytes");
    c.inputs = {x, table};
    c.expected = {y};
    EXPECT_GE(testing::ExpectFastKernels(c, 2), 1);
  }
}

}  // namespace
}  // namespace onward::kernels

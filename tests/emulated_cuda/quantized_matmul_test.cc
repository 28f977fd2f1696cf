// MatMulInteger and QLinearMatMul on the device, and DynamicQuantizeLinear in its parts.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

Tensor Bytes(DType dtype, const Dims& dims, uint32_t seed) {
  Tensor tensor(dtype, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(seed >> 24);
  }
  return tensor;
}

struct ProductCase {
  Dims a, b, y;
  Dims a_zero, b_zero;  // of rank 9: omitted
};

TEST(EmulatedMatMulInteger, IsTheCpus) {
  const Dims none(9, 1);
  const ProductCase cases[] = {
      {{3, 5}, {5, 4}, {3, 4}, none, none},
      {{70, 40}, {40, 130}, {70, 130}, {}, {}},
      {{70, 33}, {33, 65}, {70, 65}, {70}, {65}},
      {{2, 3, 17, 20}, {3, 20, 9}, {2, 3, 17, 9}, {}, {9}},
      {{2, 17, 20}, {20, 9}, {2, 17, 9}, {2, 17, 1}, {1}},
      {{20}, {20, 9}, {9}, {}, {}},
      {{4, 0}, {0, 3}, {4, 3}, {}, {}},
      {{0, 4}, {4, 3}, {0, 3}, {}, {}},
  };
  for (const ProductCase& one : cases) {
    for (const DType a : {DType::kInt8, DType::kUint8}) {
      for (const DType b : {DType::kInt8, DType::kUint8}) {
        std::vector<Tensor> inputs = {Bytes(a, one.a, 1), Bytes(b, one.b, 2)};
        std::string names = "a, b";
        if (one.a_zero != none) {
          inputs.push_back(Bytes(a, one.a_zero, 3));
          inputs.push_back(Bytes(b, one.b_zero, 4));
          names += ", c, d";
        }
        ExpectAsCpu(absl::StrCat("(", TextOf({DType::kInt32, one.y}), " y) { y = MatMulInteger (",
                                 names, ") }"),
                    inputs, 0);
      }
    }
  }
}

TEST(EmulatedMatMulInteger, MoreBatchesThanAGridHasBlocksAreRefused) {
  const std::vector<Tensor> inputs = {Bytes(DType::kInt8, {65536, 1, 1}, 1),
                                      Bytes(DType::kInt8, {65536, 1, 1}, 2)};
  const absl::Status status =
      RunOn("cuda", "(int32[65536, 1, 1] y) { y = MatMulInteger (a, b) }", inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("use --provider cpu"), std::string::npos) << status;
}

struct CodesCase {
  Dims a, b, y;
  Dims a_line, b_line;  // of scales and zero points
};

TEST(EmulatedQLinearMatMul, IsTheCpus) {
  const CodesCase cases[] = {
      {{3, 5}, {5, 4}, {3, 4}, {}, {}},
      {{70, 33}, {33, 65}, {70, 65}, {70}, {65}},
      {{2, 3, 17, 20}, {3, 20, 9}, {2, 3, 17, 9}, {}, {9}},
      {{20}, {20, 9}, {9}, {}, {}},
      {{4, 0}, {0, 3}, {4, 3}, {}, {}},
      {{0, 4}, {4, 3}, {0, 3}, {}, {}},
  };
  uint32_t seed = 0;
  for (const CodesCase& one : cases) {
    for (const DType a : {DType::kInt8, DType::kUint8}) {
      for (const DType b : {DType::kInt8, DType::kUint8}) {
        for (const DType scale : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
          CaseDraw draw(++seed);
          SCOPED_TRACE(absl::StrCat("seed ", seed));
          const DType y = draw.From(0, 1) == 0 ? DType::kInt8 : DType::kUint8;
          const std::vector<Tensor> inputs = {Bytes(a, one.a, seed),
                                              draw.Floats(scale, one.a_line, 0.01, 0.1),
                                              Bytes(a, one.a_line, seed + 1),
                                              Bytes(b, one.b, seed + 2),
                                              draw.Floats(scale, one.b_line, 0.01, 0.1),
                                              Bytes(b, one.b_line, seed + 3),
                                              draw.Floats(scale, {}, 0.5, 4),
                                              Bytes(y, {}, seed + 4)};
          ExpectAsCpu(absl::StrCat("(", TextOf({y, one.y}),
                                   " y) { y = QLinearMatMul (a, b, c, d, e, f, g, h) }"),
                      inputs, 0);
        }
      }
    }
  }
}

TEST(EmulatedDynamicQuantizeLinear, IsTheCpus) {
  for (const Dims& dims : {Dims{6, 50}, Dims{1}, Dims{2, 3, 700}}) {
    ExpectAsCpu(absl::StrCat("(", TextOf({DType::kUint8, dims}),
                             " y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (a) }"),
                {Filled({DType::kFloat32, dims}, 3, false)}, 1e-6);
  }
}

}  // namespace
}  // namespace onward::emulated_cuda

// Ops that fill their output: Range, EyeLike and the window functions.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

template <typename T>
Tensor ScalarOf(double value) {
  return Tensor::Scalar(static_cast<T>(static_cast<float>(value)));
}

TEST(EmulatedFills, RangeIsTheCpus) {
  const struct {
    double start, limit, delta;
    int64_t count;
  } ranges[] = {{0, 5, 1, 5},  {3, -4, -2, 4}, {7, 7, 1, 0},      {5, 1, 3, 0},
                {-9, 9, 7, 3}, {1, 2, 5, 1},   {0, 3000, 2, 1500}};
  using Types = TypeList<float, double, int16_t, int32_t, int64_t>;
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kInt16, DType::kInt32, DType::kInt64}) {
    for (const auto& range : ranges) {
      std::vector<Tensor> inputs;
      DispatchDType(Types(), dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (const double value : {range.start, range.limit, range.delta})
          inputs.push_back(ScalarOf<T>(value));
      });
      ExpectAsCpu(absl::StrCat("(", TextOf({dtype, {range.count}}), " y) { y = Range (a, b, c) }"),
                  inputs, 0);
    }
  }
  ExpectAsCpu("(float[30] y) { y = Range (a, b, c) }",
              {ScalarOf<float>(0.1), ScalarOf<float>(3.1), ScalarOf<float>(0.1)}, 1e-6);
}

// Elements that the device computes, and steps around them that would be recorded.
TEST(EmulatedFills, RangesOfOtherRunsAreRight) {
  const char* const text =
      "g (int64[2] x) => (int64[n] y) { start = ReduceSum <keepdims = 0> (x) "
      "count = Constant <value_int = 6> () delta = Constant <value_int = 2> () "
      "limit = Add (start, count) r = Range (start, limit, delta) a = Neg (r) b = Mul (a, a) "
      "c = Add (b, r) y = Sub (c, a) }";
  SessionOptions options;
  options.num_threads = 1;
  const auto host = Session::Create(*testing::ModelFromText(text), options);
  options.provider = "cuda";
  const auto device = Session::Create(*testing::ModelFromText(text), options);
  ASSERT_TRUE(host.ok() && device.ok()) << host.status() << device.status();
  for (const int64_t start : {0, 1, 1, 5, -3, -3}) {
    const Session::Inputs inputs = {{"x", Value(Tensor::Of<int64_t>({2}, {start, 1}))}};
    const auto expected = (*host)->Run(inputs), actual = (*device)->Run(inputs);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    EXPECT_EQ(actual->at("y").tensor().num_elements(), 3);
    EXPECT_TRUE(SameBits(actual->at("y").tensor(), expected->at("y").tensor())) << start;
  }
}

TEST(EmulatedFills, ARangeWithoutStepsIsTheCpusError) {
  const std::vector<Tensor> inputs = {ScalarOf<int64_t>(0), ScalarOf<int64_t>(3),
                                      ScalarOf<int64_t>(0)};
  for (const char* provider : {"cpu", "cuda"}) {
    const absl::Status status =
        RunOn(provider, "(int64[n] y) { y = Range (a, b, c) }", inputs).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("delta is 0"), std::string::npos) << status;
  }
}

TEST(EmulatedFills, EyeLikeIsTheCpus) {
  constexpr DType kTypes[] = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                              DType::kBFloat16, DType::kInt8,    DType::kUint16,
                              DType::kInt32,    DType::kUint64,  DType::kBool};
  const std::vector<std::string> diagonals = {
      "0", "1", "-2", "100", "9223372036854775807", "-9223372036854775808"};
  for (const Dims& dims : {Dims{1, 1}, Dims{4, 7}, Dims{33, 9}, Dims{0, 3}, Dims{3, 0}}) {
    for (const std::string& k : diagonals) {
      for (const DType dtype : kTypes) {
        const std::string y = absl::StrCat("(", TextOf({dtype, dims}), " y) { y = EyeLike ");
        ExpectAsCpu(absl::StrCat(y, "<k = ", k, "> (a) }"), {Filled({dtype, dims}, 1, true)}, 0);
        ExpectAsCpu(absl::StrCat(y, "<dtype = ", static_cast<int>(dtype), "> (a) }"),
                    {Filled({DType::kInt32, dims}, 1, false)}, 0);
      }
    }
  }
}

TEST(EmulatedFills, WindowsAreTheCpus) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    for (const DType dtype :
         {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
      for (const int64_t size : {0, 1, 2, 17, 400}) {
        for (const int periodic : {0, 1}) {
          const std::string attributes = absl::StrCat(
              "<periodic = ", periodic, ", output_datatype = ", static_cast<int>(dtype), ">");
          ExpectAsCpu(absl::StrCat("(", TextOf({dtype, {size}}), " y) { y = ", op, " ", attributes,
                                   " (a) }"),
                      {Tensor::Of<int64_t>({}, {size})}, ToleranceOf(dtype));
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda

// Gather: indices lie on the host, data on the device.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

Tensor Indices(DType dtype, const Dims& dims, int64_t limit) {
  Tensor indices(dtype, dims);
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t value = i * 7 % (2 * limit) - limit;
    if (dtype == DType::kInt32) {
      indices.mutable_data<int32_t>()[i] = static_cast<int32_t>(value);
    } else {
      indices.mutable_data<int64_t>()[i] = value;
    }
  }
  return indices;
}

struct GatherCase {
  Dims data;
  int64_t axis;
  Dims indices, y;
};

TEST(EmulatedGather, IsTheCpus) {
  const GatherCase cases[] = {{{5, 1025}, 0, {3}, {3, 1025}},
                              {{5, 33}, 1, {2, 4}, {5, 2, 4}},
                              {{3, 5, 7}, -2, {6}, {3, 6, 7}},
                              {{9}, 0, {1, 1}, {1, 1}},
                              {{4, 3}, 0, {0}, {0, 3}},
                              {{4, 0}, 0, {2}, {2, 0}},
                              {{2, 3, 5000}, 1, {2}, {2, 2, 5000}},
                              {{300, 16}, 0, {7, 90}, {7, 90, 16}}};
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kUint8}) {
    for (const GatherCase& one : cases) {
      const auto axis = static_cast<size_t>(one.axis < 0 ? one.axis + 3 : one.axis);
      for (const DType index : {DType::kInt32, DType::kInt64}) {
        ExpectAsCpu(
            absl::StrCat("(", TextOf({dtype, one.y}), " y) { y = Gather <axis = ", one.axis,
                         "> (a, b) }"),
            {Filled({dtype, one.data}, 1, true), Indices(index, one.indices, one.data[axis])}, 0);
      }
    }
  }
}

TEST(EmulatedGather, AnIndexOutOfRangeIsTheCpusError) {
  Tensor indices = Indices(DType::kInt64, {3}, 4);
  indices.mutable_data<int64_t>()[1] = 4;
  const std::vector<Tensor> inputs = {Filled({DType::kFloat32, {4, 2}}, 1, false), indices};
  const char* const graph = "(float[3, 2] y) { y = Gather (a, b) }";
  for (const char* provider : {"cpu", "cuda"}) {
    const absl::Status status = RunOn(provider, graph, inputs).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message())
                  .find("index 4 at position 1 is out of range for an axis of size 4"),
              std::string::npos)
        << status;
  }
}

absl::StatusOr<Session::Outputs> RunWithConstantIndices(const std::string& provider,
                                                        const std::string& indices) {
  absl::StatusOr<Model> model = testing::ModelFromText(absl::StrCat(
      "g (float[n, 2] x) => (float[3, 2] y) <int64[3] i = {", indices, "}> { y = Gather (x, i) }"));
  if (!model.ok()) return model.status();
  SessionOptions options;
  options.provider = provider;
  ONWARD_ASSIGN_OR_RETURN(const auto session, Session::Create(*std::move(model), options));
  ResetCounters();
  return session->Run({{"x", Value(Filled({DType::kFloat32, {4, 2}}, 1, false))}});
}

TEST(EmulatedGather, ConstantIndicesLieOnTheDevice) {
  const auto expected = RunWithConstantIndices("cpu", "3, -4, 1");
  const auto actual = RunWithConstantIndices("cuda", "3, -4, 1");
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  EXPECT_EQ(testing::Difference(actual->at("y").tensor(), expected->at("y").tensor(), 0, 0), "");
  EXPECT_EQ(Counted().copies_to_device, 1) << "of x alone";
  const absl::Status status = RunWithConstantIndices("cuda", "3, -5, 1").status();
  EXPECT_NE(status.message().find("index -5 at position 1 is out of range for an axis of size 4"),
            std::string::npos)
      << status;
}

}  // namespace
}  // namespace onward::emulated_cuda

// Gather, GatherElements, GatherND: data and indices lie on the device, which finds bad ones.
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

struct PlacesCase {
  Dims data;
  int64_t attribute;  // axis, batch_dims
  Dims indices, y;
};

TEST(EmulatedGatherElements, IsTheCpus) {
  const PlacesCase cases[] = {{{5, 7}, 0, {3, 7}, {3, 7}},
                              {{5, 7}, 1, {5, 20}, {5, 20}},
                              {{3, 5, 7}, -2, {2, 900, 6}, {2, 900, 6}},
                              {{9}, 0, {4}, {4}},
                              {{4, 3}, 0, {0, 3}, {0, 3}}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kUint8}) {
    for (const PlacesCase& one : cases) {
      const auto rank = static_cast<int64_t>(one.data.size());
      const auto axis =
          static_cast<size_t>(one.attribute < 0 ? one.attribute + rank : one.attribute);
      for (const DType index : {DType::kInt32, DType::kInt64}) {
        ExpectAsCpu(
            absl::StrCat("(", TextOf({dtype, one.y}),
                         " y) { y = GatherElements <axis = ", one.attribute, "> (a, b) }"),
            {Filled({dtype, one.data}, 1, true), Indices(index, one.indices, one.data[axis])}, 0);
      }
    }
  }
}

TEST(EmulatedGatherND, IsTheCpus) {
  const PlacesCase cases[] = {{{5, 7}, 0, {3, 2}, {3}},
                              {{5, 7}, 0, {400, 1}, {400, 7}},
                              {{3, 5, 7}, 1, {3, 4, 1}, {3, 4, 7}},
                              {{2, 3, 5, 7}, 2, {2, 3, 2}, {2, 3}},
                              {{4, 3}, 0, {0, 1}, {0, 3}}};
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kFloat16, DType::kBool}) {
    for (const PlacesCase& one : cases) {
      ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.y}),
                               " y) { y = GatherND <batch_dims = ", one.attribute, "> (a, b) }"),
                  {Filled({dtype, one.data}, 1, false), Indices(DType::kInt64, one.indices, 3)}, 0);
    }
  }
}

// Indices that the device made are not looked at by the host.
TEST(EmulatedGather, ComputedIndicesStayOnTheDevice) {
  const Tensor places = Tensor::Of<float>({3}, {2, 0, -1}), far = Tensor::Of<float>({3}, {2, 7, 0});
  const Tensor data = Filled({DType::kFloat32, {4, 2}}, 1, false);
  const std::string cast = "(float[3, 2] y) { i = Cast <to = 7> (b) y = ";
  ExpectAsCpu(cast + "Gather (a, i) }", {data, places}, 0);
  const struct {
    const char* op;
    const char* error;
  } bad[] = {{"Gather (a, i) }", "[Gather"}, {"GatherElements (a, j) }", "[GatherElements"}};
  for (const auto& each : bad) {
    const std::string graph = std::string(
                                  "(float[m, k] y) { i = Cast <to = 7> (b) minus = Constant "
                                  "<value_ints = [3, 1]> () j = Reshape (i, minus) y = ") +
                              each.op;
    const absl::Status status = RunOn("cuda", graph, {data, far}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    for (const char* part :
         {each.error, "index 7 at position 1 is out of range for an axis of size 4"})
      EXPECT_NE(std::string(status.message()).find(part), std::string::npos) << status;
  }
}

TEST(EmulatedGather, TheRunAfterABadIndexIsRight) {
  const char* const text = "g (float[4, 2] x, int64[3] i) => (float[3, 2] y) { y = Gather (x, i) }";
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  SessionOptions options;
  options.provider = "cuda";
  const auto session = Session::Create(*std::move(model), options);
  ASSERT_TRUE(session.ok()) << session.status();
  const Tensor x = Filled({DType::kFloat32, {4, 2}}, 1, false);
  for (int run = 0; run < 4; ++run) {
    const bool bad = run % 2 == 0;
    const Tensor i = Tensor::Of<int64_t>({3}, {0, bad ? 4 : 3, 1});
    const auto outputs = (*session)->Run({{"x", Value(x)}, {"i", Value(i)}});
    EXPECT_EQ(outputs.ok(), !bad) << outputs.status();
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

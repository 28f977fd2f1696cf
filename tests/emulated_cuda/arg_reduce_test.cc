// ArgMax and ArgMin on the device, and ConstantOfShape.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct ArgCase {
  Dims data;
  int64_t axis;
  Dims y;  // without keepdims
};

TEST(EmulatedArgReduce, IsTheCpus) {
  const ArgCase cases[] = {{{5, 700}, 1, {5}},        {{5, 7}, 0, {7}}, {{3, 50, 7}, -2, {3, 7}},
                           {{2, 3, 1}, 2, {2, 3}},    {{9000}, 0, {}},  {{0, 4}, 1, {0}},
                           {{4, 33, 40}, 0, {33, 40}}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt64}) {
    for (const ArgCase& one : cases) {
      for (const char* op : {"ArgMax", "ArgMin"}) {
        for (const int last : {0, 1}) {
          ExpectAsCpu(absl::StrCat("(", TextOf({DType::kInt64, one.y}), " y) { y = ", op,
                                   " <axis = ", one.axis,
                                   ", keepdims = 0, select_last_index = ", last, "> (a) }"),
                      {Filled({dtype, one.data}, 5, true)}, 0);
          ExpectAsCpu(absl::StrCat("(", TextOf({DType::kInt64, one.y}), " y) { y = ", op,
                                   " <axis = ", one.axis,
                                   ", keepdims = 0, select_last_index = ", last, "> (a) }"),
                      {Filled({dtype, one.data}, 6, false)}, 0);
        }
      }
    }
  }
}

TEST(EmulatedConstantOfShape, IsTheCpus) {
  for (const char* value : {"float[1] {2.5}", "int64[1] {-7}", "bool[1] {1}", "uint8[1] {200}"}) {
    const std::string type(value, std::string(value).find('['));
    for (const Dims& dims : {Dims{70, 3}, Dims{1, 0}, Dims{9, 1000}}) {
      // The device makes what is large; the shape follows from dims.
      const std::string graph =
          absl::StrCat("(", type, "[", dims[0], ", ", dims[1],
                       "] y) { s = Shape (a) y = ConstantOfShape <value = ", value, "> (s) }");
      const std::vector<Tensor> inputs = {Filled({DType::kFloat32, dims}, 1, false)};
      std::vector<absl::StatusOr<Session::Outputs>> results;
      for (const char* provider : {"cpu", "cuda"}) {
        absl::StatusOr<Model> model =
            testing::ModelFromText(absl::StrCat("g (float[n, m] a) => ", graph));
        ASSERT_TRUE(model.ok()) << model.status() << graph;
        SessionOptions options;
        options.provider = provider;
        const auto session = Session::Create(*std::move(model), options);
        ASSERT_TRUE(session.ok()) << session.status();
        results.push_back((*session)->Run({{"a", Value(inputs[0])}}));
        ASSERT_TRUE(results.back().ok()) << results.back().status();
      }
      EXPECT_TRUE(SameBits(results[0]->at("y").tensor(), results[1]->at("y").tensor())) << graph;
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda

// The forms that samples of inputs have in a directory.
#include "quantization/calibration_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "files/npy.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward::quantization {
namespace {

using ::testing::HasSubstr;

class CalibrationSetTest : public ::testing::Test {
 protected:
  absl::StatusOr<CalibrationSet> Open(const std::string& inputs) {
    auto model = testing::ModelFromText("g (" + inputs + ") => (double[N] o) { o = Identity(x) }");
    EXPECT_TRUE(model.ok()) << model.status();
    return CalibrationSet::Open(directory_.path(), model->graph);
  }
  std::string Place(const std::string& name) {
    const std::string path = directory_.path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    return path;
  }
  void WriteArray(const std::string& name, double element) {
    EXPECT_TRUE(files::WriteNpy(Tensor::Of<double>({1}, {element}), Place(name)).ok());
  }
  static double ElementOf(const CalibrationSet& set, size_t i, const std::string& input) {
    const auto values = set.Read(i);
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? values->at(input).tensor().data<double>()[0] : 0;
  }

  testing::ScratchDirectory directory_;
};

TEST_F(CalibrationSetTest, ArchivesByNames) {
  std::filesystem::copy(ONWARD_SOURCE_DIR "/tests/fuzz/corpus/npz/a.npz", Place("a.npz"));
  directory_.Write("labels.txt", "passed over");
  const auto set = Open("double[N] x, int64[M] y");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->size(), 1u);
  const auto values = set->Read(0);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->at("x").tensor().num_elements(), 3);
  EXPECT_EQ(values->at("y").tensor().dtype(), DType::kInt64);
  const auto other = Open("double[N] x, double[N] w");
  EXPECT_THAT(std::string(other->Read(0).status().message()),
              HasSubstr("has nothing for the model's input 'w'; its arrays are x, y"));
}

TEST_F(CalibrationSetTest, DirectoriesByNamesInOrder) {
  for (const auto& [name, element] :
       {std::pair("1/x.npy", 1.0), {"1/a_b.npy", 2.0}, {"0/x.npy", 3.0}, {"0/a_b.npy", 4.0}})
    WriteArray(name, element);
  const auto set = Open("double[N] x, double[N] \"a/b\"");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->size(), 2u);
  EXPECT_EQ(ElementOf(*set, 0, "x"), 3);
  EXPECT_EQ(ElementOf(*set, 1, "a/b"), 2);
}

TEST_F(CalibrationSetTest, DataSetsOfTheStandard) {
  onnx::TensorProto proto;
  onnx_io::TensorToProto(Tensor::Of<double>({1}, {5.0}), "any", &proto);
  directory_.Write("test_data_set_0/input_0.pb", proto.SerializeAsString());
  directory_.Write("test_data_set_0/output_0.pb", "passed over");
  directory_.Write("model.onnx", "passed over");
  const auto set = Open("double[N] x");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->size(), 1u);
  EXPECT_EQ(ElementOf(*set, 0, "x"), 5);
}

TEST_F(CalibrationSetTest, ArraysOfTheOneInput) {
  WriteArray("b.npy", 1);
  WriteArray("a.npy", 2);
  const auto set = Open("double[N] x");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->size(), 2u);
  EXPECT_EQ(ElementOf(*set, 0, "x"), 2);
  EXPECT_THAT(std::string(Open("double[N] x, double[N] w").status().message()),
              HasSubstr("has no samples for the inputs x, w"));
}

}  // namespace
}  // namespace onward::quantization

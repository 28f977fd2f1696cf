// Rows of real models that are told independent: together and alone they give the same.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "gtest/gtest.h"
#include "onward/session.h"
#include "tests/support/test_data.h"

namespace onward::executors {
namespace {

constexpr int64_t kRows = 3;

// Rows of noise, or of small numbers that may be indices; all rows differ.
Tensor Noise(const Type& type, std::mt19937& random) {
  Dims dims = {kRows};
  for (size_t i = 1; i < type.shape->size(); ++i) {
    const Dim& dim = (*type.shape)[i];
    dims.push_back(dim.known() ? dim.value() : 5);
  }
  Tensor tensor(type.dtype, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (type.dtype == DType::kFloat32) {
      tensor.mutable_data<float>()[i] = std::normal_distribution<float>()(random);
    } else {
      tensor.mutable_data<int64_t>()[i] = static_cast<int64_t>(random() % 2);
    }
  }
  return tensor;
}

Tensor RowOf(const Tensor& tensor, int64_t row) {
  Dims dims(tensor.dims().begin(), tensor.dims().end());
  dims[0] = 1;
  Tensor part(tensor.dtype(), dims);
  const auto bytes = static_cast<size_t>(part.byte_size());
  std::memcpy(part.raw_mutable_data(),
              static_cast<const char*>(tensor.raw_data()) + static_cast<size_t>(row) * bytes,
              bytes);
  return part;
}

void ExpectNear(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.dims(), want.dims()) << what;
  if (got.dtype() != DType::kFloat32) {
    EXPECT_TRUE(SameBits(got, want)) << what;
    return;
  }
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    largest = std::max<double>(largest, std::abs(want.data<float>()[i]));
    difference =
        std::max<double>(difference, std::abs(got.data<float>()[i] - want.data<float>()[i]));
  }
  EXPECT_LE(difference, 1e-4 * largest) << what;
}

class JoinedRowsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(JoinedRowsTest, GiveWhatEachGivesAlone) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  const auto session =
      Session::Load(zoo + "/" + GetParam() + "/model.onnx", {.num_threads = 1, .check_rows = true});
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->RowsAreIndependent().ok()) << (*session)->RowsAreIndependent();
  std::mt19937 random(1);
  Session::Inputs inputs;
  for (const ValueInfo& input : (*session)->inputs())
    inputs[input.name] = Value(Noise(input.type, random));
  const auto joined = (*session)->Run(inputs);
  ASSERT_TRUE(joined.ok()) << joined.status();
  for (int64_t row = 0; row < kRows; ++row) {
    Session::Inputs own;
    for (const auto& [name, value] : inputs) own[name] = Value(RowOf(value.tensor(), row));
    const auto alone = (*session)->Run(own);
    ASSERT_TRUE(alone.ok()) << alone.status();
    for (const auto& [name, value] : *joined)
      ExpectNear(RowOf(value.tensor(), row), alone->at(name).tensor(), name);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, JoinedRowsTest,
                         ::testing::Values("resnet50", "unet_segmentation", "efficientnet_b0",
                                           "gpt2_prefill", "minilm_l6"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace onward::executors

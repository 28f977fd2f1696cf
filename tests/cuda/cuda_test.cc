// The CUDA provider against the CPU provider. Skips where there is no device.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

#include "executors/provider.h"
#include "onward/read_image.h"
#include "onward/session.h"
#include "tests/cases/case_model.h"
#include "tests/cases/cases.h"
#include "tests/support/elementwise_groups.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/test_data.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

#define ONWARD_NEEDS_GPU()                                                     \
  if (const auto provider = executors::FindProvider("cuda"); !provider.ok()) { \
    GTEST_SKIP() << provider.status();                                         \
  }

// Where the sources lie: on a machine that has only the tests, the environment says it.
std::string SourceDirectory() {
  const std::string elsewhere = testing::DirectoryFrom("ONWARD_SOURCE_DIR");
  return elsewhere.empty() ? ONWARD_SOURCE_DIR : elsewhere;
}

SessionOptions On(const std::string& provider) {
  SessionOptions options;
  options.provider = provider;
  return options;
}

TEST(Cuda, WithoutDeviceTheErrorSaysWhatToDo) {
  if (executors::FindProvider("cuda").ok()) GTEST_SKIP() << "a device is there";
  const absl::Status status = executors::FindProvider("cuda").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("use --provider cpu"), std::string::npos) << status;
}

TEST(Cuda, CasesHaveTheExpectedValues) {
  ONWARD_NEEDS_GPU();
  SessionOptions options = On("cuda");
  options.optimize = false;
  for (const cases::OpCase& c : cases::AllCases()) {
    SCOPED_TRACE(c.op + " " + c.name);
    const auto session = Session::Create(cases::CaseModel(c, 0), options);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(cases::CaseDifference(c, **session), "");
  }
}

TEST(Cuda, MnistEqualsTheCpu) {
  ONWARD_NEEDS_GPU();
  const std::string directory = SourceDirectory() + "/examples/mnist/";
  const auto cpu = Session::Load(directory + "mnist-8.onnx", On("cpu"));
  const auto gpu = Session::Load(directory + "mnist-8.onnx", On("cuda"));
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  for (int digit = 0; digit < 10; ++digit) {
    const auto pixels = ReadImage(directory + "digits/" + std::to_string(digit) + ".png", true);
    ASSERT_TRUE(pixels.ok()) << pixels.status();
    Tensor input(DType::kFloat32, {1, 1, 28, 28});
    for (int64_t i = 0; i < 28 * 28; ++i)
      input.mutable_data<float>()[i] = pixels->data<uint8_t>()[i];
    const auto expected = (*cpu)->Run({{"Input3", input}});
    const auto actual = (*gpu)->Run({{"Input3", input}});
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(testing::Difference(actual->begin()->second.tensor(),
                                  expected->begin()->second.tensor(), 1e-4, 1e-2),
              "");
  }
}

TEST(Cuda, TinyMlpEqualsTheCpuForSeveralBatches) {
  ONWARD_NEEDS_GPU();
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  const auto cpu = Session::Load(zoo + "/mlp_tiny/model.onnx", On("cpu"));
  const auto gpu = Session::Load(zoo + "/mlp_tiny/model.onnx", On("cuda"));
  ASSERT_TRUE(cpu.ok() && gpu.ok()) << cpu.status() << gpu.status();
  for (int64_t batch : {1, 3, 64}) {
    const ValueInfo& info = (*cpu)->inputs()[0];
    Tensor input(DType::kFloat32, {batch, info.type.shape->back().value()});
    for (int64_t i = 0; i < input.num_elements(); ++i)
      input.mutable_data<float>()[i] = static_cast<float>(i % 17) / 17;
    const auto expected = (*cpu)->Run({{info.name, input}});
    const auto actual = (*gpu)->Run({{info.name, input}});
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    EXPECT_EQ(testing::Difference(actual->begin()->second.tensor(),
                                  expected->begin()->second.tensor(), 1e-4, 1e-5),
              "");
  }
}

// Small numbers of both signs, integers and bools among them.
Tensor Numbers(const ValueInfo& input, int64_t n, int64_t m, int seed) {
  Dims dims;
  for (const Dim& dim : *input.type.shape)
    dims.push_back(dim.known() ? dim.value() : dim.ToString() == "n" ? n : m);
  Tensor tensor(input.type.dtype, dims);
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const auto number = static_cast<float>((i * 37 + seed) % 101 - 50) / 16;
      if constexpr (std::is_same_v<T, bool>) {
        tensor.mutable_data<T>()[i] = number > 0;
      } else if constexpr (std::is_integral_v<T>) {
        tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<int>(number * 2));
      } else {
        tensor.mutable_data<T>()[i] = static_cast<T>(number);
      }
    }
  });
  return tensor;
}

void ExpectGroupAsCpu(const std::string& text, double tolerance) {
  SCOPED_TRACE(text);
  const auto model = testing::ModelFromText(text);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto cpu = Session::Create(*model, On("cpu")), gpu = Session::Create(*model, On("cuda"));
  ASSERT_TRUE(cpu.ok() && gpu.ok()) << cpu.status() << gpu.status();
  int64_t fused = 0;
  for (const NodeExplanation& node : (*gpu)->Explain()) fused += node.kernel == "elementwise_nvrtc";
  EXPECT_EQ(fused, 1);
  for (const auto& [n, m] : {std::pair(3, 16), std::pair(2, 5), std::pair(40, 1024)}) {
    Session::Inputs inputs;
    for (const ValueInfo& input : (*cpu)->inputs())
      inputs[input.name] = Value(Numbers(input, n, m, static_cast<int>(3 * inputs.size()) + 1));
    const auto expected = (*cpu)->Run(inputs), actual = (*gpu)->Run(inputs);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    for (const auto& [name, value] : *expected) {
      EXPECT_EQ(
          testing::Difference(actual->at(name).tensor(), value.tensor(), tolerance, tolerance), "")
          << name << " of " << n << " x " << m;
    }
  }
}

// One dtype of each group: a source takes NVRTC a third of a second.
TEST(Cuda, FusedElementwiseGroupsEqualTheCpu) {
  ONWARD_NEEDS_GPU();
  size_t number = 0;
  for (const testing::ElementwiseGroup& group : testing::ElementwiseGroups()) {
    const DType dtype = group.dtypes[number++ % group.dtypes.size()];
    const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
    ExpectGroupAsCpu(testing::TextOf(group, dtype), narrow ? 3e-2 : IsFloating(dtype) ? 1e-4 : 0);
  }
}

}  // namespace
}  // namespace onward

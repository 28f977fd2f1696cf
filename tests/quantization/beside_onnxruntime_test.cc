// Converted models beside those of ONNX Runtime's own tools, on the same samples: they lose no
// more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/import.h"
#include "quantization/half_floats.h"
#include "quantization/products.h"
#include "quantization/ranges.h"
#include "quantization/static_int8.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/test_data.h"

namespace onward::quantization {
namespace {

using namespace expr;  // NOLINT

// Losses depend on which way single elements are rounded.
constexpr double kChance = 1.25;

Tensor Normal(DimsView dims, unsigned seed, float deviation = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, deviation);
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = normal(generator);
  return tensor;
}

void WriteInt8(const std::string& model_path, const std::string& samples, const std::string& path) {
  auto model = ImportFile(model_path);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(PrepareProducts(*model).ok());
  const auto set = CalibrationSet::Open(samples, model->graph);
  ASSERT_TRUE(set.ok()) << set.status();
  const auto ranges = CalibrateRanges(*model, *set, ValuesOfInt8(model->graph), {}, {});
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_TRUE(QuantizeToInt8(*model, *ranges).ok());
  ASSERT_TRUE(ExportFile(*model, path).ok());
}

void WriteFloat16(const std::string& model_path, const std::string& path) {
  auto model = ImportFile(model_path);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(ConvertToHalfFloats(*model, {}).ok());
  ASSERT_TRUE(ExportFile(*model, path).ok());
}

// `samples` has a directory each.
void ExpectNoGreaterLoss(const std::string& model, const std::string& samples) {
  const testing::ScratchDirectory directory;
  WriteInt8(model, samples, directory.path("int8.onnx"));
  WriteFloat16(model, directory.path("float16.onnx"));
  const std::string out = directory.path("out"), log = directory.path("log");
  const int status =
      std::system(absl::StrCat(testing::OnnxRuntimePython(), " ", ONWARD_SOURCE_DIR,
                               "/tests/quantization/onnxruntime_tools.py ", directory.path(), " ",
                               model, " ", samples, " >", out, " 2>", log)
                      .c_str());
  std::ifstream errors(log);
  ASSERT_EQ(status, 0) << std::string(std::istreambuf_iterator<char>(errors), {});
  std::map<std::string, std::pair<double, double>> losses;
  std::ifstream lines(out);
  for (std::string kind; lines >> kind;) lines >> losses[kind].first >> losses[kind].second;
  ASSERT_EQ(losses.size(), 2u);
  for (const auto& [kind, loss] : losses) {
    EXPECT_GT(loss.first, 0) << model << " " << kind;
    EXPECT_LE(loss.first, kChance * loss.second) << model << " " << kind;
  }
}

TEST(BesideOnnxRuntime, ConvolutionsOfASmallNet) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers onnxruntime installs it";
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 3, 12, 12});
  Expr y = x;
  for (int64_t i = 0; i < 4; ++i) {
    const auto seed = static_cast<unsigned>(i);
    const int64_t from = i == 0 ? 3 : 8;
    y = Relu(b.Op("Conv", {y, b.Constant(Normal({8, from, 3, 3}, seed, 0.2f), absl::StrCat("w", i)),
                           b.Constant(Normal({8}, 20 + seed, 0.1f), absl::StrCat("b", i))}));
  }
  b.Output("y", MatMul(b.Op("Flatten", {y}), b.Constant(Normal({128, 10}, 30, 0.1f), "w")));
  const testing::ScratchDirectory directory;
  ASSERT_TRUE(ExportFile(*b.Build(), directory.path("model.onnx")).ok());
  for (int i = 0; i < 4; ++i) {
    const std::string folder = directory.path(absl::StrCat("samples/", i));
    std::filesystem::create_directories(folder);
    const Tensor sample = Normal({2, 3, 12, 12}, 40 + static_cast<unsigned>(i));
    ASSERT_TRUE(files::WriteNpy(sample, folder + "/x.npy").ok());
  }
  ExpectNoGreaterLoss(directory.path("model.onnx"), directory.path("samples"));
}

TEST(BesideOnnxRuntime, ModelsOfTheZoo) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers onnxruntime installs it";
  for (const char* name : {"mlp_tiny", "squeezenet1_0", "mobilenet_v2", "minilm_l6"})
    ExpectNoGreaterLoss(absl::StrCat(zoo, "/", name, "/model.onnx"), absl::StrCat(zoo, "/", name));
}

}  // namespace
}  // namespace onward::quantization

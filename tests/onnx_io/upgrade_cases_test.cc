// Old models give what their own opset asks for. The cases are written by upgrade_cases.py.
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "onward/import.h"
#include "onward/session.h"

namespace onward::onnx_io {
namespace {

using nlohmann::json;

Tensor TensorFrom(const json& row) {
  onnx::TensorProto_DataType dtype = onnx::TensorProto::UNDEFINED;
  EXPECT_TRUE(onnx::TensorProto_DataType_Parse(row["dtype"].get<std::string>(), &dtype));
  const std::vector<int64_t> dims = row["dims"].get<std::vector<int64_t>>();
  Tensor tensor(static_cast<DType>(dtype), dims);
  const json& data = row["data"];
  if (tensor.dtype() == DType::kString) {
    for (size_t i = 0; i < data.size(); ++i) {
      tensor.mutable_data<std::string>()[i] = data[i].get<std::string>();
    }
    return tensor;
  }
  const bool known = DispatchDType(
      TypeList<float, Float16, int32_t, int64_t, bool>(), tensor.dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        for (size_t i = 0; i < data.size(); ++i) {
          tensor.mutable_data<T>()[i] = static_cast<T>(data[i].get<float>());
        }
      });
  EXPECT_TRUE(known) << row["dtype"];
  return tensor;
}

void ExpectNear(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.dims(), want.dims());
  if (want.dtype() == DType::kFloat32) {
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      const float expected = want.data<float>()[i];
      EXPECT_NEAR(got.data<float>()[i], expected, 1e-5 + 1e-4 * std::abs(expected)) << "at " << i;
    }
  } else if (want.dtype() == DType::kString) {
    EXPECT_EQ(got.span<std::string>(), want.span<std::string>());
  } else {
    EXPECT_TRUE(SameBits(got, want));
  }
}

std::vector<json> Cases() {
  std::ifstream file(std::string(ONWARD_SOURCE_DIR) + "/tests/onnx_io/data/upgrade_cases.json");
  std::vector<json> cases;
  for (const json& row : json::parse(file)) cases.push_back(row);
  return cases;
}

class UpgradeCasesTest : public ::testing::TestWithParam<json> {};

TEST_P(UpgradeCasesTest, GivesTheSameOutputs) {
  const json& row = GetParam();
  onnx::ModelProto proto;
  const std::string text = row["model"].get<std::string>();
  const auto parsed = onnx::OnnxParser::Parse(proto, text.c_str());
  ASSERT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  absl::StatusOr<Model> model = ImportBytes(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<Value> inputs;
  for (const json& input : row["inputs"]) inputs.emplace_back(TensorFrom(input));
  std::vector<Value> outputs(row["outputs"].size());
  const absl::Status ran = (*session)->Run(inputs, absl::MakeSpan(outputs));
  ASSERT_TRUE(ran.ok()) << ran;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    ExpectNear(outputs[i].tensor(), TensorFrom(row["outputs"][i]));
  }
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeCasesTest, ::testing::ValuesIn(Cases()), [](const auto& info) {
  return info.param["name"].template get<std::string>();
});

}  // namespace
}  // namespace onward::onnx_io

// A served model owns its bytes: what happens to its files afterwards changes nothing.
#include <filesystem>

#include "gtest/gtest.h"
#include "onward/session.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using testing::ProtoFromText;

constexpr int64_t kCount = 1 << 20;

// y = x + w, with weights of 4 MB outside; 0.5 everywhere.
std::string WithExternalWeights() {
  onnx::ModelProto proto = ProtoFromText(R"(<ir_version: 10, opset_import: ["" : 21]>
      g (float[1048576] x) => (float[1048576] y) { y = Add(x, w) })");
  onnx::TensorProto* const tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(kCount);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto* const entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  return proto.SerializeAsString();
}

std::string Halves() {
  const std::vector<float> values(kCount, 0.5f);
  return {reinterpret_cast<const char*>(values.data()), kCount * sizeof(float)};
}

float LastOfRun(Session& session) {
  Tensor x(DType::kFloat32, {kCount});
  for (int64_t i = 0; i < kCount; ++i) x.mutable_data<float>()[i] = 1;
  const auto outputs = session.Run({{"x", x}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->at("y").tensor().data<float>()[kCount - 1] : 0;
}

TEST(CopiedFilesTest, FilesMayBeCutOffAndOverwritten) {
  const testing::ScratchDirectory directory;
  const std::string model = directory.Write("model.onnx", WithExternalWeights());
  const std::string weights = directory.Write("w.bin", Halves());
  auto session = Session::Load(model, {.num_threads = 1, .copy_weights = true});
  ASSERT_TRUE(session.ok()) << session.status();
  std::filesystem::resize_file(weights, 0);
  std::filesystem::resize_file(model, 0);
  EXPECT_EQ(LastOfRun(**session), 1.5f);
  directory.Write("w.bin", std::string(kCount * sizeof(float), '\0'));
  EXPECT_EQ(LastOfRun(**session), 1.5f);
}

TEST(CopiedFilesTest, WeightsInTheModelAreCopiedToo) {
  const testing::ScratchDirectory directory;
  onnx::ModelProto proto;
  proto.ParseFromString(WithExternalWeights());
  onnx::TensorProto* const tensor = proto.mutable_graph()->mutable_initializer(0);
  tensor->clear_data_location();
  tensor->clear_external_data();
  tensor->set_raw_data(Halves());
  const std::string model = directory.Write("model.onnx", proto.SerializeAsString());
  auto session = Session::Load(model, {.num_threads = 1, .copy_weights = true});
  ASSERT_TRUE(session.ok()) << session.status();
  std::filesystem::resize_file(model, 0);
  EXPECT_EQ(LastOfRun(**session), 1.5f);
}

TEST(CopiedFilesTest, ErrorsAreThoseOfMappedFiles) {
  const testing::ScratchDirectory directory;
  const SessionOptions options = {.copy_weights = true};
  for (const std::string name : {"missing.onnx", "empty.onnx", "wrong.onnx", "cut.onnx"}) {
    if (name == "empty.onnx") directory.Write(name, "");
    if (name == "wrong.onnx") directory.Write(name, "{}");
    if (name == "cut.onnx") directory.Write(name, WithExternalWeights());  // without its weights
    const absl::Status copied = Session::Load(directory.path(name), options).status();
    const absl::Status mapped = Session::Load(directory.path(name)).status();
    EXPECT_FALSE(copied.ok());
    EXPECT_EQ(copied, mapped);
  }
}

}  // namespace
}  // namespace onward

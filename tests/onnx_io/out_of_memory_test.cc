// Memory that lacks while a model is read is one error, and not the model's.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "onward/import.h"
#include "onward/memory_limit.h"
#include "tests/support/proto_text.h"

namespace onward::onnx_io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(OutOfMemory, WhileAModelIsReadIsOneError) {
  onnx::ModelProto proto = testing::ProtoFromText(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { y = Neg(x) })");
  for (int i = 0; i < 142; ++i) {
    onnx::TensorProto& weight = *proto.mutable_graph()->add_initializer();
    weight.set_name("w" + std::to_string(i));
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(100);
    for (int k = 0; k < 100; ++k) weight.add_float_data(1);
  }
  const auto limit = std::make_shared<MemoryLimit>(1000);
  const MemoryScope scope(limit);
  const absl::Status status = ImportBytes(proto.SerializeAsString()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("there is not enough memory for the model's tensors: "),
            HasSubstr("above the limit of"), Not(HasSubstr("problems")), Not(HasSubstr("'w9'"))));
}

}  // namespace
}  // namespace onward::onnx_io

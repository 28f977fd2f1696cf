#include "tests/support/proto_text.h"

#include "gtest/gtest.h"
#include "onnx/defs/parser.h"

namespace onward::testing {

onnx::ModelProto ProtoFromText(const std::string& text) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return proto;
}

}  // namespace onward::testing

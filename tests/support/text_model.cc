#include "tests/support/text_model.h"

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx_io/import.h"

namespace onward::testing {

absl::StatusOr<Model> ModelFromText(std::string text) {
  if (text.find_first_not_of(" \n") == text.find("agraph")) {
    text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : 28]>\n", text);
  }
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  if (!status.IsOK()) return absl::InvalidArgumentError(status.ErrorMessage());
  return ImportBytes(proto.SerializeAsString());
}

}  // namespace onward::testing

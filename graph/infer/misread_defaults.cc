#include "graph/infer/misread_defaults.h"

#include <string>

namespace onward {
namespace {

struct Row {
  std::string_view domain, op, attribute;
};

// tests/onnx_io/schema_defaults_test.cc looks through all schemas.
constexpr Row kMisread[] = {
    {"", "ArgMax", "axis"},  // not looked at: a scalar would pass
    {"", "ArgMin", "axis"},
    {"", "STFT", "onesided"},  // read as 0
};

}  // namespace

const onnx::AttributeProto* MisreadDefault(const onnx::OpSchema& schema,
                                           std::string_view attribute) {
  for (const Row& row : kMisread) {
    if (row.attribute != attribute || row.op != schema.Name() || row.domain != schema.domain())
      continue;
    const auto it = schema.attributes().find(std::string(attribute));
    return it == schema.attributes().end() ? nullptr : &it->second.default_value;
  }
  return nullptr;
}

}  // namespace onward

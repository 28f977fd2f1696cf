// The same value elsewhere: in the memory of another device, or later.
#include <utility>

#include "graph/ops/facts.h"
#include "graph/ops/identity_schema.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "After", .domain = kOnwardDomain, .autocast = kFollow, .view = true},
    {.op = "Copy", .domain = kOnwardDomain, .autocast = kFollow, .view = true},
};

}  // namespace

absl::Span<const OpFacts> CopyFacts() { return kFacts; }

std::vector<onnx::OpSchema> CopySchemas() {
  const std::vector<std::string>& any = onnx::OpSchema::all_tensor_types_ir14();
  onnx::OpSchema copy =
      IdentitySchema("Copy", "The same value in the memory of another provider.", any);
  copy.Attr("to", "The provider: cpu, cuda.", onnx::AttributeProto::STRING, true);
  onnx::OpSchema after =
      IdentitySchema("After", "The same value, once the token is computed.", any);
  after.Input(1, "token", "A tensor.", "U");
  after.TypeConstraint("U", any, "Types of tensors.");
  return {std::move(copy), std::move(after)};
}

}  // namespace onward

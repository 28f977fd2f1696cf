// The end of a gradient's way.
#include "graph/ops/facts.h"
#include "graph/ops/identity_schema.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "StopGradient", .domain = kOnwardDomain, .autocast = kFollow, .view = true},
};

}  // namespace

absl::Span<const OpFacts> StopGradientFacts() { return kFacts; }

std::vector<onnx::OpSchema> StopGradientSchemas() {
  return {IdentitySchema("StopGradient",
                         "The same value; nothing before it gets a gradient through it.",
                         onnx::OpSchema::all_tensor_types_ir14())};
}

}  // namespace onward

// The end of a gradient's way.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "StopGradient", .domain = kOnwardDomain, .autocast = kFollow, .view = true},
};

}  // namespace

absl::Span<const OpFacts> StopGradientFacts() { return kFacts; }

std::vector<onnx::OpSchema> StopGradientSchemas() {
  onnx::OpSchema schema("StopGradient", __FILE__, __LINE__);
  schema.SetDomain(kOnwardDomain).SinceVersion(1);
  schema.SetDoc("The same value; nothing before it gets a gradient through it.");
  schema.Input(0, "X", "Any tensor.", "T");
  schema.Output(0, "Y", "The same tensor.", "T");
  schema.TypeConstraint("T", onnx::OpSchema::all_tensor_types_ir14(), "Any tensor.");
  schema.TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
  schema.FunctionBody("{ Y = Identity (X) }", 28);
  std::vector<onnx::OpSchema> schemas;
  schemas.push_back(std::move(schema));
  return schemas;
}

}  // namespace onward

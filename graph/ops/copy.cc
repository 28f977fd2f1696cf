// The same value elsewhere: in the memory of another device, or later.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

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
  onnx::OpSchema schema("Copy", __FILE__, __LINE__);
  schema.SetDomain(kOnwardDomain).SinceVersion(1);
  schema.SetDoc("The same value in the memory of another provider.");
  schema.Attr("to", "The provider: cpu, cuda.", onnx::AttributeProto::STRING, true);
  schema.Input(0, "X", "Any tensor.", "T");
  schema.Output(0, "Y", "Its copy.", "T");
  schema.TypeConstraint("T", onnx::OpSchema::all_tensor_types_ir14(), "Any tensor.");
  schema.TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
  schema.FunctionBody("{ Y = Identity (X) }", 28);
  std::vector<onnx::OpSchema> schemas;
  schemas.push_back(std::move(schema));
  onnx::OpSchema after("After", __FILE__, __LINE__);
  after.SetDomain(kOnwardDomain).SinceVersion(1);
  after.SetDoc("The same value, once the token is computed.");
  after.Input(0, "X", "Any tensor.", "T");
  after.Input(1, "token", "Any tensor.", "U");
  after.Output(0, "Y", "X.", "T");
  after.TypeConstraint("T", onnx::OpSchema::all_tensor_types_ir14(), "Any tensor.");
  after.TypeConstraint("U", onnx::OpSchema::all_tensor_types_ir14(), "Any tensor.");
  after.TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
  after.FunctionBody("{ Y = Identity (X) }", 28);
  schemas.push_back(std::move(after));
  return schemas;
}

}  // namespace onward

// Conditions on a tensor: the same tensor, or an error that says what is wrong and what to do.
#include "graph/ops/require.h"

#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "RequireRange", .domain = kOnwardDomain, .autocast = kFollow, .view = true},
    {.op = "RequireShape", .domain = kOnwardDomain, .autocast = kFollow, .view = true},
};

// X with the dims that it must have, where these are known: a value that is compared with what gave
// them has their names.
void InferRequiredShape(onnx::InferenceContext& context) {
  onnx::propagateShapeAndTypeFromFirstInput(context);
  const onnx::AttributeProto* broadcasts = context.getAttribute("broadcasts");
  const onnx::TensorShapeProto* expected = context.getSymbolicInput(1);
  if ((broadcasts != nullptr && broadcasts->i() != 0) || expected == nullptr ||
      !onnx::hasInputShape(context, 0))
    return;
  onnx::TensorShapeProto* dims = onnx::getOutputShape(context, 0);
  if (dims->dim_size() != expected->dim_size()) return;  // an error when it runs
  for (int i = 0; i < dims->dim_size(); ++i) {
    if (expected->dim(i).has_dim_value() || expected->dim(i).has_dim_param())
      *dims->mutable_dim(i) = expected->dim(i);
  }
}

onnx::OpSchema Requirement(const char* op, const char* doc) {
  onnx::OpSchema schema(op, __FILE__, __LINE__);
  schema.SetDomain(kOnwardDomain).SinceVersion(1);
  schema.SetDoc(doc);
  schema.Input(0, "X", "Any tensor.", "T");
  schema.Output(0, "Y", "X.", "T");
  schema.TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
  schema.FunctionBody("{ Y = Identity (X) }", 28);
  return schema;
}

}  // namespace

absl::Span<const OpFacts> RequireFacts() { return kFacts; }

std::vector<onnx::OpSchema> RequireSchemas() {
  onnx::OpSchema shape =
      Requirement("RequireShape",
                  "X, whose shape is `expected`. In the message of the error {got} is X's "
                  "shape, {expected} that one, and {of} the third input.");
  shape.Attr("message", "What is wrong and what to do.", onnx::AttributeProto::STRING, true);
  shape.Attr("broadcasts", "1: X broadcasts to `expected`, which stays as it is.",
             onnx::AttributeProto::INT, int64_t{0});
  shape.TypeAndShapeInferenceFunction(InferRequiredShape);
  shape.Input(1, "expected", "Dims.", "tensor(int64)");
  shape.Input(2, "of", "Dims that the message shows.", "tensor(int64)", onnx::OpSchema::Optional);
  shape.TypeConstraint("T", onnx::OpSchema::all_tensor_types_ir14(), "Any tensor.");
  onnx::OpSchema range =
      Requirement("RequireRange", "X, whose elements are in [least, most] or NaN.");
  range.Attr("name", "Of X, in the message of the error.", onnx::AttributeProto::STRING, true);
  range.Attr("advice", "What to do.", onnx::AttributeProto::STRING, true);
  range.Attr("least", "The least element.", onnx::AttributeProto::FLOAT, 0.0f);
  range.Attr("most", "The greatest element.", onnx::AttributeProto::FLOAT, 1.0f);
  range.TypeConstraint(
      "T", {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)"}, "Floats.");
  std::vector<onnx::OpSchema> schemas;
  schemas.push_back(std::move(shape));
  schemas.push_back(std::move(range));
  return schemas;
}

}  // namespace onward

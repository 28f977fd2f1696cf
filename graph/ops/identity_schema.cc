#include "graph/ops/identity_schema.h"

#include "graph/ops/onward_schemas.h"
#include "onnx/defs/shape_inference.h"

namespace onward {

onnx::OpSchema IdentitySchema(const char* op, const char* doc,
                              const std::vector<std::string>& types) {
  onnx::OpSchema schema(op, __FILE__, __LINE__);
  schema.SetDomain(kOnwardDomain).SinceVersion(1).SetDoc(doc);
  schema.Input(0, "X", "A tensor.", "T").Output(0, "Y", "X.", "T");
  schema.TypeConstraint("T", types, "Types of tensors.");
  schema.TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
  schema.FunctionBody("{ Y = Identity (X) }", 28);
  return schema;
}

}  // namespace onward

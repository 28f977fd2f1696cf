// Sums over the processes that train together.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

namespace onward {
namespace {

using enum AutocastClass;

// Other ranks add other values in each run, so the op counts as random.
constexpr OpFacts kFacts[] = {
    {.op = "AllReduce", .domain = kOnwardDomain, .autocast = kFull, .random = true},
};

}  // namespace

absl::Span<const OpFacts> AllReduceFacts() { return kFacts; }

std::vector<onnx::OpSchema> AllReduceSchemas() {
  onnx::OpSchema schema("AllReduce", __FILE__, __LINE__);
  schema.SetDomain(kOnwardDomain).SinceVersion(1);
  schema.SetDoc("The sum of X over all ranks, on each of them. Where there is one rank: X.");
  schema.Input(0, "X", "Any tensor of numbers.", "T");
  schema.Output(0, "Y", "The sum.", "T");
  schema.TypeConstraint("T",
                        {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)",
                         "tensor(int32)", "tensor(int64)"},
                        "Numbers.");
  schema.TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
  schema.FunctionBody("{ Y = Identity (X) }", 28);
  std::vector<onnx::OpSchema> schemas;
  schemas.push_back(std::move(schema));
  return schemas;
}

}  // namespace onward

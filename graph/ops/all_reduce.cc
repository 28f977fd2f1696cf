// Sums over the processes that train together.
#include "graph/ops/facts.h"
#include "graph/ops/identity_schema.h"
#include "graph/ops/onward_schemas.h"

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
  return {IdentitySchema(
      "AllReduce", "The sum of X over all ranks, on each of them. Where there is one rank: X.",
      {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)", "tensor(int32)",
       "tensor(int64)"})};
}

}  // namespace onward

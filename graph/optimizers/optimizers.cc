#include "graph/optimizers/optimizers.h"

#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"

namespace onward {
namespace optimizers {

Expr StepCall::gradient() const {
  const Expr given = call_.input(1);
  return Is("maximize") ? -given : given;
}

Expr StepCall::setting(int64_t index) const {
  return expr::Gather(call_.input(2),
                      call_.sink().Scalar(static_cast<double>(index), DType::kInt64));
}

}  // namespace optimizers

std::vector<onnx::OpSchema> OptimizerSchemas() {
  return FormulaSchemas(
      kOnwardDomain,
      {optimizers::AdafactorOps, optimizers::AdagradOps, optimizers::AdamOps, optimizers::LambOps,
       optimizers::LionOps, optimizers::MuonOps, optimizers::RMSpropOps, optimizers::SgdOps});
}

}  // namespace onward

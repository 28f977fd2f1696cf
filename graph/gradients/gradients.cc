#include "graph/gradients/gradients.h"

#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"

namespace onward {

std::vector<onnx::OpSchema> GradientSchemas() {
  return FormulaSchemas(kOnwardDomain, {gradients::ActivationOps, gradients::AttentionOps,
                                        gradients::BatchNormalizationOps, gradients::ConvOps,
                                        gradients::LayerNormalizationOps, gradients::LossOps,
                                        gradients::PoolOps, gradients::RecurrentOps});
}

}  // namespace onward

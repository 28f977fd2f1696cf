#include "graph/fused/fused.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ops/activation.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"

namespace onward {
namespace fused {

Expr Activated(const FormulaCall& call, const Expr& x, std::string_view prefix) {
  const std::string attribute = absl::StrCat(std::string(prefix), "activation");
  const std::string name = call.String(attribute);
  if (name.empty()) return x;
  const ActivationRow* row = FindActivation(name);
  if (row == nullptr) {
    std::string names;
    for (const ActivationRow& each : Activations())
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(each.name));
    call.Fail(absl::StrCat("the attribute ", attribute, " is '", name, "', not one of ", names));
    return {};
  }
  const float alpha = call.Float(absl::StrCat(attribute, "_alpha"));
  const float beta = call.Float(absl::StrCat(attribute, "_beta"));
  if (row->kind == Activation::kClip) return Clip(x, ScalarLike(x, alpha), ScalarLike(x, beta));
  Attributes attributes;
  if (!row->alpha.attribute.empty()) attributes.Set(std::string(row->alpha.attribute), alpha);
  if (!row->beta.attribute.empty()) attributes.Set(std::string(row->beta.attribute), beta);
  if (!row->choice.attribute.empty())
    attributes.Set(std::string(row->choice.attribute), std::string(row->choice.value));
  return expr::Op(row->op, {x}, std::move(attributes));
}

}  // namespace fused

std::vector<onnx::OpSchema> FusedSchemas() {
  return FormulaSchemas(kOnwardDomain, {fused::ByteTableOps, fused::ConvOps, fused::ElementwiseOps,
                                        fused::LayoutOps, fused::MatMulOps, fused::NormalizationOps,
                                        fused::LossOps, fused::PoolOps, fused::QuantizedConvOps});
}

}  // namespace onward

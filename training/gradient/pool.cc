// Pooling.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

// The gradient goes to the first largest element of each window: MaxPool's indices say where,
// ScatterElements adds.
Result MaxPoolRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0);
  Attributes attributes = s.attributes();
  attributes.Erase("storage_order");
  const Expr indices = Ops("MaxPool", {x}, 2, attributes)[1];
  const Expr zeros = Reshape(ZerosLike(x), {-1});
  const Expr scattered = Op("ScatterElements", {zeros, Reshape(indices, {-1}), Reshape(dy, {-1})},
                            {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return {{Reshape(scattered, Shape(x), true)}};
}

Result GlobalAveragePoolRule(const GradientScope& s) {
  const Expr x = s.input(0);
  const Expr count = Cast(Size(x), x.dtype()) / Cast(Size(s.output(0)), x.dtype());
  return {{Expand(s.upstream(0) / count, Shape(x))}};
}

constexpr GradientEntry kRules[] = {{"GlobalAveragePool", GlobalAveragePoolRule},
                                    {"MaxPool", MaxPoolRule}};

}  // namespace

GradientList PoolGradients() { return kRules; }

}  // namespace onward::gradient

// Convolutions.
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

Attributes Without(Attributes attributes, const std::vector<std::string>& names) {
  for (const std::string& name : names) attributes.Erase(name);
  return attributes;
}

// activation(Conv(X, W, B) + Z)
std::vector<Expr> FusedConv(const FormulaCall& call) {
  Expr y = Op("Conv", {call.input(0), call.input(1), call.input(2)},
              Without(call.attributes(), {"activation", "activation_params"}));
  if (call.has_input(3)) y = y + call.input(3);
  const std::string activation = call.String("activation");
  const std::vector<float> values = call.attributes().Floats("activation_params");
  Attributes parameters;
  const char* second = activation == "Selu" ? "gamma" : "beta";
  if (!values.empty()) parameters.Set("alpha", values[0]);
  if (values.size() > 1) parameters.Set(second, values[1]);
  return {Activated(call, y, activation, parameters)};
}

// The whole product, of which the pads are cut off.
std::vector<Expr> ConvTransposeWithDynamicPads(const FormulaCall& call) {
  const Expr pads = call.input(2);
  const Expr y =
      Op("ConvTranspose", {call.input(0), call.input(1), call.input(3)}, call.attributes());
  if (!pads.valid()) return {y};
  const int64_t spatial = call.Rank(0) - 2;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < spatial; ++i) axes.push_back(i + 2);
  const std::vector<Expr> ends = Split(pads, {spatial, spatial}, 0);
  const Expr sizes = Shape(y, 2, spatial + 2);
  return {Op("Slice", {y, ends[0], sizes - ends[1], call.sink().Ints(axes)})};
}

}  // namespace

std::vector<FormulaOp> ConvOps() {
  return {
      {"FusedConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1,"
       " kernel_shape: ints?, pads: ints?, strides: ints?, activation: string?,"
       " activation_params: floats?> (X: T, W: T, B: T?, Z: T?) -> (Y: T)"
       " where T = float16|float|double",
       FusedConv},
      {"ConvTransposeWithDynamicPads <auto_pad: string = \"NOTSET\", dilations: ints?,"
       " group: int = 1, kernel_shape: ints?, output_padding: ints?, strides: ints?>"
       " (X: T, W: T, Pads: P?, B: T?) -> (Y: T) where T = float16|float|double, P = int64",
       ConvTransposeWithDynamicPads},
  };
}

}  // namespace onward::microsoft

// A group of elementwise ops that a device may compute in one loop.
#include <string>

#include "graph/fused/elementwise_steps.h"
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> Elementwise(const FormulaCall& call) {
  const auto steps =
      ReadSteps(call.attributes(), static_cast<int>(call.num_inputs()), call.num_outputs());
  if (!steps.ok()) {
    call.Fail(std::string(steps.status().message()));
    return {};
  }
  std::vector<Expr> values;
  for (size_t i = 0; i < call.num_inputs(); ++i) values.push_back(call.input(i));
  for (const ElementwiseStep& step : *steps) {
    std::vector<Expr> operands;
    for (const int operand : step.operands)
      operands.push_back(operand < 0 ? Expr() : values[static_cast<size_t>(operand)]);
    values.push_back(call.sink().Op(step.op, operands, step.attributes, step.domain));
  }
  std::vector<Expr> outputs;
  for (const int64_t result : call.attributes().Ints("results"))
    outputs.push_back(values[static_cast<size_t>(result)]);
  return outputs;
}

}  // namespace

std::vector<FormulaOp> ElementwiseOps() {
  return {
      {"Elementwise <steps: strings, results: ints> (inputs: X...) -> (outputs: Y...)"
       " where X = float|double|float16|bfloat16|int8|int16|int32|int64|uint8|uint16|uint32|uint64"
       "|bool,"
       " Y = float|double|float16|bfloat16|int8|int16|int32|int64|uint8|uint16|uint32|uint64|bool",
       Elementwise}};
}

}  // namespace onward::fused

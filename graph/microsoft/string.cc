// Text. No formula writes it: a kernel does.
#include "graph/microsoft/microsoft.h"
#include "onnx/defs/shape_inference.h"

namespace onward::microsoft {
namespace {

// Strings [C] or [N, C] become [..., most tokens].
void TokenizerTypes(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasInputShape(context, 0)) return;
  const onnx::TensorShapeProto& from = onnx::getInputShape(context, 0);
  if (from.dim_size() != 1 && from.dim_size() != 2)
    fail_shape_inference("X has rank ", from.dim_size(), ", not 1 or 2");
  onnx::TensorShapeProto to = from;
  to.add_dim();
  onnx::updateOutputShape(context, 0, to);
}

}  // namespace

std::vector<FormulaOp> StringOps() {
  return {
      {"Tokenizer <mark: int, mincharnum: int, pad_value: string, separators: strings?,"
       " stopwords: strings?, tokenexp: string?> (X: T) -> (Y: T) where T = string",
       nullptr, TokenizerTypes},
  };
}

}  // namespace onward::microsoft

// Elements by index.
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/microsoft/microsoft.h"
#include "onnx/defs/shape_inference.h"

namespace onward::microsoft {
namespace {

// The formula has a comparison for each token.
constexpr int64_t kLongestNGram = 256;

std::vector<Expr> GatherND(const FormulaCall& call) {
  return {Op("GatherND", {call.input(0), Cast(call.input(1), DType::kInt64)})};
}

// Attributes about gradients do not concern the value.
std::vector<Expr> TorchEmbedding(const FormulaCall& call) {
  return {Gather(call.input(0), call.input(1))};
}

// -inf for each token that once followed the last n - 1 tokens.
std::vector<Expr> NGramRepeatBlock(const FormulaCall& call) {
  const Expr ids = call.input(0), scores = call.input(1);
  const int64_t size = call.Int("ngram_size");
  if (size < 1 || size > kLongestNGram) {
    call.Fail(absl::StrCat("`ngram_size` must be from 1 to ", kLongestNGram));
    return {};
  }
  const int64_t before = size - 1;
  const int64_t end = std::numeric_limits<int64_t>::max();
  const Expr followers = Slice(ids, {before}, {end}, {1});
  const Expr inf = ScalarLike(scores, std::numeric_limits<double>::infinity());
  Expr update = Expand(-inf, Shape(followers));
  for (int64_t i = 0; i < before; ++i) {
    const Expr token = Slice(ids, {i - before}, {i + 1 == before ? end : i + 1 - before}, {1});
    update = Where(Equal(Slice(ids, {i}, {i - before}, {1}), token), update, inf);
  }
  return {Op("ScatterElements", {scores, followers, update},
             {{"axis", int64_t{1}}, {"reduction", std::string("min")}})};
}

void MurmurHash3Types(onnx::InferenceContext& context) {
  const onnx::AttributeProto* positive = context.getAttribute("positive");
  const bool is_signed = positive != nullptr && positive->i() == 0;
  onnx::updateOutputElemType(context, 0,
                             is_signed ? onnx::TensorProto::INT32 : onnx::TensorProto::UINT32);
  if (onnx::hasInputShape(context, 0)) onnx::propagateShapeFromInputToOutput(context, 0, 0);
}

}  // namespace

std::vector<FormulaOp> GatherScatterOps() {
  return {
      {"GatherND (data: T, indices: I) -> (output: T)"
       " where T = uint8|uint16|uint32|uint64|int8|int16|int32|int64|float16|bfloat16|float|double"
       "|string|bool|complex64|complex128, I = int32|int64",
       GatherND},
      {"TorchEmbedding (weight: T, indices: I, padding_idx: I?, scale_grad_by_freq: B?) -> (Y: T)"
       " where T = float16|float|double|bfloat16|uint8|uint16|uint32|uint64|int8|int16|int32|int64,"
       " I = int64, B = bool",
       TorchEmbedding},
      {"NGramRepeatBlock <ngram_size: int> (input_ids: I, scores: T) -> (scores_out: T)"
       " where I = int64, T = float",
       NGramRepeatBlock},
      {"MurmurHash3 <positive: int = 1, seed: int = 0> (X: T) -> (Y: H)"
       " where T = uint32|int32|uint64|int64|float|double|string, H = uint32|int32",
       nullptr, MurmurHash3Types},
  };
}

}  // namespace onward::microsoft

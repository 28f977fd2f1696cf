// Normalizations with the sums before them.
#include "absl/strings/str_cat.h"
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

// Normalizes the last axis. `outputs` has the result, the mean and the inverse deviation.
std::vector<Expr> LayerNormalized(const FormulaCall& call, const Expr& x, const Expr& scale,
                                  const Expr& bias) {
  const bool statistics = call.wants_output(1) || call.wants_output(2);
  return Ops("LayerNormalization", {x, scale, bias}, statistics ? 3 : 1,
             {{"axis", int64_t{-1}}, {"epsilon", call.Float("epsilon")}});
}

// The inverse of the root mean square, in float32 as the standard's op computes.
Expr InverseRootMeanSquare(const Expr& x, int64_t axis, int64_t rank, float epsilon) {
  std::vector<int64_t> axes;
  for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i) axes.push_back(i);
  const Expr wide = Cast(x, DType::kFloat32);
  return Reciprocal(Sqrt(ReduceMean(wide * wide, axes) + epsilon));
}

Expr RootMeanSquareNormalized(const Expr& x, const Expr& scale, int64_t axis, float epsilon) {
  return Op("RMSNormalization", {x, scale}, {{"axis", axis}, {"epsilon", epsilon}});
}

// Y and the inverse deviation, as ONNX Runtime has it in the standard's domain.
std::vector<Expr> SimplifiedLayerNormalization(const FormulaCall& call) {
  const Expr x = call.input(0), scale = call.input(1);
  const int64_t axis = call.Int("axis");
  if (axis < -call.Rank(0) || axis >= call.Rank(0)) {
    call.Fail(absl::StrCat("axis ", axis, " is out of range for rank ", call.Rank(0)));
    return {};
  }
  const float epsilon = call.Float("epsilon");
  Expr y;
  if (x.dtype() == scale.dtype()) {
    y = RootMeanSquareNormalized(x, scale, axis, epsilon);
  } else {
    const DType wide = DType::kFloat32;
    y = RootMeanSquareNormalized(Cast(x, wide), Cast(scale, wide), axis, epsilon);
    y = Cast(y, scale.dtype());
  }
  if (!call.wants_output(1)) return {y};
  return {y, InverseRootMeanSquare(x, axis, call.Rank(0), epsilon)};
}

Expr SkipSum(const FormulaCall& call, size_t bias) {
  const Expr sum = call.input(0) + call.input(1);
  return call.has_input(bias) ? sum + call.input(bias) : sum;
}

std::vector<Expr> SkipLayerNormalization(const FormulaCall& call) {
  const Expr sum = SkipSum(call, 4);
  std::vector<Expr> outputs = LayerNormalized(call, sum, call.input(2), call.input(3));
  outputs.resize(3);
  outputs.push_back(sum);
  return outputs;
}

std::vector<Expr> SkipSimplifiedLayerNormalization(const FormulaCall& call) {
  const Expr sum = SkipSum(call, 3);
  const float epsilon = call.Float("epsilon");
  std::vector<Expr> outputs = {
      RootMeanSquareNormalized(sum, call.input(2), -1, epsilon), {}, {}, sum};
  if (call.wants_output(1))
    call.Fail("the output `mean` is not computed by a root mean square normalization");
  if (call.wants_output(2)) outputs[2] = InverseRootMeanSquare(sum, -1, call.Rank(0), epsilon);
  return outputs;
}

std::vector<Expr> EmbedLayerNormalization(const FormulaCall& call) {
  const Expr ids = call.input(0), mask = call.input(7);
  Expr sum = Gather(call.input(2), ids);
  if (call.has_input(8)) {
    sum = sum + Gather(call.input(3), call.input(8));
  } else {
    const Expr length = OneElement(Shape(ids, 1, 2));
    const Expr positions = Op("Range", {call.sink().Scalar(0, DType::kInt64), length,
                                        call.sink().Scalar(1, DType::kInt64)});
    sum = sum + Gather(call.input(3), positions);
  }
  if (call.has_input(1) && call.has_input(4)) sum = sum + Gather(call.input(4), call.input(1));
  const Expr y = Op("LayerNormalization", {sum, call.input(5), call.input(6)},
                    {{"axis", int64_t{-1}}, {"epsilon", call.Float("epsilon")}});
  // The number of tokens of each row that count; 0 without a mask.
  Expr lengths;
  if (mask.valid()) {
    lengths = ReduceSum(Cast(Equal(mask, ScalarLike(mask, 1)), DType::kInt32), {1}, false);
  } else {
    lengths = Expand(call.sink().Scalar(0, DType::kInt32), Shape(ids, 0, 1));
  }
  return {y, lengths, sum};
}

// In float32, whatever the dtypes, as ONNX Runtime computes it.
Expr GroupNormalized(const FormulaCall& call, const Expr& x) {
  const int64_t rank = call.Rank(0), activation = call.Int("activation");
  const bool channels_last = call.Int("channels_last") != 0;
  if (activation != 0 && activation != 1) call.Fail("`activation` must be 0 or 1");
  if (rank < 3) call.Fail("the input needs a batch, channels and at least one more axis");
  std::vector<int64_t> to_first = {0, rank - 1}, to_last = {0};
  for (int64_t i = 1; i + 1 < rank; ++i) to_first.push_back(i);
  for (int64_t i = 2; i < rank; ++i) to_last.push_back(i);
  to_last.push_back(1);
  const DType wide = DType::kFloat32;
  Expr y = Cast(x, wide);
  if (channels_last) y = Transpose(y, to_first);
  y = Op("GroupNormalization", {y, Cast(call.input(1), wide), Cast(call.input(2), wide)},
         {{"num_groups", call.Int("groups")}, {"epsilon", call.Float("epsilon")}});
  if (activation == 1) y = Op("Swish", {y});
  if (channels_last) y = Transpose(y, to_last);
  return Cast(y, x.dtype());
}

std::vector<Expr> GroupNorm(const FormulaCall& call) {
  return {GroupNormalized(call, call.input(0))};
}

// The skip is of the input's shape, or [N, 1, 1, C], or [N, C].
std::vector<Expr> SkipGroupNorm(const FormulaCall& call) {
  const bool channels_last = call.Int("channels_last") != 0;
  Expr skip = call.input(3), bias = call.input(4);
  if (call.Rank(3) == 2)
    skip = Unsqueeze(skip, channels_last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3});
  if (bias.valid() && !channels_last) bias = Unsqueeze(bias, {1, 2});
  Expr sum = call.input(0) + skip;
  if (bias.valid()) sum = sum + bias;
  return {GroupNormalized(call, sum), sum};
}

// Each run of as many elements as `scale` has is normalized; times activation(gate), in float32.
std::vector<Expr> GatedRMSNorm(const FormulaCall& call) {
  const Expr x = call.input(0), scale = call.input(1);
  const std::string activation = call.String("activation");
  const DType wide = DType::kFloat32;
  const Expr shape = Shape(x);
  const Expr runs = Concat({Shape(x, 0, -1), call.sink().Ints({-1}), Shape(scale)}, 0);
  const Expr normalized = RootMeanSquareNormalized(Reshape(Cast(x, wide), runs), Cast(scale, wide),
                                                   -1, call.Float("epsilon"));
  const Expr gate = Cast(call.input(2), wide);
  Expr factor;
  if (activation == "silu" || activation == "swish") {
    factor = Op("Swish", {gate});
  } else if (activation == "sigmoid") {
    factor = Sigmoid(gate);
  } else {
    call.Fail("`activation` must be silu, swish or sigmoid");
  }
  return {Cast(Reshape(normalized, shape, /*allow_zero=*/true) * factor, x.dtype())};
}

}  // namespace

std::vector<FormulaOp> NormalizationOps() {
  return {
      {"SimplifiedLayerNormalization <axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1>"
       " (X: T, scale: V) -> (Y: V, inv_std_var: U?)"
       " where T = float16|float|double|bfloat16, V = float16|float|double|bfloat16, U = float",
       SimplifiedLayerNormalization},
      {"SkipLayerNormalization <epsilon: float = 1e-12>"
       " (input: T, skip: T, gamma: T, beta: T?, bias: T?)"
       " -> (output: T, mean: U?, inv_std_var: U?, input_skip_bias_sum: T?)"
       " where T = float|float16|bfloat16|double, U = float",
       SkipLayerNormalization},
      {"SkipSimplifiedLayerNormalization <epsilon: float = 1e-12>"
       " (input: T, skip: T, gamma: T, bias: T?)"
       " -> (output: T, mean: U?, inv_std_var: U?, input_skip_bias_sum: T?)"
       " where T = float|float16|bfloat16|double, U = float",
       SkipSimplifiedLayerNormalization},
      {"EmbedLayerNormalization <epsilon: float = 1e-12, mask_index_type: int?>"
       " (input_ids: I, segment_ids: I?, word_embedding: T, position_embedding: T,"
       " segment_embedding: T?, gamma: T, beta: T, mask: I?, position_ids: I?)"
       " -> (output: T, mask_index: I?, embedding_sum: T?) where I = int32, T = float|float16",
       EmbedLayerNormalization},
      {"GroupNorm <activation: int, channels_last: int = 1, epsilon: float = 1e-5, groups: int>"
       " (X: T, gamma: M, beta: M) -> (Y: T) where T = float16|float, M = float16|float",
       GroupNorm},
      {"SkipGroupNorm <activation: int, channels_last: int = 1, epsilon: float = 1e-5,"
       " groups: int> (X: T, gamma: M, beta: M, skip: T, bias: T?) -> (Y: T, S: T?)"
       " where T = float16|float, M = float16|float",
       SkipGroupNorm},
      {"GatedRMSNorm <activation: string = \"silu\", epsilon: float = 1e-5>"
       " (X: T, scale: T, gate: T) -> (Y: T) where T = float|float16|bfloat16",
       GatedRMSNorm},
  };
}

}  // namespace onward::microsoft

// Decoders with the inputs and outputs that optimum gives them, of any size.
#pragma once

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "onward/builder.h"

namespace onward::testing {

// The source of the positions of a model that has caches and copies them.
enum class Positions { kInput, kMask, kPast };

struct DecoderSizes {
  int64_t layers = 2, width = 8, heads = 2, vocabulary = 13, context = 32;
  int64_t window = 0;       // columns that a token sees, 0: all
  bool tables = false;      // columns have weights, and none behind the context
  bool reads_past = false;  // something besides a Concat reads the first cache
};

// A decoder as optimum exports it, of random weights. `masked`: it has an attention_mask, which
// hides columns of its caches.
inline absl::StatusOr<Model> ExportedDecoder(Positions positions, bool masked,
                                             const DecoderSizes& sizes = {}) {
  using namespace expr;  // NOLINT: models as formulas
  const int64_t width = sizes.width, heads = sizes.heads, size = width / heads;
  const float root = 1.4f / std::sqrt(static_cast<float>(width));
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  std::mt19937 random(5);
  GraphBuilder b("exported");
  const auto weight = [&](const Dims& dims, float scale) {
    std::normal_distribution<float> normal(0, scale);
    Tensor data(DType::kFloat32, dims);
    for (int64_t i = 0; i < data.num_elements(); ++i)
      data.mutable_data<float>()[i] = normal(random);
    return b.Constant(data);
  };
  const Expr ids = b.Input("input_ids", DType::kInt64, {"batch", "length"});
  const Expr length = Shape(ids, 1, 2);
  Expr mask, places;
  std::vector<std::array<Expr, 2>> past(static_cast<size_t>(sizes.layers));
  if (masked) mask = b.Input("attention_mask", DType::kInt64, {"batch", "total"});
  if (positions == Positions::kInput)
    places = b.Input("position_ids", DType::kInt64, {"batch", "length"});
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    for (size_t i = 0; i < 2; ++i) {
      past[static_cast<size_t>(layer)][i] =
          b.Input(absl::StrCat("past_key_values.", layer, i == 0 ? ".key" : ".value"),
                  DType::kFloat32, {"batch", heads, "past", size});
    }
  }
  const Expr zero = b.Scalar(0, DType::kInt64), one = b.Scalar(1, DType::kInt64);
  const Expr before = Squeeze(Shape(past[0][0], 2, 3), {0});
  const Expr total = before + Squeeze(length, {0});
  const Expr rows = Op("Range", {before, total, one}), columns = Op("Range", {zero, total, one});
  if (positions == Positions::kPast) places = Unsqueeze(rows, {0});
  if (positions == Positions::kMask) {
    const Expr counts = Op("CumSum", {mask, one}) - one;
    places = Op("Gather", {counts, rows}, {{"axis", int64_t{1}}});
  }
  Expr allowed = Unsqueeze(LessOrEqual(Unsqueeze(columns, {0}), Unsqueeze(rows, {1})), {0, 1});
  if (masked) allowed = And(allowed, Unsqueeze(Cast(mask, DType::kBool), {1, 2}));
  if (sizes.window > 0) {
    const Expr first = Unsqueeze(rows - static_cast<double>(sizes.window), {1});
    allowed = And(allowed, Unsqueeze(Less(first, Unsqueeze(columns, {0})), {0, 1}));
  }
  const Expr low = b.Scalar(-1e9, DType::kFloat32), none = b.Scalar(0, DType::kFloat32);
  Expr bias = Where(allowed, none, low);
  if (sizes.tables) bias = bias + expr::Gather(weight({sizes.context}, 0.1f), columns);
  Expr x = expr::Gather(weight({sizes.vocabulary, width}, 1), ids) +
           expr::Gather(weight({sizes.context, width}, 2), places);
  if (sizes.reads_past) x = x + Squeeze(ReduceSum(past[0][0]) * 0.0, {0});
  const auto split = [&](const Expr& y) {
    return Transpose(Reshape(y, {0, 0, heads, size}), {0, 2, 1, 3});
  };
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    const Expr q = split(MatMul(x, weight({width, width}, root)));
    Expr present[2];
    for (size_t i = 0; i < 2; ++i) {
      present[i] = expr::Concat(
          {past[static_cast<size_t>(layer)][i], split(MatMul(x, weight({width, width}, root)))}, 2);
      b.Output(absl::StrCat("present.", layer, i == 0 ? ".key" : ".value"), present[i]);
    }
    const Expr scores = MatMul(q, Transpose(present[0], {0, 1, 3, 2})) * scale + bias;
    const Expr seen = MatMul(Softmax(scores), present[1]);
    x = x + MatMul(Reshape(Transpose(seen, {0, 2, 1, 3}), {0, 0, width}),
                   weight({width, width}, 2 * root));
    x = Tanh(x);
  }
  b.Output("logits", MatMul(x, weight({width, sizes.vocabulary}, 2 * root)));
  return b.Build();
}

}  // namespace onward::testing

// Rotations by position, and biases by relative position.
#include <algorithm>
#include <cmath>

#include "graph/microsoft/attention.h"

namespace onward::microsoft {
namespace {

// Positions are given for each token, or the first one for all rows.
std::vector<Expr> RotaryEmbedding(const FormulaCall& call) {
  const Expr x = call.input(0), given = call.input(1);
  const int64_t rank = call.Rank(0), half = call.Dim(2, 1);
  int64_t heads = call.Int("num_heads"), size = call.Int("rotary_embedding_dim");
  if (!call.sink().status().ok()) return {};
  if (size > 0 && heads == 0 && rank == 3) {
    call.Fail("`rotary_embedding_dim` needs `num_heads`");
    return {};
  }
  if (rank == 3 && heads == 0) heads = call.Dim(0, 2) / (2 * std::max<int64_t>(half, 1));
  Expr positions = given;
  if (call.Rank(1) != 2) {
    const Expr length = DimOf(x, rank == 4 ? 2 : 1);
    positions =
        Expand(Reshape(given, {1}) + PositionsUpTo(length), Concat({DimOf(x, 0), length}, 0));
  }
  return {Op("RotaryEmbedding", {x, call.input(2), call.input(3), positions},
             {{"num_heads", rank == 4 ? 0 : heads},
              {"rotary_embedding_dim", size},
              {"interleaved", call.Int("interleaved")}})};
}

// Queries and keys with their turned halves, by the angles `emb`.
std::vector<Expr> GemmaRotaryEmbedding(const FormulaCall& call) {
  const Expr sin = Unsqueeze(Cast(Sin(call.input(0)), call.input(1).dtype()), {1});
  const Expr cos = Unsqueeze(Cast(Cos(call.input(0)), call.input(1).dtype()), {1});
  return {call.input(1) * cos + call.input(2) * sin, call.input(3) * cos + call.input(4) * sin};
}

// T5's buckets of the distance key - query: one for each small distance, then logarithmic ones up
// to max_distance. The table's elements lie as [heads, buckets], whatever its dims say.
std::vector<Expr> RelativePositionBias(const FormulaCall& call) {
  ExprSink& sink = call.sink();
  const int64_t all = call.Dim(0, 0), heads = call.Dim(0, 1), most = call.Int("max_distance");
  const bool both_ways = call.Int("is_bidirectional") != 0;
  const int64_t buckets = both_ways ? all / 2 : all, exact = buckets / 2;
  if (!sink.status().ok()) return {};
  if (exact < 1 || most <= exact) {
    call.Fail("`max_distance` must exceed half the buckets of one direction");
    return {};
  }
  const Expr queries = PositionsUpTo(Reshape(call.input(1), {1}));
  const Expr keys = PositionsUpTo(Reshape(call.input(2), {1}));
  const Expr distance = keys - Unsqueeze(queries, {1});
  const Expr zero = ScalarLike(distance, 0);
  const Expr length = both_ways ? Abs(distance) : Max(-distance, zero);
  const double per_octave = static_cast<double>(buckets - exact) /
                            std::log(static_cast<double>(most) / static_cast<double>(exact));
  const Expr far =
      Cast(Max(length, ScalarLike(length, 1)), DType::kFloat32) / static_cast<double>(exact);
  const Expr logarithmic =
      Min(Cast(Log(far) * per_octave, DType::kInt64) + static_cast<double>(exact),
          ScalarLike(length, static_cast<double>(buckets - 1)));
  Expr bucket =
      Where(Less(length, ScalarLike(length, static_cast<double>(exact))), length, logarithmic);
  if (both_ways) {
    bucket = bucket + Where(Greater(distance, zero),
                            ScalarLike(distance, static_cast<double>(buckets)), zero);
  }
  return {Unsqueeze(Gather(Reshape(call.input(0), {heads, all}), bucket, 1), {0})};
}

// rel_pos times gate_u * (gate_r * eco_a - 1) + 2, with gates of each query and head.
std::vector<Expr> GatedRelativePositionBias(const FormulaCall& call) {
  const int64_t heads = call.Int("num_heads"), width = call.Dim(4, 0);
  if (heads < 1) call.Fail("`num_heads` must be at least 1");
  if (!call.sink().status().ok()) return {};
  Expr x = call.input(0) + call.input(1);
  if (call.has_input(6)) x = Padded(x, call.input(6));
  const Expr sums = MatMul(SplitHeads(x, heads), call.input(3)) + call.input(4);
  const Expr parted = Reshape(sums, {0, 0, 0, 2, width / 2});
  const std::vector<Expr> gates = Split(Sigmoid(ReduceSum(parted, {-1}, false)), {1, 1}, -1);
  const Expr gate = gates[0] * (gates[1] * call.input(5) - 1.0) + 2.0;
  return {gate * call.input(2)};
}

}  // namespace

std::vector<FormulaOp> RotaryEmbeddingOps() {
  return {
      {"RotaryEmbedding <interleaved: int = 0, is_packed_batching: int = 0, num_heads: int = 0,"
       " rotary_embedding_dim: int = 0, scale: float = 1>"
       " (input: T, position_ids: M, cos_cache: T, sin_cache: T) -> (output: T)"
       " where T = float|float16|bfloat16, M = int64",
       RotaryEmbedding},
      {"GemmaRotaryEmbedding (emb: U, q: T, q_rot: T, k: T, k_rot: T) -> (output1: T, output2: T)"
       " where T = float16, U = float",
       GemmaRotaryEmbedding},
      {"RelativePositionBias <is_bidirectional: int = 0, max_distance: int>"
       " (bias_table: T, query_length: U, key_length: U) -> (output: T)"
       " where T = float|float16, U = int64",
       RelativePositionBias},
      {"GatedRelativePositionBias <num_heads: int>"
       " (query_layer: T, query_bias: T, rel_pos: T, weight: T, bias: T, eco_a: T,"
       " token_offset: M?) -> (output: T) where T = float|float16, M = int32",
       GatedRelativePositionBias},
  };
}

}  // namespace onward::microsoft

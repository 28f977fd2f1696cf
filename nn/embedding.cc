#include "onward/nn/embedding.h"

#include <cmath>
#include <limits>

#include "graph/ops/onward_schemas.h"
#include "nn/row_norm.h"
#include "onward/functions.h"

namespace onward::nn {
namespace {

// Negative ones count from the end, as PyTorch's do.
std::optional<int64_t> Row(std::optional<int64_t> index, int64_t count) {
  return index && *index < 0 ? *index + count : index;
}

bool InRange(std::optional<int64_t> row, int64_t count) {
  return !row || (*row >= 0 && *row < count);
}

Init NormalStart(std::optional<int64_t> zero_row) {
  return zero_row ? init::WithZeroRow(init::Normal(), *zero_row) : init::Normal();
}

constexpr char kBoundNeeds[] = "max_norm is a number of at least 0, norm_type any number";

bool IsBound(std::optional<double> max_norm, double norm_type) {
  return !std::isnan(norm_type) && (!max_norm || *max_norm >= 0);
}

}  // namespace

Embedding::Embedding(Module& parent, std::string_view name, int64_t count, int64_t size,
                     const Options& options)
    : Layer(parent, name),
      options_{Row(options.padding_idx, count), options.max_norm, options.norm_type} {
  if (!Require(InRange(options_.padding_idx, count), "padding_idx is out of range") ||
      !Require(IsBound(options.max_norm, options.norm_type), kBoundNeeds))
    return;
  weight = AddParameter("weight", {count, size}, NormalStart(options_.padding_idx));
}

Expr Embedding::Forward(const Expr& ids) {
  const Expr vectors =
      options_.max_norm ? BoundedLookup(sink(), weight, ids, *options_.max_norm, options_.norm_type)
                        : Gather(weight, ids);
  const std::optional<int64_t> row = options_.padding_idx;
  if (!row || !vectors.valid()) return vectors;
  const Expr padding = Unsqueeze(Equal(ids, ScalarLike(ids, static_cast<double>(*row))), {-1});
  return Where(padding, Op("StopGradient", {vectors}, {}, kOnwardDomain), vectors);
}

EmbeddingBag::EmbeddingBag(Module& parent, std::string_view name, int64_t count, int64_t size,
                           const Options& options)
    : Module(parent, name),
      options_{options.mode, Row(options.padding_idx, count), options.max_norm, options.norm_type} {
  if (!Require(InRange(options_.padding_idx, count), "padding_idx is out of range") ||
      !Require(IsBound(options.max_norm, options.norm_type), kBoundNeeds))
    return;
  weight = AddParameter("weight", {count, size}, NormalStart(options_.padding_idx));
}

Expr EmbeddingBag::Combine(const Expr& vectors, const Expr& counts) {
  const Expr each = Unsqueeze(counts, {-1});
  if (options_.mode == BagMode::kMax) {
    const Expr some = Greater(each, ScalarLike(each, 0));
    const Expr low = ScalarLike(vectors, -std::numeric_limits<double>::infinity());
    const Expr none = Equal(ReduceMax(each, {1}, false), ScalarLike(each, 0));
    return Where(none, ScalarLike(vectors, 0), ReduceMax(Where(some, vectors, low), {1}, false));
  }
  const Expr sum = ReduceSum(vectors * each, {1}, false);
  if (options_.mode == BagMode::kSum) return sum;
  return sum / Max(ReduceSum(each, {1}, false), ScalarLike(each, 1));
}

Expr EmbeddingBag::operator()(const Expr& ids, const Expr& offsets, const Expr& weights) {
  const Scope scope(*this);
  if (!ids.valid() || !weight.valid() ||
      !Require(!weights.valid() || options_.mode == BagMode::kSum, "weights need the mode kSum"))
    return {};
  const DType dtype = weight.dtype();
  Expr counts = weights.valid() ? weights : Expand(ids.sink()->Scalar(1, dtype), Shape(ids));
  if (options_.padding_idx) {
    const Expr padding = Equal(ids, ScalarLike(ids, static_cast<double>(*options_.padding_idx)));
    counts = Where(padding, ScalarLike(counts, 0), counts);
  }
  const Expr vectors =
      options_.max_norm ? BoundedLookup(sink(), weight, ids, *options_.max_norm, options_.norm_type)
                        : Gather(weight, ids);
  if (!offsets.valid()) return Combine(vectors, counts);
  // Which ids are in which bag: [bags, ids].
  const Expr length = Shape(ids), zero = ids.sink()->Scalar(0, DType::kInt64);
  const Expr one = ids.sink()->Scalar(1, DType::kInt64);
  const Expr at = Op("Range", {zero, Squeeze(length, {0}), one});
  const Expr begins = Cast(offsets, DType::kInt64);
  const Expr ends =
      Concat({Slice(begins, {1}, {std::numeric_limits<int64_t>::max()}, {0}), length}, 0);
  const Expr inside =
      And(GreaterOrEqual(at, Unsqueeze(begins, {1})), Less(at, Unsqueeze(ends, {1})));
  return Combine(Unsqueeze(vectors, {0}), Cast(inside, dtype) * Unsqueeze(counts, {0}));
}

}  // namespace onward::nn

#include "graph/microsoft/group_query_cache.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace onward::microsoft {

Expr CacheFormat::Stored(const Expr& x) const {
  if (bits == 0) return x;
  const double most = bits == 8 ? 127 : 7;
  const Expr rounded = Round(Cast(x, DType::kFloat32) / scale);
  const Expr level = Min(Max(rounded, ScalarLike(rounded, -most - 1)), ScalarLike(rounded, most));
  if (bits == 8) return Cast(level, DType::kInt8);
  const Expr pairs = Reshape(Cast(level + 8.0, DType::kUint8), {0, 0, 0, head_size / 2, 2});
  const std::vector<Expr> halves = Split(pairs, {1, 1}, 4);
  const Expr high = Op("BitShift", {halves[1], ScalarLike(pairs, 4)}, {{"direction", "LEFT"}});
  return Squeeze(Op("BitwiseOr", {halves[0], high}), {4});
}

Expr CacheFormat::Read(const Expr& stored, DType dtype) const {
  if (bits == 0) return stored;
  if (bits == 8) return Cast(Cast(stored, DType::kFloat32) * scale, dtype);
  const Expr low = Op("BitwiseAnd", {stored, ScalarLike(stored, 15)});
  const Expr high = Op("BitShift", {stored, ScalarLike(stored, 4)}, {{"direction", "RIGHT"}});
  const Expr levels =
      Reshape(Concat({Unsqueeze(low, {4}), Unsqueeze(high, {4})}, 4), {0, 0, 0, head_size});
  return Cast((Cast(levels, DType::kFloat32) - 8.0) * scale, dtype);
}

CacheFormat CacheFormatOf(const FormulaCall& call, const char* type, size_t cache, size_t scale,
                          int64_t heads, int64_t head_size) {
  CacheFormat format;
  const std::string kind = call.String(type);
  if (kind == "NONE") return format;
  if (kind != "PER_TENSOR" && kind != "PER_CHANNEL") {
    call.Fail(
        absl::StrCat("`", type, "` is '", kind, "', must be NONE, PER_TENSOR or PER_CHANNEL"));
    return format;
  }
  if (!call.has_input(cache) || !call.has_input(scale)) {
    call.Fail("a quantized cache needs past_key, past_value, k_scale and v_scale");
    return format;
  }
  const DType dtype = call.input(cache).dtype();
  const int64_t bits = call.Int("kv_cache_bit_width");
  if (dtype == DType::kFloat8E4M3FN) {
    call.sink().Fail(absl::UnimplementedError("a cache of float8 is not supported"));
  } else if (!(bits == 8 && dtype == DType::kInt8) && !(bits == 4 && dtype == DType::kUint8)) {
    call.Fail(absl::StrCat("`kv_cache_bit_width` is ", bits,
                           ": it must be 8 for an int8 cache, 4 for a uint8 cache"));
  } else if (head_size % 2 != 0) {
    call.Fail(absl::StrCat("the head size ", head_size, " does not divide into pairs"));
  }
  format.bits = bits;
  format.head_size = head_size;
  format.scale = kind == "PER_TENSOR" ? Reshape(call.input(scale), {1})
                                      : Reshape(call.input(scale), {1, heads, 1, head_size});
  return format;
}

WindowCache::WindowCache(const Expr& past, int64_t window, const Expr& start, const Expr& length)
    : window_(window), start_(start), length_(length), capacity_(DimOf(past, 2)) {}

Expr WindowCache::Held(const Expr& tokens) const {
  const Expr beyond = tokens - capacity_;
  const Expr period = capacity_ - static_cast<double>(window_ - 1);
  const Expr again = Mod(Max(beyond - 1.0, ScalarLike(beyond, 0)), period);
  return Where(Greater(beyond, ScalarLike(beyond, 0)), again + static_cast<double>(window_),
               tokens);
}

Expr WindowCache::Next(const Expr& past, const Expr& fresh) const {
  const Expr before = Held(start_), after = Held(start_ + length_);
  const Expr row = PositionsUpTo(capacity_);
  // Positions in the held rows and the new ones after each other.
  const Expr at = row + Unsqueeze(before + length_ - after, {1});
  const Expr old = Less(at, Unsqueeze(before, {1}));
  const Expr from = Where(old, at, at - Unsqueeze(before, {1}) + capacity_);
  const Expr holds = Less(row, Unsqueeze(after, {1}));
  const Expr all = Concat({past, fresh}, 2);
  const Expr safe = Unsqueeze(Where(holds, from, ScalarLike(from, 0)), {1, 3});
  const Expr rows = Op("GatherElements", {all, Expand(safe, Shape(past))}, {{"axis", int64_t{2}}});
  return Where(Unsqueeze(holds, {1, 3}), rows, ScalarLike(rows, 0));
}

Expr WindowCache::Keys() const {
  const Expr held = Unsqueeze(Held(start_), {1, 2}), first = Unsqueeze(start_, {1, 2});
  return Concat({first - held + PositionsUpTo(capacity_), first + PositionsUpTo(length_)}, 2);
}

Expr WindowCache::ColumnsOf(const Expr& bias) const {
  const Expr keys = Keys(), batch = DimOf(keys, 0), total = DimOf(bias, 3);
  // A row that holds nothing, of before the text or after it, takes any column.
  const Expr column = Min(Max(keys, ScalarLike(keys, 0)), total - 1.0);
  const Expr all = Expand(bias, Concat({batch, Shape(bias, 1, 4)}, 0));
  const Expr shape = Concat({batch, Shape(bias, 1, 3), DimOf(keys, 2)}, 0);
  return Op("GatherElements", {all, Expand(Unsqueeze(column, {1}), shape)}, {{"axis", int64_t{3}}});
}

Expr WindowCache::Hidden(DType dtype, bool causal) const {
  const Expr held = Unsqueeze(Held(start_), {1, 2}), first = Unsqueeze(start_, {1, 2});
  const Expr steps = PositionsUpTo(length_), rows = PositionsUpTo(capacity_);
  const Expr fresh = first + steps, key = Keys();
  const Expr query = first + Unsqueeze(steps, {1});
  Expr seen = Concat({Less(rows, held), GreaterOrEqual(fresh, first)}, 2);
  if (causal) seen = And(seen, LessOrEqual(key, query));
  seen = And(seen, Greater(key, query - static_cast<double>(window_)));
  ExprSink& sink = *start_.sink();
  const double masked = -std::numeric_limits<double>::infinity();
  return Unsqueeze(Where(seen, sink.Scalar(0, dtype), sink.Scalar(masked, dtype)), {1});
}

}  // namespace onward::microsoft

#include "onward/nn/attention.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"
#include "onward/nn/dropout.h"

namespace onward::nn {
namespace {

Expr Infinity(const Expr& like) {
  return ScalarLike(like, std::numeric_limits<double>::infinity());
}

// bool masks (true: attend) as what is added to scores.
Expr Additive(const Expr& mask, const Expr& like) {
  if (mask.dtype() != DType::kBool) return mask;
  return Where(mask, ScalarLike(like, 0), -Infinity(like));
}

// bool[queries, keys]: keys up to the query's own position; positions are on `axis`.
Expr CausalMask(const Expr& queries, const Expr& keys, int64_t axis) {
  const Expr zero = queries.sink()->Scalar(0, DType::kInt64);
  const Expr one = queries.sink()->Scalar(1, DType::kInt64);
  const auto iota = [&](const Expr& of) {
    return Op("Range", {zero, Squeeze(Shape(of, axis, axis + 1), {0}), one});
  };
  return LessOrEqual(iota(keys), Unsqueeze(iota(queries), {1}));
}

// Each head `count` times in a row.
Expr RepeatHeads(const Expr& x, int64_t heads, int64_t count, int64_t size) {
  if (count == 1) return x;
  const Expr wide = Concat(std::vector<Expr>(static_cast<size_t>(count), Unsqueeze(x, {2})), 2);
  return ReshapeTo(wide, {ShapePart::Axis(x, 0), ShapePart::Number(heads * count),
                          ShapePart::Axis(x, 2), ShapePart::Number(size)});
}

std::optional<int64_t> KnownDim(const Expr& x, size_t axis) {
  const auto& shape = x.type().shape;
  if (!shape || axis >= shape->size() || !(*shape)[axis].known()) return std::nullopt;
  return (*shape)[axis].value();
}

// The weights of queries of `size` elements, after dropout: [batch, heads, positions, keys].
Expr Weights(const Expr& query, const Expr& key, int64_t size, const AttentionOptions& options) {
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(size)));
  Expr scores = MatMul(query * scale, Transpose(key, {0, 1, 3, 2}));
  if (options.causal) scores = Where(CausalMask(query, key, 2), scores, -Infinity(scores));
  if (options.mask.valid()) scores = scores + Additive(options.mask, scores);
  return Dropout{options.dropout}(expr::Softmax(scores));
}

Expr Parts(const Expr& query, const Expr& key, const Expr& value, const AttentionOptions& options) {
  const auto q_heads = KnownDim(query, 1), k_heads = KnownDim(key, 1);
  const auto size = KnownDim(query, 3), v_size = KnownDim(value, 3);
  if (!q_heads || !k_heads || !size || !v_size || *k_heads == 0 || *q_heads % *k_heads != 0) {
    query.sink()->Fail(absl::InvalidArgumentError(
        absl::StrCat("attention with dropout needs known heads and sizes that fit, got ",
                     query.type().ToString(), " and ", key.type().ToString())));
    return {};
  }
  const int64_t group = *q_heads / *k_heads;
  const Expr k = RepeatHeads(key, *k_heads, group, *size);
  const Expr v = RepeatHeads(value, *k_heads, group, *v_size);
  return MatMul(Weights(query, k, *size, options), v);
}

Attributes AttributesOf(const AttentionOptions& options) {
  Attributes attributes = {{"is_causal", int64_t{options.causal}}};
  if (options.scale) attributes.Set("scale", static_cast<float>(*options.scale));
  return attributes;
}

// A mask of one row for all queries as one of a row each: ONNX Runtime does not broadcast that
// axis.
Expr WithRows(const Expr& mask, const Expr& query, int64_t axis) {
  const int64_t rank = KnownRank(mask, "an attention mask");
  if (rank < 2 || KnownDim(mask, static_cast<size_t>(rank - 2)) != 1) return mask;
  const Expr shape = Concat({Shape(query, axis, axis + 1), mask.sink()->Ints({1})}, 0);
  return Expand(mask, shape);
}

// `axis`: of the queries.
std::vector<Expr> InputsOf(const Expr& query, const Expr& key, const Expr& value,
                           const AttentionOptions& options, int64_t axis) {
  std::vector<Expr> inputs = {query, key, value};
  if (options.mask.valid()) inputs.push_back(WithRows(options.mask, query, axis));
  return inputs;
}

Expr SplitHeads(const Expr& x, int64_t heads) {
  return Transpose(Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

}  // namespace

Expr ScaledDotProductAttention(const Expr& query, const Expr& key, const Expr& value,
                               const AttentionOptions& options) {
  if (!query.valid() || !key.valid() || !value.valid()) return {};
  if (options.dropout != 0) return Parts(query, key, value, options);
  return Op("Attention", InputsOf(query, key, value, options, 2), AttributesOf(options));
}

Expr PackedAttention(const Expr& query, const Expr& key, const Expr& value, int64_t query_heads,
                     int64_t key_heads, const AttentionOptions& options) {
  if (!query.valid() || !key.valid() || !value.valid()) return {};
  if (options.dropout != 0) {
    const Expr y = Parts(SplitHeads(query, query_heads), SplitHeads(key, key_heads),
                         SplitHeads(value, key_heads), options);
    return Reshape(Transpose(y, {0, 2, 1, 3}), {0, 0, -1});
  }
  Attributes attributes = AttributesOf(options);
  attributes.Set("q_num_heads", query_heads);
  attributes.Set("kv_num_heads", key_heads);
  return Op("Attention", InputsOf(query, key, value, options, 1), std::move(attributes));
}

CachedAttention PackedAttentionAfter(const Expr& past_keys, const Expr& past_values,
                                     const Expr& query, const Expr& key, const Expr& value,
                                     int64_t query_heads, int64_t key_heads,
                                     const AttentionOptions& options) {
  if (!query.valid() || !key.valid() || !value.valid()) return {};
  if (options.dropout != 0) {
    query.sink()->Fail(
        absl::InvalidArgumentError("attention with a cache does not support dropout"));
    return {};
  }
  Attributes attributes = AttributesOf(options);
  attributes.Set("q_num_heads", query_heads);
  attributes.Set("kv_num_heads", key_heads);
  std::vector<Expr> inputs = InputsOf(query, key, value, options, 1);
  inputs.resize(4);
  inputs.insert(inputs.end(), {past_keys, past_values});
  const std::vector<Expr> outputs = Ops("Attention", inputs, 3, std::move(attributes));
  return {outputs[0], outputs[1], outputs[2]};
}

MultiheadAttention::MultiheadAttention(Module& parent, std::string_view name, int64_t size,
                                       int64_t heads, const Options& options)
    : Module(parent, name), size_(size), heads_(heads), options_(options) {
  if (!Require(heads >= 1 && size >= heads && size % heads == 0,
               absl::StrCat(heads, " heads do not divide the size ", size)) ||
      !Require(options.dropout >= 0 && options.dropout < 1, "the dropout must be in [0, 1)"))
    return;
  const int64_t kdim = options.kdim == 0 ? size : options.kdim;
  const int64_t vdim = options.vdim == 0 ? size : options.vdim;
  if (kdim == size && vdim == size) {
    in_proj_weight = AddParameter("in_proj_weight", {3 * size, size}, init::XavierUniform());
  } else {
    q_proj_weight = AddParameter("q_proj_weight", {size, size}, init::XavierUniform());
    k_proj_weight = AddParameter("k_proj_weight", {size, kdim}, init::XavierUniform());
    v_proj_weight = AddParameter("v_proj_weight", {size, vdim}, init::XavierUniform());
  }
  if (options.bias) in_proj_bias = AddParameter("in_proj_bias", {3 * size}, init::Zeros());
  out_proj_weight =
      AddParameter("out_proj.weight", {size, size}, init::KaimingUniform(std::sqrt(5.0)));
  if (options.bias) out_proj_bias = AddParameter("out_proj.bias", {size}, init::Zeros());
  if (!options.add_bias_kv) return;
  bias_k = AddParameter("bias_k", {1, 1, size}, init::XavierNormal());
  bias_v = AddParameter("bias_v", {1, 1, size}, init::XavierNormal());
}

// Further keys and values behind the given ones, which every query may attend to.
void MultiheadAttention::AddKeys(std::vector<Expr>& projected, AttentionOptions& options) const {
  const Expr query = projected[0], keys = projected[1];
  const Expr shape = Concat({Shape(keys, 0, 1), keys.sink()->Ints({1, size_})}, 0);
  int64_t count = 0;
  const auto add = [&](const Expr& key, const Expr& value) {
    projected[1] = Concat({projected[1], Expand(key, shape)}, 1);
    projected[2] = Concat({projected[2], Expand(value, shape)}, 1);
    ++count;
  };
  if (bias_k.valid()) add(bias_k, bias_v);
  if (options_.add_zero_attn) add(ScalarLike(keys, 0), ScalarLike(keys, 0));
  if (count == 0) return;
  if (options.causal) {
    const Expr causal = CausalMask(query, keys, 1);
    options.mask = !options.mask.valid()                  ? causal
                   : options.mask.dtype() == DType::kBool ? And(options.mask, causal)
                                                          : options.mask + Additive(causal, keys);
    options.causal = false;
  }
  if (!options.mask.valid()) return;
  const int64_t rank = KnownRank(options.mask, "an attention mask");
  if (rank < 1) return;
  std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
  pads.back() = count;
  const Expr attend = options.mask.dtype() == DType::kBool
                          ? keys.sink()->Constant(Tensor::Scalar(true), "attend")
                          : ScalarLike(options.mask, 0);
  options.mask = Op("Pad", {options.mask, keys.sink()->Ints(pads), attend});
}

std::vector<Expr> MultiheadAttention::Project(const Expr& query, const Expr& key,
                                              const Expr& value) {
  const std::vector<int64_t> thirds(3, size_);
  const bool same = query.id() == key.id() && key.id() == value.id();
  if (same && in_proj_weight.valid())
    return Split(LinearOf(query, in_proj_weight, in_proj_bias), thirds, 2);
  const std::vector<Expr> weights =
      in_proj_weight.valid() ? Split(in_proj_weight, thirds, 0)
                             : std::vector<Expr>{q_proj_weight, k_proj_weight, v_proj_weight};
  const std::vector<Expr> biases =
      in_proj_bias.valid() ? Split(in_proj_bias, thirds, 0) : std::vector<Expr>(3);
  return {LinearOf(query, weights[0], biases[0]), LinearOf(key, weights[1], biases[1]),
          LinearOf(value, weights[2], biases[2])};
}

Expr MultiheadAttention::Mask(const AttentionMasks& masks) const {
  Expr mask = masks.mask, padding = masks.key_padding_mask;
  const bool both = mask.valid() && padding.valid();
  if (padding.valid()) padding = Unsqueeze(padding, {1, 2});
  if (mask.valid() && KnownRank(mask, "an attention mask") == 3) {
    mask = ReshapeTo(mask, {ShapePart::Number(-1), ShapePart::Number(heads_),
                            ShapePart::Axis(mask, 1), ShapePart::Axis(mask, 2)});
  }
  const auto turned = [&](const Expr& x) { return x.dtype() == DType::kBool ? expr::Not(x) : x; };
  if (!both) {
    const Expr one = mask.valid() ? mask : padding;
    return one.valid() ? turned(one) : one;
  }
  if (mask.dtype() == DType::kBool && padding.dtype() == DType::kBool)
    return expr::Not(Or(mask, padding));
  const Expr like = in_proj_weight.valid() ? in_proj_weight : q_proj_weight;
  return Additive(turned(mask), like) + Additive(turned(padding), like);
}

Expr MultiheadAttention::Turned(const Expr& x) const {
  return options_.batch_first ? x : Transpose(x, {1, 0, 2});
}

std::optional<MultiheadAttention::Call> MultiheadAttention::Prepare(const Expr& query,
                                                                    const Expr& key,
                                                                    const Expr& value,
                                                                    const AttentionMasks& masks) {
  if (!query.valid() || !key.valid() || !value.valid() || !out_proj_weight.valid())
    return std::nullopt;
  const Expr q = Turned(query);
  const Expr k = key.id() == query.id() ? q : Turned(key);
  const Expr v = value.id() == key.id() ? k : Turned(value);
  Call call{Project(q, k, v), {}};
  call.options.mask = Mask(masks);
  call.options.causal = masks.causal;
  call.options.dropout = options_.dropout;
  AddKeys(call.projected, call.options);
  return call;
}

Expr MultiheadAttention::operator()(const Expr& query, const Expr& key, const Expr& value,
                                    const AttentionMasks& masks) {
  const Scope scope(*this);
  const std::optional<Call> call = Prepare(query, key, value, masks);
  if (!call) return {};
  const std::vector<Expr>& x = call->projected;
  const Expr y = PackedAttention(x[0], x[1], x[2], heads_, heads_, call->options);
  return Turned(LinearOf(y, out_proj_weight, out_proj_bias));
}

MultiheadAttention::WithWeights MultiheadAttention::AndWeights(const Expr& query, const Expr& key,
                                                               const Expr& value,
                                                               const AttentionMasks& masks,
                                                               bool of_each_head) {
  const Scope scope(*this);
  const std::optional<Call> call = Prepare(query, key, value, masks);
  if (!call) return {};
  const std::vector<Expr>& x = call->projected;
  const Expr weights =
      Weights(SplitHeads(x[0], heads_), SplitHeads(x[1], heads_), size_ / heads_, call->options);
  const Expr y = MatMul(weights, SplitHeads(x[2], heads_));
  const Expr merged = Reshape(Transpose(y, {0, 2, 1, 3}), {0, 0, -1});
  return {Turned(LinearOf(merged, out_proj_weight, out_proj_bias)),
          of_each_head ? weights : ReduceMean(weights, {1}, false)};
}

}  // namespace onward::nn

// A decoder of text as GPT-2: learned positions, norms first, an embedding that is also the head.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "nn/models/entries.h"
#include "onward/models.h"
#include "onward/nn/activation.h"
#include "onward/nn/attention.h"
#include "onward/nn/dropout.h"
#include "onward/nn/embedding.h"
#include "onward/nn/linear.h"
#include "onward/nn/normalization.h"

namespace onward::nn {
namespace {

struct Shape {
  int64_t width, heads;
  double dropout;
  bool bias;
};

// Keys and values of one block: what was, and with the new tokens.
struct Cache {
  Expr keys, values;
};

struct SelfAttention : nn::Module {
  SelfAttention(Module& parent, std::string_view name, const Shape& shape)
      : Module(parent, name), shape(shape) {
    Require(shape.width % shape.heads == 0, "the heads must divide the width");
  }
  Expr operator()(const Expr& x, Cache* cache) {
    const Scope scope(*this);
    const std::vector<Expr> qkv = Split(c_attn(x), std::vector<int64_t>(3, shape.width), 2);
    nn::AttentionOptions options;
    options.causal = true;
    if (cache != nullptr) {
      const nn::CachedAttention made = nn::PackedAttentionAfter(
          cache->keys, cache->values, qkv[0], qkv[1], qkv[2], shape.heads, shape.heads, options);
      *cache = {made.keys, made.values};
      return c_proj(made.result);
    }
    options.dropout = shape.dropout;
    return c_proj(nn::PackedAttention(qkv[0], qkv[1], qkv[2], shape.heads, shape.heads, options));
  }

  const Shape shape;
  nn::Linear c_attn{*this, "c_attn", shape.width, 3 * shape.width, {shape.bias}};
  nn::Linear c_proj{*this, "c_proj", shape.width, shape.width, {shape.bias}};
};

struct FeedForward : nn::Layer {
  FeedForward(Module& parent, std::string_view name, const Shape& shape)
      : Layer(parent, name),
        c_fc(*this, "c_fc", shape.width, 4 * shape.width, {shape.bias}),
        c_proj(*this, "c_proj", 4 * shape.width, shape.width, {shape.bias}) {}
  Expr Forward(const Expr& x) override { return c_proj(nn::GELU{true}(c_fc(x))); }

  nn::Linear c_fc, c_proj;
};

struct Block : nn::Module {
  Block(Module& parent, std::string_view name, const Shape& shape)
      : Module(parent, name),
        dropout{shape.dropout},
        ln_1(*this, "ln_1", shape.width, {1e-5, true, shape.bias}),
        attn(*this, "attn", shape),
        ln_2(*this, "ln_2", shape.width, {1e-5, true, shape.bias}),
        mlp(*this, "mlp", shape) {}
  Expr operator()(const Expr& x, Cache* cache) {
    const Scope scope(*this);
    const Expr y = x + dropout(attn(ln_1(x), cache));
    return y + dropout(mlp(ln_2(y)));
  }

  nn::Dropout dropout;
  nn::LayerNorm ln_1;
  SelfAttention attn;
  nn::LayerNorm ln_2;
  FeedForward mlp;
};

// As GPT-2 starts where that is not as PyTorch's modules do.
void SetStart(nn::Module& root, int64_t layers) {
  const double deviation = 0.02, last = deviation / std::sqrt(2.0 * static_cast<double>(layers));
  root.StartWith({"wte.weight", "wpe.weight", "lm_head.weight", "*.c_attn.weight", "*.c_fc.weight"},
                 nn::init::Normal(0, deviation));
  root.StartWith({"*.c_proj.weight"}, nn::init::Normal(0, last));
  root.StartWith({"*.c_*.bias"}, nn::init::Zeros());
}

// Inputs "past.0.key", ... [batch, heads, past, size].
std::vector<Cache> PastCaches(GraphBuilder& builder, DType dtype, int64_t layers,
                              const Shape& shape) {
  std::vector<Cache> caches;
  for (int64_t i = 0; i < layers; ++i) {
    const auto input = [&](const char* kind) {
      return builder.Input(absl::StrCat("past.", i, ".", kind), dtype,
                           {"batch", shape.heads, "past", shape.width / shape.heads});
    };
    const Expr keys = input("key");
    caches.push_back({keys, input("value")});
  }
  return caches;
}

void Build(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const Shape shape = {options.size("width"), options.size("heads"), options.number("dropout"),
                       options.on("bias")};
  const int64_t layers = options.size("layers"), vocabulary = options.size("vocabulary");
  const bool cached = options.on("cache");
  const Expr tokens = builder.Input("tokens", DType::kInt64, {"batch", "length"});
  std::vector<Cache> caches;
  if (cached) caches = PastCaches(builder, root.dtype(), layers, shape);
  SetStart(root, layers);
  nn::Embedding wte(root, "wte", vocabulary, shape.width);
  nn::Embedding wpe(root, "wpe", options.size("context"), shape.width);
  nn::ModuleList<Block> h(root, "h");
  for (int64_t i = 0; i < layers; ++i) h.Add(shape);
  nn::LayerNorm ln_f(root, "ln_f", shape.width, {1e-5, true, shape.bias});
  Expr head = wte.weight;
  if (!options.on("tied"))
    head = nn::Linear(root, "lm_head", shape.width, vocabulary, {false}).weight;

  const Expr length = Squeeze(expr::Shape(tokens, 1, 2), {0});
  const Expr zero = builder.Scalar(0, DType::kInt64), one = builder.Scalar(1, DType::kInt64);
  Expr positions = nn::Op("Range", {zero, length, one});
  if (cached) positions = positions + expr::Shape(caches[0].keys, 2, 3);
  Expr x = wte(tokens) + wpe(positions);
  if (!cached) x = nn::Dropout{shape.dropout}(x);
  for (size_t i = 0; i < h.size(); ++i) x = h[i](x, cached ? &caches[i] : nullptr);
  builder.Output("logits", nn::LinearOf(ln_f(x), head));
  for (size_t i = 0; i < caches.size(); ++i) {
    builder.Output(absl::StrCat("present.", i, ".key"), caches[i].keys);
    builder.Output(absl::StrCat("present.", i, ".value"), caches[i].values);
  }
  builder.graph().metadata[kContextKey] = absl::StrCat(options.size("context"));
}

}  // namespace

ModelEntry GptEntry() {
  return {"gpt",
          "a decoder of text as GPT-2; with \"cache\" it continues from keys and values of earlier "
          "tokens",
          {{"vocabulary", 65, 1, 1 << 24},
           {"layers", 4, 1, 1000},
           {"heads", 4, 1, 1024},
           {"width", 128, 1, 1 << 16},
           {"context", 64, 1, 1 << 20},
           {"dropout", 0, 0, 0.999, false},
           {"bias", 1, 0, 1},
           {"tied", 1, 0, 1},
           {"cache", 0, 0, 1}},
          Build};
}

}  // namespace onward::nn

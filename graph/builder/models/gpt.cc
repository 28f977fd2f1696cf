// A decoder of text as GPT-2: learned positions, norms first, an embedding that is also the head.
#include <cmath>

#include "graph/builder/models/models.h"
#include "graph/builder/nn/activation.h"
#include "graph/builder/nn/attention.h"
#include "graph/builder/nn/dropout.h"
#include "graph/builder/nn/embedding.h"
#include "graph/builder/nn/linear.h"
#include "graph/builder/nn/normalization.h"

namespace onward {
namespace {

struct Shape {
  int64_t width, heads;
  double dropout;
  bool bias;
};

struct SelfAttention : nn::Layer {
  SelfAttention(Module& parent, std::string_view name, const Shape& shape)
      : Layer(parent, name), shape(shape) {
    Require(shape.width % shape.heads == 0, "the heads must divide the width");
  }
  Expr Forward(const Expr& x) override {
    const std::vector<Expr> qkv = Split(c_attn(x), std::vector<int64_t>(3, shape.width), 2);
    nn::AttentionOptions options;
    options.causal = true;
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

struct Block : nn::Layer {
  Block(Module& parent, std::string_view name, const Shape& shape)
      : Layer(parent, name),
        dropout{shape.dropout},
        ln_1(*this, "ln_1", shape.width, {1e-5, true, shape.bias}),
        attn(*this, "attn", shape),
        ln_2(*this, "ln_2", shape.width, {1e-5, true, shape.bias}),
        mlp(*this, "mlp", shape) {}
  Expr Forward(const Expr& x) override {
    const Expr y = x + dropout(attn(ln_1(x)));
    return y + dropout(mlp(ln_2(y)));
  }

  nn::Dropout dropout;
  nn::LayerNorm ln_1;
  SelfAttention attn;
  nn::LayerNorm ln_2;
  FeedForward mlp;
};

void Build(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const Shape shape = {options.size("width"), options.size("heads"), options.number("dropout"),
                       options.on("bias")};
  const int64_t layers = options.size("layers"), vocabulary = options.size("vocabulary");
  const Expr tokens = builder.Input("tokens", DType::kInt64, {"batch", "length"});
  nn::Embedding wte(root, "wte", vocabulary, shape.width);
  nn::Embedding wpe(root, "wpe", options.size("context"), shape.width);
  nn::ModuleList<Block> h(root, "h");
  for (int64_t i = 0; i < layers; ++i) h.Add(shape);
  nn::LayerNorm ln_f(root, "ln_f", shape.width, {1e-5, true, shape.bias});
  const double deviation = 0.02, last = deviation / std::sqrt(2.0 * static_cast<double>(layers));
  root.Initialize({"wte.weight", "wpe.weight", "*.c_attn.weight", "*.c_fc.weight"},
                  nn::init::Normal(0, deviation));
  root.Initialize({"*.c_proj.weight"}, nn::init::Normal(0, last));
  root.Initialize({"*.c_*.bias"}, nn::init::Zeros());

  const Expr length = Squeeze(expr::Shape(tokens, 1, 2), {0});
  const Expr positions =
      nn::Op("Range", {builder.Scalar(0, DType::kInt64), length, builder.Scalar(1, DType::kInt64)});
  Expr x = nn::Dropout{shape.dropout}(wte(tokens) + wpe(positions));
  for (auto& block : h) x = (*block)(x);
  x = ln_f(x);
  if (options.on("tied")) {
    builder.Output("logits", nn::LinearOf(x, wte.weight));
    return;
  }
  nn::Linear head(root, "lm_head", shape.width, vocabulary, {false});
  root.Initialize({"lm_head.weight"}, nn::init::Normal(0, deviation));
  builder.Output("logits", head(x));
}

}  // namespace

ModelEntry GptEntry() {
  return {"gpt",
          "a decoder of text as GPT-2",
          {{"vocabulary", 65, 1, 1 << 24},
           {"layers", 4, 1, 1000},
           {"heads", 4, 1, 1024},
           {"width", 128, 1, 1 << 16},
           {"context", 64, 1, 1 << 20},
           {"dropout", 0, 0, 0.999, false},
           {"bias", 1, 0, 1},
           {"tied", 1, 0, 1}},
          Build};
}

}  // namespace onward

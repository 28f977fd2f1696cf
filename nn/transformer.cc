#include "onward/nn/transformer.h"

#include "absl/strings/str_cat.h"
#include "onward/nn/dropout.h"

namespace onward::nn {
namespace {

MultiheadAttentionOptions AttentionOf(const TransformerOptions& options) {
  MultiheadAttentionOptions made;
  made.dropout = options.dropout;
  made.bias = options.bias;
  made.batch_first = options.batch_first;
  return made;
}

LayerNormOptions NormOf(const TransformerOptions& options) {
  return {options.eps, true, options.bias};
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(Module& parent, std::string_view name,
                                                 int64_t size, int64_t heads,
                                                 const Options& options)
    : Module(parent, name),
      options_(options),
      activation_(ActivationByName(options.activation)),
      self_attn(*this, "self_attn", size, heads, AttentionOf(options)),
      linear1(*this, "linear1", size, options.feedforward, {options.bias}),
      linear2(*this, "linear2", options.feedforward, size, {options.bias}),
      norm1(*this, "norm1", size, NormOf(options)),
      norm2(*this, "norm2", size, NormOf(options)) {
  Require(activation_ != nullptr,
          absl::StrCat("there is no activation '", options.activation, "'"));
}

Expr TransformerEncoderLayer::FeedForward(const Expr& x) {
  const Dropout dropout{options_.dropout};
  return dropout(linear2(dropout(activation_(linear1(x)))));
}

Expr TransformerEncoderLayer::operator()(const Expr& x, const AttentionMasks& masks) {
  const Scope scope(*this);
  if (activation_ == nullptr) return {};
  const Dropout dropout{options_.dropout};
  if (options_.norm_first) {
    const Expr normal = norm1(x);
    const Expr y = x + dropout(self_attn(normal, normal, normal, masks));
    return y + FeedForward(norm2(y));
  }
  const Expr y = norm1(x + dropout(self_attn(x, x, x, masks)));
  return norm2(y + FeedForward(y));
}

TransformerDecoderLayer::TransformerDecoderLayer(Module& parent, std::string_view name,
                                                 int64_t size, int64_t heads,
                                                 const Options& options)
    : Module(parent, name),
      options_(options),
      activation_(ActivationByName(options.activation)),
      self_attn(*this, "self_attn", size, heads, AttentionOf(options)),
      multihead_attn(*this, "multihead_attn", size, heads, AttentionOf(options)),
      linear1(*this, "linear1", size, options.feedforward, {options.bias}),
      linear2(*this, "linear2", options.feedforward, size, {options.bias}),
      norm1(*this, "norm1", size, NormOf(options)),
      norm2(*this, "norm2", size, NormOf(options)),
      norm3(*this, "norm3", size, NormOf(options)) {
  Require(activation_ != nullptr,
          absl::StrCat("there is no activation '", options.activation, "'"));
}

Expr TransformerDecoderLayer::FeedForward(const Expr& x) {
  const Dropout dropout{options_.dropout};
  return dropout(linear2(dropout(activation_(linear1(x)))));
}

Expr TransformerDecoderLayer::operator()(const Expr& x, const Expr& memory,
                                         const AttentionMasks& own,
                                         const AttentionMasks& of_memory) {
  const Scope scope(*this);
  if (activation_ == nullptr) return {};
  const Dropout dropout{options_.dropout};
  if (options_.norm_first) {
    const Expr first = norm1(x);
    const Expr y = x + dropout(self_attn(first, first, first, own));
    const Expr z = y + dropout(multihead_attn(norm2(y), memory, memory, of_memory));
    return z + FeedForward(norm3(z));
  }
  const Expr y = norm1(x + dropout(self_attn(x, x, x, own)));
  const Expr z = norm2(y + dropout(multihead_attn(y, memory, memory, of_memory)));
  return norm3(z + FeedForward(z));
}

TransformerEncoder::TransformerEncoder(Module& parent, std::string_view name, int64_t count,
                                       int64_t size, int64_t heads,
                                       const TransformerOptions& options, bool last_norm)
    : Module(parent, name), layers(*this, "layers") {
  for (int64_t i = 0; i < count; ++i) layers.Add(size, heads, options);
  if (last_norm) norm = std::make_unique<LayerNorm>(*this, "norm", size, NormOf(options));
}

Expr TransformerEncoder::operator()(const Expr& x, const AttentionMasks& masks) {
  Expr y = x;
  for (auto& layer : layers) y = (*layer)(y, masks);
  return norm == nullptr ? y : (*norm)(y);
}

TransformerDecoder::TransformerDecoder(Module& parent, std::string_view name, int64_t count,
                                       int64_t size, int64_t heads,
                                       const TransformerOptions& options, bool last_norm)
    : Module(parent, name), layers(*this, "layers") {
  for (int64_t i = 0; i < count; ++i) layers.Add(size, heads, options);
  if (last_norm) norm = std::make_unique<LayerNorm>(*this, "norm", size, NormOf(options));
}

Expr TransformerDecoder::operator()(const Expr& x, const Expr& memory, const AttentionMasks& own,
                                    const AttentionMasks& of_memory) {
  Expr y = x;
  for (auto& layer : layers) y = (*layer)(y, memory, own, of_memory);
  return norm == nullptr ? y : (*norm)(y);
}

// PyTorch draws every matrix anew.
Transformer::Transformer(Module& parent, std::string_view name, int64_t size, int64_t heads,
                         const Options& options)
    : Module(parent, name),
      encoder(*this, "encoder", options.encoder_layers, size, heads, options, true),
      decoder(*this, "decoder", options.decoder_layers, size, heads, options, true) {
  const std::string matrices[] = {"*in_proj_weight", "*out_proj.weight", "*linear?.weight"};
  Initialize(matrices, init::XavierUniform());
}

Expr Transformer::operator()(const Expr& source, const Expr& target,
                             const TransformerMasks& masks) {
  const Expr memory = encoder(source, masks.source);
  return decoder(target, memory, masks.target, masks.memory);
}

}  // namespace onward::nn

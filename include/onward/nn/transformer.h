// Layers of the transformer and stacks of them.
#pragma once

#include <string>

#include "onward/nn/activation.h"
#include "onward/nn/attention.h"
#include "onward/nn/normalization.h"

namespace onward::nn {

struct TransformerOptions {
  int64_t feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // see ActivationByName
  double eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
};

class TransformerEncoderLayer : public Module {
 public:
  using Options = TransformerOptions;
  TransformerEncoderLayer(Module& parent, std::string_view name, int64_t size, int64_t heads,
                          const Options& options = {});
  Expr operator()(const Expr& x, const AttentionMasks& masks = {});

 private:
  Expr FeedForward(const Expr& x);

  const Options options_;
  const Function activation_;

 public:
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
};

class TransformerDecoderLayer : public Module {
 public:
  using Options = TransformerOptions;
  TransformerDecoderLayer(Module& parent, std::string_view name, int64_t size, int64_t heads,
                          const Options& options = {});
  Expr operator()(const Expr& x, const Expr& memory, const AttentionMasks& own = {},
                  const AttentionMasks& of_memory = {});

 private:
  Expr FeedForward(const Expr& x);

  const Options options_;
  const Function activation_;

 public:
  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
};

// Layers "layers.0", ..., and perhaps a last "norm".
class TransformerEncoder : public Module {
 public:
  TransformerEncoder(Module& parent, std::string_view name, int64_t count, int64_t size,
                     int64_t heads, const TransformerOptions& options = {}, bool last_norm = false);
  Expr operator()(const Expr& x, const AttentionMasks& masks = {});

  ModuleList<TransformerEncoderLayer> layers;
  std::unique_ptr<LayerNorm> norm;
};

class TransformerDecoder : public Module {
 public:
  TransformerDecoder(Module& parent, std::string_view name, int64_t count, int64_t size,
                     int64_t heads, const TransformerOptions& options = {}, bool last_norm = false);
  Expr operator()(const Expr& x, const Expr& memory, const AttentionMasks& own = {},
                  const AttentionMasks& of_memory = {});

  ModuleList<TransformerDecoderLayer> layers;
  std::unique_ptr<LayerNorm> norm;
};

struct TransformerMasks {
  AttentionMasks source, target, memory;
};

struct WholeTransformerOptions : TransformerOptions {
  int64_t encoder_layers = 6, decoder_layers = 6;
};

// "encoder" and "decoder", each with a last norm.
class Transformer : public Module {
 public:
  using Options = WholeTransformerOptions;
  Transformer(Module& parent, std::string_view name, int64_t size = 512, int64_t heads = 8,
              const Options& options = {});
  Expr operator()(const Expr& source, const Expr& target, const TransformerMasks& masks = {});

  TransformerEncoder encoder;
  TransformerDecoder decoder;
};

}  // namespace onward::nn

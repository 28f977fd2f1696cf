// The modules of attention among those of tests/training/modules/make_cases.py.
#include "onward/nn/attention.h"
#include "onward/nn/transformer.h"
#include "tests/support/module_cases.h"

namespace onward::testing {
namespace {

using namespace nn;  // NOLINT: a table of modules
using Cases = std::map<std::string, MakeModule>;

MakeModule Dot(bool causal, std::optional<double> scale = std::nullopt) {
  return [=](Module&, const std::vector<Expr>& x) {
    AttentionOptions options;
    options.causal = causal;
    options.scale = scale;
    if (x.size() > 3) options.mask = x[3];
    return std::vector<Expr>{ScaledDotProductAttention(x[0], x[1], x[2], options)};
  };
}

void AddAttention(Cases& cases) {
  cases["sdpa"] = Dot(false);
  cases["sdpa_mask"] = Dot(false);
  cases["sdpa_causal_groups"] = Dot(true, 0.7);
  cases["mha"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{MultiheadAttention(root, "", 6, 2)(x[0], x[0], x[0])};
  };
  cases["mha_masks"] = [](Module& root, const std::vector<Expr>& x) {
    MultiheadAttentionOptions options;
    options.bias = false;
    options.batch_first = true;
    MultiheadAttention attention(root, "", 6, 3, options);
    return std::vector<Expr>{attention(x[0], x[1], x[1], {x[2], x[3]})};
  };
  cases["mha_sizes"] = [](Module& root, const std::vector<Expr>& x) {
    MultiheadAttentionOptions options;
    options.kdim = 3;
    options.vdim = 4;
    return std::vector<Expr>{MultiheadAttention(root, "", 6, 2, options)(x[0], x[1], x[2])};
  };
}

void AddFurtherKeys(Cases& cases) {
  cases["mha_bias_kv"] = [](Module& root, const std::vector<Expr>& x) {
    MultiheadAttentionOptions options;
    options.add_bias_kv = true;
    MultiheadAttention attention(root, "", 6, 2, options);
    return std::vector<Expr>{attention(x[0], x[1], x[1], {x[2], x[3]})};
  };
  const auto zeros = [](bool bias_kv, bool causal) {
    return [=](Module& root, const std::vector<Expr>& x) {
      MultiheadAttentionOptions options;
      options.batch_first = options.add_zero_attn = true;
      options.add_bias_kv = bias_kv;
      MultiheadAttention attention(root, "", 6, 3, options);
      return std::vector<Expr>{attention(x[0], x[0], x[0], {.causal = causal})};
    };
  };
  cases["mha_weights"] = [](Module& root, const std::vector<Expr>& x) {
    MultiheadAttention attention(root, "", 6, 2);
    const auto [output, weights] = attention.AndWeights(x[0], x[1], x[1], {x[2], x[3]});
    return std::vector<Expr>{output, weights};
  };
  cases["mha_weights_heads"] = [](Module& root, const std::vector<Expr>& x) {
    MultiheadAttentionOptions options;
    options.batch_first = true;
    MultiheadAttention attention(root, "", 6, 3, options);
    const auto [output, weights] = attention.AndWeights(x[0], x[0], x[0], {}, true);
    return std::vector<Expr>{output, weights};
  };
  cases["mha_zero_attn"] = zeros(true, false);
  cases["mha_zero_causal"] = zeros(false, true);
}

TransformerOptions Small(bool first = false) {
  TransformerOptions options;
  options.feedforward = 8;
  options.dropout = 0;
  options.batch_first = options.norm_first = first;
  return options;
}

void AddTransformer(Cases& cases) {
  cases["encoder_layer"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{TransformerEncoderLayer(root, "", 6, 2, Small())(x[0])};
  };
  cases["encoder_layer_first"] = [](Module& root, const std::vector<Expr>& x) {
    TransformerOptions options = Small(true);
    options.activation = "gelu";
    options.bias = false;
    TransformerEncoderLayer layer(root, "", 6, 2, options);
    return std::vector<Expr>{layer(x[0], {.key_padding_mask = x[1]})};
  };
  cases["encoder"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{TransformerEncoder(root, "", 2, 6, 2, Small(), true)(x[0])};
  };
  cases["decoder_layer"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{TransformerDecoderLayer(root, "", 6, 2, Small())(x[0], x[1])};
  };
  cases["decoder_layer_first"] = [](Module& root, const std::vector<Expr>& x) {
    TransformerDecoderLayer layer(root, "", 6, 2, Small(true));
    return std::vector<Expr>{layer(x[0], x[1], {.mask = x[2]})};
  };
  cases["transformer"] = [](Module& root, const std::vector<Expr>& x) {
    Transformer::Options options;
    options.feedforward = 8;
    options.dropout = 0;
    options.batch_first = true;
    options.encoder_layers = 2;
    options.decoder_layers = 1;
    Transformer transformer(root, "", 6, 2, options);
    return std::vector<Expr>{transformer(x[0], x[1],
                                         {.source = {.key_padding_mask = x[3]},
                                          .target = {.mask = x[2]},
                                          .memory = {.key_padding_mask = x[3]}})};
  };
  cases["decoder"] = [](Module& root, const std::vector<Expr>& x) {
    return std::vector<Expr>{TransformerDecoder(root, "", 2, 6, 2, Small())(x[0], x[1])};
  };
}

}  // namespace

void AddAttentionCases(std::map<std::string, MakeModule>& cases) {
  for (const auto add : {AddAttention, AddFurtherKeys, AddTransformer}) add(cases);
}

}  // namespace onward::testing

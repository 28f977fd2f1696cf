// BERT's encoder with a classifier, with the names of Hugging Face's BertForSequenceClassification.
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

constexpr double kEps = 1e-12;

struct Layer : nn::Module {
  Layer(Module& parent, std::string_view name, int64_t width, int64_t heads, int64_t inner,
        double ratio)
      : Module(parent, name),
        heads(heads),
        dropout_ratio(ratio),
        query(*this, "attention.self.query", width, width),
        key(*this, "attention.self.key", width, width),
        value(*this, "attention.self.value", width, width),
        attention_dense(*this, "attention.output.dense", width, width),
        attention_norm(*this, "attention.output.LayerNorm", width, {kEps}),
        intermediate(*this, "intermediate.dense", width, inner),
        output_dense(*this, "output.dense", inner, width),
        output_norm(*this, "output.LayerNorm", width, {kEps}) {
    Require(width % heads == 0, "the heads must divide the width");
  }

  // `mask`: bool[batch, 1, 1, length], true for tokens.
  Expr operator()(const Expr& x, const Expr& mask) {
    const Scope scope(*this);
    const nn::Dropout dropout{dropout_ratio};
    nn::AttentionOptions options;
    options.mask = mask;
    options.dropout = dropout_ratio;
    const Expr attended = nn::PackedAttention(query(x), key(x), value(x), heads, heads, options);
    const Expr y = attention_norm(x + dropout(attention_dense(attended)));
    return output_norm(y + dropout(output_dense(nn::GELU()(intermediate(y)))));
  }

  const int64_t heads;
  const double dropout_ratio;
  nn::Linear query, key, value, attention_dense;
  nn::LayerNorm attention_norm;
  nn::Linear intermediate, output_dense;
  nn::LayerNorm output_norm;
};

struct Embeddings : nn::Module {
  Embeddings(Module& parent, const ModelOptions& options)
      : Module(parent, "bert.embeddings"),
        dropout{options.number("dropout")},
        words(*this, "word_embeddings", options.size("vocabulary"), options.size("width"),
              {.padding_idx = options.size("padding")}),
        positions(*this, "position_embeddings", options.size("context"), options.size("width")),
        types(*this, "token_type_embeddings", 2, options.size("width")),
        norm(*this, "LayerNorm", options.size("width"), {kEps}) {}

  // Tokens without `kinds` are all of the first kind.
  Expr operator()(const Expr& tokens, const Expr& kinds) {
    const Scope scope(*this);
    ExprSink& s = sink();
    const Expr zero = s.Scalar(0, DType::kInt64), one = s.Scalar(1, DType::kInt64);
    const Expr length = Squeeze(Shape(tokens, 1, 2), {0});
    const Expr at = positions(nn::Op("Range", {zero, length, one}));
    const Expr kind = kinds.valid() ? types(kinds) : Slice(types.weight, {0}, {1}, {0});
    return dropout(norm(words(tokens) + kind + at));
  }

  nn::Dropout dropout;
  nn::Embedding words, positions, types;
  nn::LayerNorm norm;
};

// As BERT starts where that is not as PyTorch's modules do.
void SetStart(nn::Module& root, int64_t padding) {
  const nn::Init normal = nn::init::Normal(0, 0.02);
  root.StartWith({"*embeddings.weight", "*dense.weight", "*query.weight", "*key.weight",
                  "*value.weight", "classifier.weight"},
                 normal);
  root.StartWith({"*.word_embeddings.weight"}, nn::init::WithZeroRow(normal, padding));
  root.StartWith({"*dense.bias", "*query.bias", "*key.bias", "*value.bias", "classifier.bias"},
                 nn::init::Zeros());
}

void Build(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const int64_t width = options.size("width");
  const nn::Dropout dropout{options.number("dropout")};
  const Expr tokens = builder.Input("tokens", DType::kInt64, {"batch", "length"});
  const Expr kinds = options.on("token_types")
                         ? builder.Input("token_types", DType::kInt64, {"batch", "length"})
                         : Expr();
  const Expr padding = builder.Scalar(options.number("padding"), DType::kInt64);
  const Expr mask = Unsqueeze(Not(Equal(tokens, padding)), {1, 2});

  SetStart(root, options.size("padding"));
  Expr x = Embeddings(root, options)(tokens, kinds);
  nn::ModuleList<Layer> layers(root, "bert.encoder.layer");
  for (int64_t i = 0; i < options.size("layers"); ++i) {
    x = layers.Add(width, options.size("heads"), options.size("inner"), options.number("dropout"))(
        x, mask);
  }
  // The first token's vector.
  const Expr first = Squeeze(Slice(x, {0}, {1}, {1}), {1});
  const Expr pooled = expr::Tanh(nn::Linear(root, "bert.pooler.dense", width, width)(first));
  nn::Linear classifier(root, "classifier", width, options.size("classes"));
  builder.Output("logits", classifier(dropout(pooled)));
}

}  // namespace

ModelEntry BertEntry() {
  return {"bert",
          "BERT's encoder with a classifier; tokens equal to \"padding\" are not attended to",
          {{"vocabulary", 30522, 1, 1 << 24},
           {"layers", 12, 1, 1000},
           {"heads", 12, 1, 1024},
           {"width", 768, 1, 1 << 16},
           {"inner", 3072, 1, 1 << 18},
           {"context", 512, 1, 1 << 20},
           {"classes", 2, 1, 1 << 20},
           {"padding", 0, 0, 1 << 24},
           {"token_types", 0, 0, 1},
           {"dropout", 0.1, 0, 0.999, false}},
          Build};
}

}  // namespace onward::nn

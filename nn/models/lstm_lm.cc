// A language model of LSTM layers.
#include "nn/models/entries.h"
#include "onward/models.h"
#include "onward/nn/dropout.h"
#include "onward/nn/embedding.h"
#include "onward/nn/linear.h"
#include "onward/nn/recurrent.h"

namespace onward::nn {
namespace {

void Build(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const int64_t vocabulary = options.size("vocabulary"), hidden = options.size("hidden");
  const nn::Dropout dropout{options.number("dropout")};
  const Expr tokens = builder.Input("tokens", DType::kInt64, {"batch", "length"});
  nn::RecurrentOptions recurrent;
  recurrent.num_layers = options.size("layers");
  recurrent.batch_first = true;
  recurrent.dropout = options.number("dropout");
  nn::Embedding embedding(root, "embedding", vocabulary, options.size("embedding"));
  nn::LSTM lstm(root, "lstm", options.size("embedding"), hidden, recurrent);
  nn::Linear head(root, "head", hidden, vocabulary);
  builder.Output("logits", head(dropout(lstm(dropout(embedding(tokens))).output)));
}

}  // namespace

ModelEntry LstmLmEntry() {
  return {"lstm_lm",
          "embedding - LSTM layers - linear",
          {{"vocabulary", 10000, 1, 1 << 24},
           {"embedding", 256, 1, 1 << 16},
           {"hidden", 512, 1, 1 << 16},
           {"layers", 2, 1, 1000},
           {"dropout", 0, 0, 0.999, false}},
          Build};
}

}  // namespace onward::nn

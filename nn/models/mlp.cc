// Linear layers with activations between them.
#include "absl/strings/str_cat.h"
#include "nn/models/entries.h"
#include "onward/models.h"
#include "onward/nn/activation.h"
#include "onward/nn/dropout.h"
#include "onward/nn/linear.h"

namespace onward::nn {
namespace {

void Build(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const int64_t features = options.size("features");
  int64_t width = features;
  Expr x;
  if (features > 0) {
    x = builder.Input("features", root.dtype(), {"batch", features});
  } else {
    const int64_t channels = options.size("channels"), size = options.size("size");
    x = nn::Flatten()(builder.Input("image", root.dtype(), {"batch", channels, size, size}));
    width = channels * size * size;
  }
  const nn::Dropout dropout{options.number("dropout")};
  const int64_t layers = options.size("layers"), hidden = options.size("hidden");
  for (int64_t i = 1; i <= layers; ++i) {
    x = dropout(nn::ReLU()(nn::Linear(root, absl::StrCat("fc", i), width, hidden)(x)));
    width = hidden;
  }
  nn::Linear last(root, absl::StrCat("fc", layers + 1), width, options.size("classes"));
  builder.Output("logits", last(x));
}

}  // namespace

ModelEntry MlpEntry() {
  return {"mlp",
          "linear layers with ReLU; of images, or of \"features\" where that is given",
          {{"features", 0, 0, 1 << 24},
           {"channels", 1, 1, 4096},
           {"size", 28, 1, 4096},
           {"hidden", 512, 1, 1 << 20},
           {"layers", 2, 0, 1000},
           {"classes", 10, 1, 1 << 20},
           {"dropout", 0, 0, 0.999, false}},
          Build};
}

}  // namespace onward::nn

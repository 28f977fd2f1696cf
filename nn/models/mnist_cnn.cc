// Two convolutions with pooling and a linear layer.
#include "nn/models/entries.h"
#include "onward/models.h"
#include "onward/nn/activation.h"
#include "onward/nn/conv.h"
#include "onward/nn/dropout.h"
#include "onward/nn/linear.h"
#include "onward/nn/pool.h"

namespace onward::nn {
namespace {

void Build(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const int64_t channels = options.size("channels"), size = options.size("size");
  const int64_t width = options.size("width");
  const Expr image = builder.Input("image", root.dtype(), {"batch", channels, size, size});
  nn::Conv2d conv1(root, "conv1", channels, width, 3, {.padding = 1});
  nn::Conv2d conv2(root, "conv2", width, 2 * width, 3, {.padding = 1});
  nn::Linear fc(root, "fc", 2 * width * (size / 4) * (size / 4), options.size("classes"));
  const nn::ReLU relu;
  const nn::MaxPool pool{2};
  const Expr x = nn::Flatten()(pool(relu(conv2(pool(relu(conv1(image)))))));
  builder.Output("logits", fc(nn::Dropout{options.number("dropout")}(x)));
}

}  // namespace

ModelEntry MnistCnnEntry() {
  return {"mnist_cnn",
          "conv - ReLU - pool - conv - ReLU - pool - linear",
          {{"channels", 1, 1, 4096},
           {"size", 28, 4, 4096},
           {"width", 32, 1, 1 << 16},
           {"classes", 10, 1, 1 << 20},
           {"dropout", 0, 0, 0.999, false}},
          Build};
}

}  // namespace onward::nn

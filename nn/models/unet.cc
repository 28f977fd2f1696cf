// U-Net: an encoder and a decoder of convolutions with connections between equal sizes.
#include "absl/strings/str_cat.h"
#include "nn/models/entries.h"
#include "onward/models.h"
#include "onward/nn/conv.h"
#include "onward/nn/normalization.h"
#include "onward/nn/pool.h"

namespace onward::nn {
namespace {

struct DoubleConv : nn::Layer {
  DoubleConv(Module& parent, std::string_view name, int64_t in, int64_t out)
      : Layer(parent, name),
        conv1(*this, "conv1", in, out, 3, Padded()),
        bn1(*this, "bn1", out),
        conv2(*this, "conv2", out, out, 3, Padded()),
        bn2(*this, "bn2", out) {}
  Expr Forward(const Expr& x) override { return Relu(bn2(conv2(Relu(bn1(conv1(x)))))); }

  static nn::ConvOptions Padded() {
    nn::ConvOptions options;
    options.padding = 1;
    options.bias = false;
    return options;
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
};

void Build(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const int64_t channels = options.size("channels"), size = options.size("size");
  const int64_t depth = options.size("depth");
  if (size % (int64_t{1} << depth) != 0) {
    return builder.Fail(absl::InvalidArgumentError(
        absl::StrCat("size ", size, " cannot be halved ", depth, " times")));
  }
  Expr x = builder.Input("image", root.dtype(), {"batch", channels, size, size});
  int64_t width = options.size("width"), in = channels;
  std::vector<Expr> passed;
  for (int64_t i = 0; i < depth; ++i) {
    passed.push_back(DoubleConv(root, absl::StrCat("down", i + 1), in, width)(x));
    x = nn::MaxPool{2}(passed.back());
    in = width;
    width *= 2;
  }
  x = DoubleConv(root, "middle", in, width)(x);
  for (int64_t i = depth; i >= 1; --i) {
    nn::ConvTransposeOptions twice;
    twice.stride = 2;
    x = nn::ConvTranspose2d(root, absl::StrCat("up", i, ".conv"), width, width / 2, 2, twice)(x);
    x = nn::Concat({passed[static_cast<size_t>(i - 1)], x}, 1);
    x = DoubleConv(root, absl::StrCat("up", i), width, width / 2)(x);
    width /= 2;
  }
  builder.Output("logits", nn::Conv2d(root, "head", width, options.size("classes"), 1)(x));
}

}  // namespace

ModelEntry UnetEntry() {
  return {"unet",
          "a U-Net that scores every pixel: logits [batch, classes, size, size]",
          {{"channels", 3, 1, 4096},
           {"size", 64, 1, 1 << 14},
           {"width", 16, 1, 1 << 12},
           {"depth", 3, 1, 10},
           {"classes", 2, 1, 1 << 16}},
          Build};
}

}  // namespace onward::nn

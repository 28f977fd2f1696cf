// ResNets, with torchvision's names, and a small one for images of 32 x 32.
#include "nn/models/entries.h"
#include "onward/models.h"
#include "onward/nn/activation.h"
#include "onward/nn/conv.h"
#include "onward/nn/linear.h"
#include "onward/nn/normalization.h"
#include "onward/nn/pool.h"

namespace onward::nn {
namespace {

nn::ConvOptions Window(int64_t stride, int64_t padding) {
  nn::ConvOptions options;
  options.stride = stride;
  options.padding = padding;
  options.bias = false;
  return options;
}

// Brings the input to the block's channels and sizes, where those differ.
struct Shortcut : nn::Sequential {
  Shortcut(Module& parent, std::string_view name, int64_t in, int64_t out, int64_t stride)
      : Sequential(parent, name) {
    if (in == out && stride == 1) return;
    Sequential::Add<nn::Conv2d>(in, out, 1, Window(stride, 0));
    Sequential::Add<nn::BatchNorm2d>(out);
  }
};

struct BasicBlock : nn::Layer {
  static constexpr int64_t kExpansion = 1;
  BasicBlock(Module& parent, std::string_view name, int64_t in, int64_t width, int64_t stride)
      : Layer(parent, name),
        conv1(*this, "conv1", in, width, 3, Window(stride, 1)),
        bn1(*this, "bn1", width),
        conv2(*this, "conv2", width, width, 3, Window(1, 1)),
        bn2(*this, "bn2", width),
        downsample(*this, "downsample", in, width, stride) {}
  Expr Forward(const Expr& x) override {
    return Relu(bn2(conv2(Relu(bn1(conv1(x))))) + downsample(x));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  Shortcut downsample;
};

struct Bottleneck : nn::Layer {
  static constexpr int64_t kExpansion = 4;
  Bottleneck(Module& parent, std::string_view name, int64_t in, int64_t width, int64_t stride)
      : Layer(parent, name),
        conv1(*this, "conv1", in, width, 1, Window(1, 0)),
        bn1(*this, "bn1", width),
        conv2(*this, "conv2", width, width, 3, Window(stride, 1)),
        bn2(*this, "bn2", width),
        conv3(*this, "conv3", width, 4 * width, 1, Window(1, 0)),
        bn3(*this, "bn3", 4 * width),
        downsample(*this, "downsample", in, 4 * width, stride) {}
  Expr Forward(const Expr& x) override {
    const Expr y = Relu(bn2(conv2(Relu(bn1(conv1(x))))));
    return Relu(bn3(conv3(y)) + downsample(x));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Conv2d conv3;
  nn::BatchNorm2d bn3;
  Shortcut downsample;
};

struct Stage {
  int64_t width, blocks, stride;
};

void SetStart(nn::Module& root) {
  root.StartWith({"*conv?.weight", "*downsample.0.weight"},
                 nn::init::KaimingNormal(0, nn::init::Fan::kOut, "relu"));
}

// Stages behind a stem `x` of `channels`, then the classifier.
template <typename Block>
Expr Classify(nn::Module& root, Expr x, int64_t channels, const std::vector<Stage>& stages,
              int64_t classes) {
  for (size_t i = 0; i < stages.size(); ++i) {
    nn::ModuleList<Block> layer(root, "layer" + std::to_string(i + 1));
    for (int64_t k = 0; k < stages[i].blocks; ++k) {
      x = layer.Add(channels, stages[i].width, k == 0 ? stages[i].stride : 1)(x);
      channels = Block::kExpansion * stages[i].width;
    }
  }
  x = nn::Flatten()(nn::AdaptiveAvgPool{1}(x));
  return nn::Linear(root, "fc", channels, classes)(x);
}

template <typename Block>
void BuildLarge(GraphBuilder& builder, nn::Module& root, const ModelOptions& options,
                const std::vector<Stage>& stages) {
  const int64_t size = options.size("size"), width = options.size("width");
  SetStart(root);
  Expr x = builder.Input("image", root.dtype(), {"batch", 3, size, size});
  x = nn::Conv2d(root, "conv1", 3, width, 7, Window(2, 3))(x);
  x = Relu(nn::BatchNorm2d(root, "bn1", width)(x));
  x = nn::MaxPool{3, 2, 1}(x);
  builder.Output("logits", Classify<Block>(root, x, width, stages, options.size("classes")));
}

std::vector<Stage> FourStages(const ModelOptions& options, const std::vector<int64_t>& blocks) {
  const int64_t width = options.size("width");
  return {{width, blocks[0], 1},
          {2 * width, blocks[1], 2},
          {4 * width, blocks[2], 2},
          {8 * width, blocks[3], 2}};
}

void BuildResNet18(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  BuildLarge<BasicBlock>(builder, root, options, FourStages(options, {2, 2, 2, 2}));
}

void BuildResNet50(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  BuildLarge<Bottleneck>(builder, root, options, FourStages(options, {3, 4, 6, 3}));
}

void BuildCifar(GraphBuilder& builder, nn::Module& root, const ModelOptions& options) {
  const int64_t size = options.size("size"), width = options.size("width");
  const int64_t blocks = options.size("blocks");
  SetStart(root);
  Expr x = builder.Input("image", root.dtype(), {"batch", 3, size, size});
  x = nn::Conv2d(root, "conv1", 3, width, 3, Window(1, 1))(x);
  x = Relu(nn::BatchNorm2d(root, "bn1", width)(x));
  const std::vector<Stage> stages = {
      {width, blocks, 1}, {2 * width, blocks, 2}, {4 * width, blocks, 2}};
  builder.Output("logits", Classify<BasicBlock>(root, x, width, stages, options.size("classes")));
}

std::vector<ModelOption> LargeOptions() {
  return {{"size", 224, 32, 1 << 14}, {"width", 64, 1, 1 << 12}, {"classes", 1000, 1, 1 << 20}};
}

}  // namespace

ModelEntry CifarResNetEntry() {
  return {"resnet_cifar",
          "a ResNet for small images: a stem and three stages of basic blocks",
          {{"size", 32, 4, 1 << 14},
           {"width", 16, 1, 1 << 12},
           {"blocks", 1, 1, 1000},
           {"classes", 10, 1, 1 << 20}},
          BuildCifar};
}

ModelEntry ResNet18Entry() { return {"resnet18", "ResNet-18", LargeOptions(), BuildResNet18}; }

ModelEntry ResNet50Entry() {
  return {"resnet50", "ResNet-50 (version 1.5)", LargeOptions(), BuildResNet50};
}

}  // namespace onward::nn

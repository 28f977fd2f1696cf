// Trains a small CNN on MNIST and exports it: train_mnist DIRECTORY_OF_MNIST MODEL.onnx
#include <onward/nn.h>
#include <onward/status.h>
#include <onward/training.h>

#include <cstdio>

absl::StatusOr<onward::Model> Cnn() {
  onward::GraphBuilder builder("cnn");
  onward::nn::Module root(builder);
  onward::nn::Conv2d conv1(root, "conv1", 1, 32, 3, {.padding = 1});
  onward::nn::Conv2d conv2(root, "conv2", 32, 64, 3, {.padding = 1});
  onward::nn::Linear fc(root, "fc", 64 * 7 * 7, 10);
  onward::Expr x = builder.Input("image", onward::DType::kFloat32, {"batch", 1, 28, 28});
  x = onward::nn::MaxPool{2}(Relu(conv1(x)));
  x = onward::nn::MaxPool{2}(Relu(conv2(x)));
  builder.Output("logits", fc(onward::nn::Flatten()(x)));
  return builder.Build();
}

absl::Status Train(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) return absl::InvalidArgumentError("needs DIRECTORY MODEL.onnx");
  ONWARD_ASSIGN_OR_RETURN(auto config, onward::ParseTrainConfig(R"(
    loss { cross_entropy {} } optimizer { adam { lr: 1e-3 } } batch_size: 64 epochs: 3
    data { mnist { images: "train-images-idx3-ubyte.gz" labels: "train-labels-idx1-ubyte.gz" } }
    evaluation {
      data { mnist { images: "t10k-images-idx3-ubyte.gz" labels: "t10k-labels-idx1-ubyte.gz" } }
    })"));
  onward::TrainerOptions options{.directory = arguments[0]};
  ONWARD_ASSIGN_OR_RETURN(options.model, Cnn());
  options.on_evaluation = [](const onward::EvaluationReport& report) {
    std::printf("epoch %d: accuracy %.4f\n", int(report.epoch), *report.evaluation.accuracy());
  };
  ONWARD_ASSIGN_OR_RETURN(auto trainer, onward::Trainer::Create(config, options));
  ONWARD_RETURN_IF_ERROR(trainer->Run());
  return trainer->Export(arguments[1]);
}

int main(int argc, char** argv) {
  const absl::Status status = Train({argv + 1, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

// Fine-tunes a classifier of images on folders of images, one per class, with a new head on the
// value below its old one: finetune RESNET.onnx VALUE DIRECTORY_OF_TRAIN_AND_TEST TUNED.onnx
#include <onward/status.h>
#include <onward/training.h>

#include <cstdio>
#include <filesystem>

absl::Status FineTune(const std::vector<std::string>& arguments) {
  if (arguments.size() != 4) return absl::InvalidArgumentError("needs MODEL VALUE IMAGES TUNED");
  ONWARD_ASSIGN_OR_RETURN(auto config, onward::ParseTrainConfig(R"(
    trainable: "head.*"  inference_mode: "*"
    loss { cross_entropy {} } optimizer { sgd { lr: 0.01 momentum: 0.9 } } batch_size: 16 epochs: 3
    data { images {
      directory: "train" step { resize { height: 224 width: 224 } }
      mean: 0.485 mean: 0.456 mean: 0.406 deviation: 0.229 deviation: 0.224 deviation: 0.225
    } })"));
  config.set_model(std::filesystem::absolute(arguments[0]));
  config.mutable_head()->set_of(arguments[1]);
  const std::filesystem::directory_iterator classes(arguments[2] + "/train");
  config.mutable_head()->set_outputs(std::distance(begin(classes), end(classes)));
  onward::DataConfig& test = *config.mutable_evaluation()->mutable_data() = config.data();
  test.mutable_images()->set_directory("test");
  onward::TrainerOptions options{.directory = arguments[2]};
  options.on_evaluation = [](const onward::EvaluationReport& report) {
    std::printf("epoch %d: accuracy %.4f\n", int(report.epoch), *report.evaluation.accuracy());
  };
  ONWARD_ASSIGN_OR_RETURN(auto trainer, onward::Trainer::Create(config, options));
  ONWARD_RETURN_IF_ERROR(trainer->Run());
  return trainer->Export(arguments[3]);
}

int main(int argc, char** argv) {
  const absl::Status status = FineTune({argv + 1, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

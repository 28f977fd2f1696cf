// The trainings of examples/ take what they are planned to take. Needs their data (ONWARD_DATA_DIR)
// and, to fine-tune, the zoo (ONWARD_ZOO). Few steps of few examples: what a step takes does not
// depend on how many there are.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/support/test_data.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

TrainConfig Example(const std::string& path) {
  std::ifstream file(absl::StrCat(ONWARD_SOURCE_DIR, "/examples/", path, ".textproto"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << path;
  config.clear_epochs();
  config.set_steps(2);
  config.set_threads(2);
  const int64_t evaluated =
      config.evaluation().has_batch_size() ? config.evaluation().batch_size() : config.batch_size();
  config.mutable_evaluation()->mutable_data()->mutable_part()->set_limit(2 * evaluated);
  return config;
}

void ExpectPlanned(const TrainConfig& config, const std::string& data) {
  const testing::ScratchDirectory scratch;
  TrainerOptions options;
  options.directory = options.data_directory = data;
  options.checkpoint_directory = scratch.path("checkpoints");
  options.interrupted = [] { return false; };
  const auto trainer = Trainer::Create(config, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto said = static_cast<double>((*trainer)->planned_bytes());
  const absl::Status run = (*trainer)->Run();
  ASSERT_TRUE(run.ok()) << run;
  const auto taken = static_cast<double>((*trainer)->peak_bytes());
  EXPECT_NEAR(said, taken, 0.05 * taken);
}

TEST(ExamplesMemory, Trainings) {
  const std::string data = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(data, "ONWARD_DATA_DIR");
  const std::pair<const char*, const char*> examples[] = {
      {"mnist/train", "/data/mnist"},
      {"cifar10/train", "/data/cifar10"},
      {"chargpt/train", "/data/tinyshakespeare"}};
  for (const auto& [name, directory] : examples) {
    SCOPED_TRACE(name);
    ExpectPlanned(Example(name), data + directory);
  }
}

TEST(ExamplesMemory, FineTuning) {
  const std::string data = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(data, "ONWARD_DATA_DIR");
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  const testing::ScratchDirectory scratch;
  const std::string passages = scratch.path("passages");
  ASSERT_EQ(std::system(absl::StrCat("python3 ", ONWARD_SOURCE_DIR,
                                     "/examples/finetune/make_passages.py ", data,
                                     "/data/tinyshakespeare/input.txt ", passages, " >/dev/null")
                            .c_str()),
            0);
  for (const char* name : {"resnet50_head", "resnet50", "bert_head", "bert"}) {
    SCOPED_TRACE(name);
    const bool is_bert = std::string(name).starts_with("bert");
    TrainConfig config = Example(absl::StrCat("finetune/", name));
    config.set_model(absl::StrCat(zoo, is_bert ? "/bert_base" : "/resnet50", "/model.onnx"));
    config.set_batch_size(4);
    config.mutable_evaluation()->mutable_data()->mutable_part()->set_limit(4);
    ExpectPlanned(config, is_bert ? passages : data + "/data/cifar10");
  }
}

}  // namespace
}  // namespace onward::training

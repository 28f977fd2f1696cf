#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "onward/train_config.h"
#include "onward/training.h"
#include "tests/fuzz/harnesses.h"
#include "tests/fuzz/random_message.h"
#include "tests/fuzz/random_tensor.h"
#include "tests/support/scratch_directory.h"
#include "training/checkpoint/checkpoint.h"
#include "training/config/set_field.h"

namespace onward::fuzz {
namespace {

// Small trainings of several kinds, which a fuzzer changes.
constexpr const char* kConfigs[] = {
    R"(built { name: "mlp" options { key: "features" value: 3 } options { key: "classes" value: 2 } }
       loss { cross_entropy {} } optimizer { adam { lr: 0.01 } }
       data { csv { path: "t.csv" field { name: "features" column: "a" column: "b" column: "c" }
                    field { name: "label" column: "y" element: INT64 } } }
       batch_size: 2 steps: 2)",
    R"(built { name: "mlp" options { key: "features" value: 3 } options { key: "classes" value: 1 } }
       loss { mse {} } optimizer { sgd { lr: 0.1 }
         group { parameters: "*bias" sgd { weight_decay: 0 } } }
       schedule { cosine {} warmup: 1 } clip { global_norm: 1 } average { decay: 0.9 }
       data { jsonl { path: "t.jsonl" field { name: "features" dim: 3 } field { name: "label" dim: 1 } } }
       evaluation { data { jsonl { path: "t.jsonl" field { name: "features" dim: 3 } field { name: "label" dim: 1 } } } }
       batch_size: 2 epochs: 1 accumulate: 2)",
    R"(built { name: "gpt" options { key: "vocabulary" value: 8 } options { key: "width" value: 4 }
               options { key: "heads" value: 2 } options { key: "layers" value: 1 } options { key: "context" value: 4 } }
       loss { cross_entropy { class_axis: -1 } } optimizer { adamw {} }
       data { text { path: "t.txt" window: 4 tokens: CHARACTERS } } batch_size: 2 steps: 1)",
    R"(built { name: "lstm_lm" options { key: "vocabulary" value: 8 } options { key: "width" value: 4 }
               options { key: "layers" value: 1 } }
       loss { cross_entropy { class_axis: -1 } } optimizer { lbfgs {} }
       data { text { path: "t.txt" window: 3 tokens: CHARACTERS } } batch_size: 2 steps: 1)",
};

// What fields of text may say.
constexpr const char* kWords[] = {"",
                                  "*",
                                  "t.csv",
                                  "t.jsonl",
                                  "t.txt",
                                  "features",
                                  "label",
                                  "logits",
                                  "tokens",
                                  "lr",
                                  "momentum",
                                  "beta1",
                                  "SGD",
                                  "Adam",
                                  "Muon",
                                  "LBFGS",
                                  "mse",
                                  "bce",
                                  "cross_entropy",
                                  "ctc",
                                  "output",
                                  "kl",
                                  "bce_with_logits",
                                  "linear",
                                  "one_cycle",
                                  "sequential",
                                  "plateau",
                                  "multistep",
                                  "accuracy",
                                  "loss",
                                  "1KB",
                                  "2GiB",
                                  "*bias",
                                  "fc?.weight",
                                  "mlp",
                                  "gpt",
                                  "lstm_lm",
                                  "mnist_cnn",
                                  "unet",
                                  "classes",
                                  "layers",
                                  "head",
                                  "nn.0.weight",
                                  "a",
                                  "y",
                                  "\xff",
                                  "../t.csv",
                                  "cosine_restarts"};

const testing::ScratchDirectory& Directory() {
  static const auto* directory = [] {
    auto* made = new testing::ScratchDirectory();
    made->Write("t.csv", "a,b,c,y\n1,2,3,0\n0,1,0,1\n2,2,2,1\n0.5,0,1,0\n");
    made->Write(
        "t.jsonl",
        "{\"features\": [1, 2, 3], \"label\": [1]}\n{\"features\": [0, 1, 0], \"label\": [0]}\n"
        "{\"features\": [2, 2, 2], \"label\": [1]}\n{\"features\": [1, 0, 2], \"label\": [0]}\n");
    made->Write("t.txt", "abcabbacabcdabcdeabcaabbccddeeaabc");
    return made;
  }();
  return *directory;
}

TrainConfig ConfigOf(FuzzBytes& bytes) {
  TrainConfig config;
  google::protobuf::TextFormat::ParseFromString(bytes.Pick(kConfigs), &config);
  for (int64_t changes = bytes.Between(0, 5); changes > 0; --changes)
    ChangeField(bytes, kWords, config);
  return config;
}

// A training of a few small steps, whatever the config says.
void Bound(TrainConfig& config) {
  config.set_threads(1);
  config.set_max_memory("64MB");
  if (config.has_steps()) config.set_steps(std::min<int64_t>(config.steps(), 3));
  if (config.has_epochs()) config.set_epochs(std::min<int64_t>(config.epochs(), 2));
  config.set_accumulate(std::min<int64_t>(config.accumulate(), 4));
}

std::unique_ptr<Trainer> Make(const TrainConfig& config, TrainerOptions options) {
  options.directory = Directory().path();
  int left = 4;
  options.stop = [left]() mutable { return --left <= 0; };
  auto trainer = Trainer::Create(config, std::move(options));
  return trainer.ok() ? *std::move(trainer) : nullptr;
}

}  // namespace

void TrainConfigBytes(const uint8_t* data, size_t size) {
  static const auto* directory = new testing::ScratchDirectory();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ReadTrainConfig(directory->Write("x.textproto", text));
  (void)ReadTrainConfig(directory->Write("x.json", text));
  TrainConfig config;
  google::protobuf::TextFormat::ParseFromString(kConfigs[1], &config);
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos)
    (void)training::SetField(config, text.substr(0, equals), std::string(text.substr(equals + 1)));
}

void TrainConfigured(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, size);
  TrainConfig config = ConfigOf(bytes);
  // As a user writes it.
  std::string text;
  const bool json = bytes.Byte() & 1;
  if (!config.IsInitialized()) return;  // it cannot be written
  if (json) {
    if (!google::protobuf::util::MessageToJsonString(config, &text).ok()) return;
  } else if (!google::protobuf::TextFormat::PrintToString(config, &text)) {
    return;
  }
  const auto read = ReadTrainConfig(Directory().Write(json ? "c.json" : "c.textproto", text));
  if (!read.ok()) return;
  config = *read;
  Bound(config);
  const std::unique_ptr<Trainer> trainer = Make(config, {});
  if (trainer == nullptr || !trainer->Run().ok()) return;
  (void)trainer->Evaluate();
  (void)trainer->TrainedModel();
}

void Checkpoint(const uint8_t* data, size_t size) {
  // A training's own checkpoint, changed in its bytes or, with the right checksums, in its sense.
  static const auto* config = [] {
    auto* made = new TrainConfig();
    google::protobuf::TextFormat::ParseFromString(kConfigs[1], made);
    made->set_accumulate(1);
    Bound(*made);
    return made;
  }();
  static const auto* whole = [] {
    const std::string path = Directory().path("whole");
    TrainerOptions options;
    options.checkpoint_directory = path;
    const std::unique_ptr<Trainer> trainer = Make(*config, options);
    (void)trainer->Run();
    return new training::TrainingState(training::LoadNewestCheckpoint(path)->state);
  }();
  FuzzBytes bytes(data, size);
  const std::string path = Directory().path("changed"), inner = path + "/000001-step-1";
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(inner);
  training::TrainingState state = *whole;
  for (auto& [name, tensor] : state.tensors) tensor = tensor.Clone();
  const bool as_bytes = bytes.OneIn(3);
  for (int64_t changes = as_bytes ? 0 : bytes.Between(1, 4); changes > 0; --changes) {
    auto tensor = state.tensors.begin();
    std::advance(tensor, bytes.Below(state.tensors.size()));
    auto value = state.values.begin();
    std::advance(value, bytes.Below(std::max<size_t>(state.values.size(), 1)));
    switch (bytes.Below(6)) {
      case 0:
        ChangeElements(bytes, 3, tensor->second);
        break;
      case 1:
        tensor->second = RandomTensor(bytes, RandomDType(bytes), RandomDims(bytes));
        break;
      case 2:
        state.step = bytes.Integer();
        break;
      case 3:
        if (state.tensors.size() > 1) state.tensors.erase(tensor);
        break;
      default:
        if (value != state.values.end())
          value->second = bytes.OneIn(3) ? bytes.Pick(kWords) : absl::StrCat(bytes.Integer());
    }
  }
  if (!training::WriteCheckpointFiles(state, inner).ok()) return;
  if (as_bytes) {
    const std::string file = inner + (bytes.OneIn(2) ? "/manifest.json" : "/state.safetensors");
    std::ifstream in(file, std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(in), {}};
    for (int64_t changes = bytes.Between(1, 4); changes > 0 && !content.empty(); --changes)
      content[bytes.Below(content.size())] = static_cast<char>(bytes.Byte());
    if (bytes.OneIn(4)) content.resize(bytes.Below(content.size() + 1));
    std::ofstream(file, std::ios::binary) << content;
  }
  (void)training::ListCheckpoints(path);
  TrainerOptions options;
  options.checkpoint_directory = path;
  options.resume = true;
  TrainConfig more = *config;
  more.set_epochs(2);
  const std::unique_ptr<Trainer> trainer = Make(more, options);
  if (trainer != nullptr) (void)trainer->Run();
}

}  // namespace onward::fuzz

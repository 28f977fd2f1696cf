// What the documentation tells a reader to type works as it stands: every command and every
// configuration of README.md and docs/*.md is run in one directory, on small data of the same
// names; C++ is compiled here.
#include <sys/wait.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "absl/strings/ascii.h"
#include "files/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "onward/builder.h"
#include "onward/data_loader.h"
#include "onward/export.h"
#include "onward/models.h"
#include "onward/nn/linear.h"
#include "onward/session.h"
#include "onward/status.h"
#include "onward/stepwise_trainer.h"
#include "onward/train_config.h"
#include "tests/cli/markdown.h"
#include "tests/support/idx.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

using testing::CodeBlock;
using ::testing::HasSubstr;
using testing::Idx;
using testing::Page;
using testing::ReadPage;

// Of the pages that people write; docs/ops.md and docs/conformance.md are generated.
const char* const kPages[] = {
    "README.md",         "CONTRIBUTING.md",      "docs/architecture.md",
    "docs/cli.md",       "docs/data.md",         "docs/dependencies.md",
    "docs/exporters.md", "docs/from_pytorch.md", "docs/from_onnxruntime.md",
    "docs/serving.md",   "docs/training.md"};

std::string Source(const std::string& path) { return absl::StrCat(ONWARD_SOURCE_DIR, "/", path); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Lines(const CodeBlock& block) {
  return absl::StrSplit(block.text, '\n', absl::SkipWhitespace());
}

// Names in capitals stand for what the reader has: MODEL, NAME=FILE.
bool HasPlaceholder(const std::string& command) {
  int capitals = 0;
  for (const char c : command) {
    capitals = std::isupper(static_cast<unsigned char>(c)) ? capitals + 1 : 0;
    if (capitals == 3 && !absl::StrContains(command, "ROMEO")) return true;
  }
  return absl::StrContains(command, "...") || absl::StrContains(command, "\\|");
}

// One directory with everything that the pages name.
class DocsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new testing::ScratchDirectory();
    fs::create_symlink(ONWARD_PROGRAM, directory_->path("onward"));
    fs::create_directory_symlink(Source("examples"), directory_->path("examples"));
    WriteMnist("mnist/train", 640);
    WriteMnist("mnist/t10k", 100);
    WriteText();
    WriteImages();
    WriteModels();
    WriteTexts();
    WriteCase();
  }
  static void TearDownTestSuite() { delete directory_; }

  static void WriteMnist(const std::string& name, uint32_t count) {
    std::mt19937 random(1);
    std::string pixels, labels;
    for (uint32_t i = 0; i < count; ++i) {
      labels += static_cast<char>(i % 10);
      for (uint32_t p = 0; p < 784; ++p)
        pixels += static_cast<char>(random() % 60 + (p / 79 == i % 10 ? 150 : 0));
    }
    directory_->Write(name + "-images-idx3-ubyte.gz", Idx({count, 28, 28}, pixels));
    directory_->Write(name + "-labels-idx1-ubyte.gz", Idx({count}, labels));
  }
  // 65 characters, as tinyshakespeare has.
  static void WriteText() {
    std::string characters = "ROMEO: \n";
    for (char c = '0'; characters.size() < 65; ++c)
      if (!absl::StrContains(characters, std::string(1, c))) characters += c;
    std::string text = "ROMEO: \n";
    for (int i = 0; i < 20000; ++i) text += characters[static_cast<size_t>(i * i + i) % 65];
    for (const char c : characters) text.insert(0, 1, c);
    directory_->Write("tinyshakespeare/input.txt", text);
  }
  static void WriteImages() {
    for (const char* name : {"cat", "dog"}) {
      for (int i = 0; i < 6; ++i) {
        const std::string pixels(32 * 32 * 3, static_cast<char>(20 * i + (name[0] == 'c') * 90));
        directory_->Write(absl::StrCat("train/", name, "/", i, ".ppm"),
                          "P6\n32 32\n255\n" + pixels);
      }
    }
    ASSERT_EQ(Call("tar czf cifar10_images.tar.gz train"), 0);
  }
  static void WriteModels() {
    GraphBuilder model("model");
    const Expr image = model.Input("image", DType::kFloat32, {"batch", 3, 4, 4});
    model.Output("mean", expr::Op("GlobalAveragePool", {image}));
    ASSERT_TRUE(ExportFile(*model.Build(), directory_->path("model.onnx")).ok());
    Tensor cat(DType::kFloat32, {1, 3, 4, 4});
    std::fill_n(cat.mutable_data<float>(), cat.num_elements(), 0.5f);
    ASSERT_TRUE(files::WriteNpy(cat, directory_->path("cat.npy")).ok());
    const auto gpt = BuildModel(
        "gpt", {{"vocabulary", 4000}, {"layers", 1}, {"width", 8}, {"heads", 2}, {"context", 32}});
    ASSERT_TRUE(gpt.ok()) << gpt.status();
    ASSERT_TRUE(ExportFile(*gpt, directory_->path("gpt.onnx")).ok());
    // As an exported BERT: two outputs, one of them the pooled one.
    GraphBuilder bert("bert");
    const Expr ids = bert.Input("input_ids", DType::kInt64, {"batch", "sequence"});
    Tensor table(DType::kFloat32, {40, 6});
    for (int i = 0; i < 240; ++i) table.mutable_data<float>()[i] = static_cast<float>(i % 7) / 7;
    const Expr hidden = expr::Gather(bert.Constant(table, "embeddings.weight"), ids);
    bert.Output("last_hidden_state", hidden);
    bert.Output("pooler_output", expr::Tanh(expr::ReduceMean(hidden, {1}, false)));
    ASSERT_TRUE(ExportFile(*bert.Build(), directory_->path("bert.onnx")).ok());
    std::string lines;
    for (int i = 0; i < 8; ++i)
      absl::StrAppend(&lines, "{\"input_ids\": [", i, ", 3, ", i % 2, "], \"label\": ", i % 2,
                      "}\n");
    directory_->Write("train.jsonl", lines);
  }
  // Texts with their tokenizers.
  static void WriteTexts() {
    const std::string words = R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab":
        {"?": 0, "it": 1, "is": 2, "good": 3, "bad": 4, "not": 5}},
        "pre_tokenizer": {"type": "Whitespace"}})";
    directory_->Write("bert/tokenizer.json", words);
    directory_->Write("gpt2/tokenizer.json", words);
    directory_->Write("reviews.csv",
                      "stars,text\ngood,it is good\nbad,it is not good\nbad,it is bad\n"
                      "good,it is not bad\n");
    directory_->Write("questions.jsonl",
                      "{\"prompt\": \"is it good\", \"answer\": \"it is\"}\n"
                      "{\"prompt\": \"is it\", \"answer\": \"it is not good\"}\n");
  }
  // A case of the standard's form.
  static void WriteCase() {
    GraphBuilder negation("negation");
    negation.Output("y", expr::Op("Neg", {negation.Input("x", DType::kFloat32, {2})}));
    const std::string data = directory_->path("cases/test_neg/test_data_set_0");
    fs::create_directories(data);
    ASSERT_TRUE(ExportFile(*negation.Build(), directory_->path("cases/test_neg/model.onnx")).ok());
    for (const float sign : {1.0f, -1.0f}) {
      onnx::TensorProto tensor;
      tensor.set_data_type(onnx::TensorProto::FLOAT);
      tensor.add_dims(2);
      tensor.add_float_data(sign);
      tensor.add_float_data(sign * 2);
      std::ofstream(absl::StrCat(data, sign > 0 ? "/input_0.pb" : "/output_0.pb"))
          << tensor.SerializeAsString();
    }
  }

  // In the directory; what it printed is in log_.
  static int Call(const std::string& command) {
    const std::string log = directory_->path("log");
    const int status = std::system(absl::StrCat("cd ", directory_->path(), " && PATH=.:$PATH && ",
                                                command, " >", log, " 2>&1 </dev/null")
                                       .c_str());
    log_ = ReadFile(log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static void ExpectRuns(const std::string& command, const std::string& where) {
    EXPECT_EQ(Call(command), 0) << where << ": " << command << "\n" << log_;
  }

  static testing::ScratchDirectory* directory_;
  static std::string log_;
};

testing::ScratchDirectory* DocsTest::directory_ = nullptr;
std::string DocsTest::log_;

// The language says what a block is, and so how it is checked.
TEST_F(DocsTest, EveryBlockSaysItsLanguage) {
  for (const char* name : kPages) {
    for (const CodeBlock& block : ReadPage(Source(name)).blocks) {
      EXPECT_THAT(block.language,
                  ::testing::AnyOf("sh", "textproto", "cpp", "c++", "python", "text"))
          << name << ":" << block.line;
    }
  }
}

TEST_F(DocsTest, CommandsRun) {
  for (const char* name : kPages) {
    const Page page = ReadPage(Source(name));
    // The first configuration of a page is the file that its commands name.
    for (const CodeBlock& block : page.blocks) {
      if (block.language == "textproto" && absl::StrContains(block.text, "# train.textproto"))
        directory_->Write("train.textproto", block.text);
    }
    for (const CodeBlock& block : page.blocks) {
      if (block.language != "sh") continue;
      for (const std::string& line : Lines(block)) {
        const std::string command(absl::StripAsciiWhitespace(line.substr(0, line.find(" #"))));
        if (absl::StartsWith(command, "onward ")) {
          ExpectRuns(command, name);
        } else {
          // These install and build, and one of them runs this test.
          EXPECT_TRUE(absl::StartsWith(command, "scripts/")) << name << ": " << line;
          EXPECT_TRUE(fs::exists(Source(command))) << name << ": " << line;
        }
      }
      fs::remove_all(directory_->path("out"));
    }
    for (const std::string& command : page.first_cells) {
      if (absl::StartsWith(command, "onward ") && !HasPlaceholder(command))
        ExpectRuns(command, name);
    }
  }
}

// `onward CMD --option` in a sentence or a synopsis: both are there.
TEST_F(DocsTest, CommandsAndOptionsThatAreNamedExist) {
  for (const char* name : kPages) {
    for (const auto& [span, line] : ReadPage(Source(name)).mentions) {
      const std::vector<std::string> words =
          absl::StrSplit(span, absl::ByAnyChar(" []|()\\"), absl::SkipEmpty());
      if (words.size() < 2 || words[0] != "onward" || words[1][0] == '-') continue;
      if (absl::StrContains(line, "(coming)")) continue;
      ASSERT_EQ(Call(absl::StrCat("onward ", words[1], " --help")), 0) << name << ": " << span;
      for (size_t i = 2; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (!absl::StartsWith(word, "--")) continue;
        if (word == "--" && i + 1 < words.size()) {  // the command that is launched
          ASSERT_EQ(Call(absl::StrCat("onward ", words[i + 1], " --help")), 0)
              << name << ": " << span;
          continue;
        }
        EXPECT_THAT(log_, HasSubstr(word.substr(0, word.find('=')))) << name << ": " << span;
      }
    }
  }
}

TEST_F(DocsTest, ConfigurationsTrain) {
  // What a block leaves out, by a field that only this block has.
  const std::pair<const char*, const char*> rest[] = {
      {"mnist_cnn", ""},
      {"bert.onnx", R"(loss { cross_entropy {} }
          optimizer { sgd { lr: 0.1 } } batch_size: 4 steps: 2
          data { jsonl { path: "train.jsonl" field { name: "input_ids" element: INT64 dim: -1 }
                         field { name: "label" element: INT64 } } })"},
      {"reviews.csv", R"(model: "bert.onnx" head { of: "pooler_output" outputs: 2 }
          loss { cross_entropy {} } optimizer { sgd { lr: 0.1 } } batch_size: 2 steps: 2)"},
      {"questions.jsonl", R"(built { name: "gpt" options { key: "vocabulary" value: 6 }
              options { key: "layers" value: 1 } options { key: "width" value: 8 }
              options { key: "heads" value: 2 } options { key: "context" value: 32 } }
          loss { cross_entropy { class_axis: -1 } } optimizer { sgd { lr: 0.1 } }
          batch_size: 2 steps: 2)"},
      {"cifar10_images", R"(built { name: "resnet_cifar" options { key: "width" value: 2 }
                                    options { key: "classes" value: 2 } }
          loss { cross_entropy {} } batch_size: 4 steps: 2
          optimizer { sgd { lr: 0.1 } })"}};
  size_t found = 0;
  for (const char* name : kPages) {
    for (const CodeBlock& block : ReadPage(Source(name)).blocks) {
      if (block.language != "textproto") continue;
      bool known = false;
      for (const auto& [field, more] : rest) {
        if (!absl::StrContains(block.text, field)) continue;
        known = true;
        directory_->Write("block.textproto", absl::StrCat(block.text, more));
        const std::string data = absl::StrContains(block.text, "mnist {") ? "mnist" : ".";
        ExpectRuns(absl::StrCat("onward train block.textproto --output-dir block", found,
                                " --data-dir ", data),
                   absl::StrCat(name, ":", block.line));
      }
      EXPECT_TRUE(known) << name << ":" << block.line << ": say what completes this block";
      ++found;
    }
  }
  EXPECT_EQ(found, std::size(rest));
}

TEST_F(DocsTest, ConfigurationsOfTheExamplesAreSound) {
  int found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Source("examples"))) {
    if (entry.path().extension() != ".textproto") continue;
    const auto config = ReadTrainConfig(entry.path());
    EXPECT_TRUE(config.ok()) << config.status();
    ++found;
  }
  EXPECT_GE(found, 7);
}

// The lines of the documentation's C++.
[[maybe_unused]] absl::Status ReadMe(const Tensor& image) {
  ONWARD_ASSIGN_OR_RETURN(auto session, onward::Session::Load("model.onnx"));
  ONWARD_ASSIGN_OR_RETURN(auto outputs, session->Run({{"image", image}}));
  return absl::OkStatus();
}

[[maybe_unused]] absl::Status OwnLoop(onward::Model model,
                                      const std::shared_ptr<const onward::Dataset>& data) {
  onward::TrainConfig config;
  config.mutable_loss()->mutable_cross_entropy();
  config.mutable_optimizer()->mutable_adam()->set_lr(1e-3);
  ONWARD_ASSIGN_OR_RETURN(auto trainer,
                          onward::StepwiseTrainer::Create(model, config, data->fields()));
  const onward::DataLoaderOptions options{.batch_size = 64, .shuffle = true};
  ONWARD_ASSIGN_OR_RETURN(auto loader, onward::DataLoader::Create(data, options));
  for (int64_t i = 0; i < loader->batches_per_epoch(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const auto batch, loader->Next());
    ONWARD_ASSIGN_OR_RETURN(double loss, trainer->Step(batch));
    ONWARD_RETURN_IF_ERROR(trainer->SetRateFactor(std::pow(0.999, trainer->steps_done())));
    std::printf("step %d: loss %.4f\n", int(trainer->steps_done()), loss);
  }
  return trainer->Export("trained.onnx");
}

absl::StatusOr<Model> InCpp() {
  using namespace expr;  // NOLINT
  GraphBuilder b("classifier");
  nn::Module root(b, {.seed = 1});
  nn::Linear fc1(root, "fc1", 784, 128), fc2(root, "fc2", 128, 10);
  const Expr x = b.Input("x", DType::kFloat32, {"batch", 784});
  b.Output("logits", fc2(Relu(fc1(x))));
  ONWARD_ASSIGN_OR_RETURN(Model model, b.Build());
  return model;
}

TEST_F(DocsTest, CppIsCompiledHere) {
  EXPECT_TRUE(InCpp().ok());
  std::string compiled = ReadFile(Source("tests/cli/docs_test.cc"));
  for (const char* program :
       {"mnist/train_mnist.cc", "finetune/finetune.cc", "chargpt/continue_text.cc"})
    compiled += ReadFile(Source(absl::StrCat("examples/", program)));
  for (const char* name : kPages) {
    for (const CodeBlock& block : ReadPage(Source(name)).blocks) {
      if (block.language != "cpp" && block.language != "c++") continue;
      for (const std::string& line : Lines(block))
        EXPECT_THAT(compiled, HasSubstr(std::string(absl::StripAsciiWhitespace(line)))) << name;
    }
  }
}

}  // namespace
}  // namespace onward

// Directories as exporters leave them: what is read of the files beside model.onnx.
#include "serving/text/load_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/export.h"
#include "onward/import.h"
#include "tests/serving/repository_fixture.h"
#include "tests/serving/text_server.h"
#include "tests/support/scratch_directory.h"

namespace onward::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadTextTest : public TextServerTest {
 protected:
  LoadTextTest() {
    EXPECT_TRUE(ExportFile(LettersModel(), directory_.path("model.onnx")).ok());
    directory_.Write("tokenizer.json", LettersTokenizerJson());
  }

  absl::StatusOr<std::shared_ptr<TextModel>> Load() {
    auto session = Session::Load(directory_.path("model.onnx"), {.num_threads = 1});
    EXPECT_TRUE(session.ok()) << session.status();
    return LoadText(**session, {"letters", directory_.path("model.onnx"), directory_.path(),
                                LoadGenerator, [this](const LogRecord& record) {
                                  absl::StrAppend(&log_, record.message, "\n");
                                }});
  }
  static absl::StatusOr<std::unique_ptr<generation::BatchGenerator>> LoadGenerator(
      const std::string& path, int64_t context) {
    auto model = ImportFile(path);
    if (!model.ok()) return model.status();
    generation::BatchGeneratorOptions options;
    options.context = context;
    return generation::BatchGenerator::Create(*std::move(model), {.num_threads = 1}, options);
  }

  testing::ScratchDirectory directory_;
  std::string log_;
};

TEST_F(LoadTextTest, ReadsWhatExportersWrite) {
  directory_.Write("tokenizer_config.json",
                   R"({"model_max_length": 1000000000000000019884624838656,
                       "bos_token": {"content": "b"}, "eos_token": "<end>",
                       "chat_template": "{{ messages[0].content }}"})");
  directory_.Write("config.json", R"({"n_positions": 77, "eos_token_id": 0})");
  directory_.Write("generation_config.json",
                   R"({"eos_token_id": [0, 29], "do_sample": true, "temperature": 0.5,
                       "top_k": 3, "top_p": 0.25})");
  const auto text = Load();
  ASSERT_TRUE(text.ok()) << text.status();
  const TextFacts& facts = (*text)->facts();
  EXPECT_TRUE((*text)->generates());
  EXPECT_EQ(facts.context, 77);
  EXPECT_THAT(facts.stop_tokens, ElementsAre(0, 29));
  EXPECT_EQ(facts.bos_token, "b");
  EXPECT_EQ(facts.eos_token, "<end>");
  EXPECT_TRUE(facts.chat_template.ok());
  EXPECT_EQ(facts.sampling.temperature, 0.5);
  EXPECT_EQ(facts.sampling.top_k, 3);
  EXPECT_EQ(facts.sampling.top_p, 0.25);
  EXPECT_FALSE(facts.sampling.greedy);
}

TEST_F(LoadTextTest, ATokenizerAloneWillDo) {
  const auto text = Load();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE((*text)->generates());
  EXPECT_EQ((*text)->facts().context, 0);
  EXPECT_FALSE((*text)->facts().chat_template.ok());
  EXPECT_EQ((*text)->facts().sampling.temperature, 1);
}

TEST_F(LoadTextTest, WithoutATokenizerThereIsNoText) {
  std::filesystem::remove(directory_.path("tokenizer.json"));
  const auto text = Load();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, nullptr);
}

TEST_F(LoadTextTest, ABrokenTemplateSwitchesChatOff) {
  directory_.Write("chat_template.jinja", "{% nonsense %}");
  const auto text = Load();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_FALSE((*text)->facts().chat_template.ok());
  EXPECT_THAT(log_, HasSubstr("model 'letters' cannot chat: its chat template:"));
}

TEST_F(LoadTextTest, BrokenFilesAreNamed) {
  directory_.Write("config.json", "[1]");
  EXPECT_THAT(std::string(Load().status().message()),
              HasSubstr("config.json' is not an object of JSON"));
}

TEST_F(LoadTextTest, AServerServesTheDirectory) {
  directory_.Write("config.json", R"({"eos_token_id": 0})");
  ServerOptions options;
  options.address.port = 0;
  options.load_session = testing::LoadSession();
  options.load_generator = LoadGenerator;
  auto server = Server::Start({}, options);
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  ASSERT_TRUE(server_->Load({{"letters", directory_.path()}}).ok());
  while (!server_->Loaded()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(server_->Loaded()->ok()) << *server_->Loaded();
  client_ = std::make_unique<testing::Client>(server_->port());
  const json reply = Posted("/v1/completions", {{"prompt", "w"}, {"temperature", 0}});
  EXPECT_EQ(reply["choices"][0]["text"], "xyzé.!?");
  // The model itself stays within reach.
  const json logits = Posted(
      "/v2/models/letters/infer",
      {{"inputs",
        {{{"name", "input_ids"}, {"datatype", "INT64"}, {"shape", {1, 1}}, {"data", {5}}}}}});
  EXPECT_EQ(logits["outputs"][0]["data"][6], 4.0);
}

}  // namespace
}  // namespace onward::serving

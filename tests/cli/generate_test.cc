// onward generate: what it prints, and what it refuses.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/export.h"
#include "onward/models.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

class GenerateCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = Write("model.onnx", {{"context", 8}});
    cached_ = Write("cached.onnx", {{"context", 8}, {"cache", 1}});
    vocabulary_ = directory_.Write("vocabulary.txt", "a\nb\nc\nd\n\\n\n");
  }

  std::string Write(const std::string& name, std::map<std::string, double> options) {
    options.insert({{"vocabulary", 5}, {"layers", 1}, {"heads", 2}, {"width", 8}});
    const auto model = BuildModel("gpt", options, 3);
    EXPECT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(ExportFile(*model, directory_.path(name)).ok());
    return directory_.path(name);
  }

  // The exit code; stdout and stderr are kept.
  int Call(const std::string& arguments) {
    const std::string out = directory_.path("out"), err = directory_.path("err");
    const int status = std::system(
        absl::StrCat(ONWARD_PROGRAM, " generate ", arguments, " >", out, " 2>", err).c_str());
    out_ = Read(out);
    err_ = Read(err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  testing::ScratchDirectory directory_;
  std::string model_, cached_, vocabulary_, out_, err_;
};

TEST_F(GenerateCommandTest, NumbersTextAndJsonAreTheSame) {
  ASSERT_EQ(Call(model_ + " --prompt-ids 0,1 --max-new-tokens 5 --json"), 0) << err_;
  const auto document = nlohmann::json::parse(out_);
  const auto ids = document["ids"].get<std::vector<int64_t>>();
  EXPECT_EQ(ids.size(), 5u);
  EXPECT_EQ(document["prompt_ids"], nlohmann::json({0, 1}));
  EXPECT_EQ(document["finish"], "length");
  EXPECT_GT(document["tokens_per_s"].get<double>(), 0);

  ASSERT_EQ(Call(model_ + " --prompt-ids 0,1 --max-new-tokens 5"), 0) << err_;
  EXPECT_EQ(out_, absl::StrJoin(ids, ",") + "\n");
  ASSERT_EQ(Call(cached_ + " --prompt-ids 0,1 --max-new-tokens 5"), 0) << err_;
  EXPECT_EQ(out_, absl::StrJoin(ids, ",") + "\n");
  std::string text;
  for (const int64_t id : ids) text += "abcd\n"[id];
  ASSERT_EQ(Call(model_ + " --prompt ab --vocab " + vocabulary_ + " --max-new-tokens 5"), 0);
  EXPECT_EQ(out_, text + "\n");
}

TEST_F(GenerateCommandTest, DrawsFollowTheSeed) {
  const std::string call = model_ + " --prompt-ids 0 --temperature 3 --max-new-tokens 30 --seed ";
  ASSERT_EQ(Call(call + "1"), 0) << err_;
  const std::string first = out_;
  ASSERT_EQ(Call(call + "1"), 0) << err_;
  EXPECT_EQ(out_, first);
  ASSERT_EQ(Call(call + "2"), 0) << err_;
  EXPECT_NE(out_, first);
}

TEST_F(GenerateCommandTest, BeamsAndStops) {
  ASSERT_EQ(Call(cached_ + " --prompt-ids 0,1 --max-new-tokens 4 --beams 3 --json"), 0) << err_;
  const auto document = nlohmann::json::parse(out_);
  ASSERT_EQ(document["hypotheses"].size(), 3u);
  EXPECT_EQ(document["hypotheses"][0]["ids"], document["ids"]);
  EXPECT_GE(document["hypotheses"][0]["score"], document["hypotheses"][1]["score"]);
  ASSERT_EQ(Call(model_ + " --prompt-ids 0 --stop-ids 0,1,2,3,4 --json"), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["finish"], "stop");
  ASSERT_EQ(Call(cached_ + " --prompt-ids 0 --max-new-tokens 20 --json"), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["finish"], "context");
}

// A text that repeats itself is learned, and continues from a prompt.
TEST_F(GenerateCommandTest, WhatATrainingLeaves) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abcdefgh\n";
  directory_.Write("text.txt", text);
  const std::string config = directory_.Write("train.textproto", R"(
      built { name: "gpt" options { key: "vocabulary" value: 9 } options { key: "layers" value: 1 }
              options { key: "heads" value: 2 } options { key: "width" value: 16 }
              options { key: "context" value: 12 } }
      loss { cross_entropy { class_axis: -1 } }
      optimizer { adamw { lr: 0.02 } }
      data { text { path: "text.txt" tokens: CHARACTERS window: 12 } }
      batch_size: 8 steps: 60 threads: 1)");
  const std::string output = directory_.path("trained"), log = directory_.path("log");
  ASSERT_EQ(std::system(absl::StrCat(ONWARD_PROGRAM, " train ", config, " --output-dir ", output,
                                     " >", log, " 2>&1")
                            .c_str()),
            0)
      << Read(log);
  ASSERT_EQ(Call(output + "/model.onnx --prompt cde --vocab " + output +
                 "/vocabulary.txt --max-new-tokens 14"),
            0)
      << err_;
  EXPECT_EQ(out_, "fgh\nabcdefgh\na\n");
}

// Text by a tokenizer.json, whose eos_token ends it.
TEST_F(GenerateCommandTest, Tokenizers) {
  const std::string file = directory_.Write("hf/tokenizer.json", R"({
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "decoder": {"type": "ByteLevel"},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "d": 3, "e": 4},
                "merges": ["a b"]}})");
  ASSERT_EQ(Call(model_ + " --prompt abe --vocab " + file + " --max-new-tokens 5 --json"), 0)
      << err_;
  const auto document = nlohmann::json::parse(out_);
  EXPECT_EQ(document["prompt_ids"], nlohmann::json({2, 4}));
  ASSERT_EQ(Call(model_ + " --prompt abe --vocab " + directory_.path("hf") + " --max-new-tokens 5"),
            0)
      << err_;
  EXPECT_EQ(out_, document["text"].get<std::string>() + "\n");

  static constexpr const char* kTokens[] = {"a", "b", "ab", "d", "e"};
  directory_.Write(
      "hf/tokenizer_config.json",
      absl::StrCat(R"({"eos_token": ")", kTokens[document["ids"][0].get<size_t>()], R"("})"));
  ASSERT_EQ(Call(model_ + " --prompt abe --vocab " + file + " --json"), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["finish"], "stop");
  directory_.Write("hf/tokenizer.json", R"({"model": {"type": "X"}})");
  EXPECT_EQ(Call(model_ + " --prompt abe --vocab " + file), 1);
  EXPECT_THAT(err_, HasSubstr("tokenizer.json': model.type: 'X' is not supported"));
}

TEST_F(GenerateCommandTest, RefusesWithAReason) {
  const auto refusal = [&](const std::string& arguments, int code = 1) {
    EXPECT_EQ(Call(arguments), code) << arguments;
    return err_;
  };
  EXPECT_THAT(refusal(model_, 2), HasSubstr("--prompt-ids or --prompt is required\n"));
  EXPECT_THAT(refusal(model_ + " --prompt-ids 1 --prompt a", 2), HasSubstr("--prompt"));
  EXPECT_THAT(refusal(model_ + " --prompt a"), HasSubstr("--prompt needs --vocab"));
  EXPECT_THAT(refusal(model_ + " --prompt-ids 1,x"),
              HasSubstr("--prompt-ids: 'x' is not a number"));
  EXPECT_THAT(refusal(model_ + " --prompt-ids 7"), HasSubstr("token 7 is not in the model's"));
  EXPECT_THAT(refusal(model_ + " --prompt xyz --vocab " + vocabulary_), HasSubstr("byte"));
  EXPECT_THAT(refusal(model_ + " --prompt a --vocab nowhere.txt"), HasSubstr("nowhere.txt"));
  EXPECT_THAT(refusal("nowhere.onnx --prompt-ids 1"), HasSubstr("nowhere.onnx"));
  EXPECT_THAT(refusal(model_ + " --prompt-ids 1 --temperature -1"), HasSubstr("temperature is -1"));
  EXPECT_THAT(refusal(model_ + " --prompt-ids 1 --top-p 2"), HasSubstr("top_p is 2"));
  EXPECT_THAT(refusal(model_ + " --prompt-ids 1 --beams 2 --top-k 3"),
              HasSubstr("leave out --temperature"));
  EXPECT_THAT(refusal(model_ + " --prompt-ids 1 --max-new-tokens 0", 2), HasSubstr("0"));
  EXPECT_THAT(refusal(cached_ + " --prompt-ids 1,1,1,1,1,1,1,1,1"),
              HasSubstr("the prompt has 9 tokens, the model's context is 8"));
}

}  // namespace
}  // namespace onward

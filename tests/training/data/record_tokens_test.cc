// The tokens of texts in CSV and JSONL files. What a tokenizer makes of a text is tested in
// tests/files/tokenizer; its words here are "[UNK]", "[CLS]", "[SEP]", "[PAD]", "a", "b", "c" and
// ".".
#include "training/data/record_tokens.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/dataset.h"
#include "tests/support/scratch_directory.h"
#include "training/data/loader.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

constexpr char kWords[] = R"({"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab":
    {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "a": 4, "b": 5, "c": 6, ".": 7}},
    "pre_tokenizer": {"type": "Whitespace"})";
constexpr char kBert[] =
    R"(, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}})";

std::vector<int64_t> Numbers(const Tensor& tensor) {
  return {tensor.span<int64_t>().begin(), tensor.span<int64_t>().end()};
}

class RecordTokensTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(const std::string& source, bool bert = true) {
    scratch_.Write("tokenizer.json", absl::StrCat(kWords, bert ? kBert : "}"));
    scratch_.Write("tokenizer_config.json",
                   bert ? R"({"pad_token": "[PAD]"})" : R"({"eos_token": "."})");
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(source, &config_)) << source;
    return OpenDataset(config_, scratch_.path());
  }
  std::string Error(const std::string& source, bool bert = true) {
    const auto data = Open(source, bert);
    if (!data.ok()) return std::string(data.status().message());
    const auto example = (*data)->Read(0, 0);
    return example.ok() ? "OK" : std::string(example.status().message());
  }

  ScratchDirectory scratch_;
  DataConfig config_;
};

TEST_F(RecordTokensTest, BatchesArePadded) {
  scratch_.Write("x.csv", "label,text\n1,a b\n0,\"c, b . a\"\n0,c\n");
  const auto data = Open(
      "csv { path: 'x.csv' field { name: 'label' element: INT64 }"
      "  tokens { column: 'text' tokenizer: 'tokenizer.json' max_length: 5 } }");
  ASSERT_TRUE(data.ok()) << data.status();
  const auto& fields = (*data)->fields();
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_EQ(fields[1].name, "input_ids");
  EXPECT_EQ(fields[1].type.ToString(), "int64[input_ids_length]");
  EXPECT_EQ(fields[2].type.ToString(), fields[1].type.ToString());
  auto options = OptionsOf(config_, **data, /*training=*/false);
  ASSERT_TRUE(options.ok()) << options.status();
  options->batch_size = 3;
  const auto loader = Loader::Create(*data, *options);
  ASSERT_TRUE(loader.ok()) << loader.status();
  const auto batch = (*loader)->Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  // The second text is cut, and keeps the token at its end.
  EXPECT_TRUE(SameBits(batch->at("input_ids"), Tensor::Of<int64_t>({3, 5}, {1, 4, 5, 2, 3,  //
                                                                            1, 6, 0, 5, 2,  //
                                                                            1, 6, 2, 3, 3})));
  EXPECT_TRUE(SameBits(batch->at("attention_mask"), Tensor::Of<int64_t>({3, 5}, {1, 1, 1, 1, 0,  //
                                                                                 1, 1, 1, 1, 1,  //
                                                                                 1, 1, 1, 0, 0})));
  EXPECT_EQ(Numbers(batch->at("label")), (std::vector<int64_t>{1, 0, 0}));
}

TEST_F(RecordTokensTest, PairsHaveTypes) {
  scratch_.Write("x.jsonl", R"({"s": {"one": "a"}, "two": "b c"})");
  const auto data = Open(
      "jsonl { path: 'x.jsonl' tokens { column: 's.one' column: 'two' tokenizer: '.'"
      "  max_length: 7 pad_to_max_length: true mask: '' } }");
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->fields().size(), 2u);
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "int64[7]");
  const auto example = (*data)->Read(0, 0);
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_THAT(Numbers(example->at(0)), ElementsAre(1, 4, 2, 5, 6, 2, 3));
  EXPECT_THAT(Numbers(example->at(1)), ElementsAre(0, 0, 0, 1, 1, 1, 0));
}

TEST_F(RecordTokensTest, CompletionsTellTheNextToken) {
  scratch_.Write("x.jsonl", "{\"p\": \"a b\", \"c\": \"c a\"}\n{\"p\": \"\", \"c\": \"b\"}\n");
  const std::string both =
      "jsonl { path: 'x.jsonl' tokens { column: 'p' column: 'c' tokenizer: '.'"
      " ids: 'tokens' types: '' next: 'label' ";
  auto data = Open(both + "} }", /*bert=*/false);
  ASSERT_TRUE(data.ok()) << data.status();
  auto example = (*data)->Read(0, 0);
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_THAT(Numbers(example->at(0)), ElementsAre(4, 5, 6, 4));
  EXPECT_THAT(Numbers(example->at(1)), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(Numbers(example->at(2)), ElementsAre(-100, 6, 4, 7));
  EXPECT_EQ((*data)->fields()[2].pad, -100);
  EXPECT_EQ((*data)->fields()[0].pad, 7);  // no pad token: the end's
  data = Open(both + "max_length: 2 } }", /*bert=*/false);
  example = (*data)->Read(0, 0);
  EXPECT_THAT(Numbers(example->at(2)), ElementsAre(-100, 6));
  // A single text has every token but its first to predict.
  data = Open(
      "jsonl { path: 'x.jsonl' tokens { column: 'c' tokenizer: '.' next: 'label' types: ''"
      " mask: '' } }",
      /*bert=*/false);
  ASSERT_TRUE(data.ok()) << data.status();
  example = (*data)->Read(0, 0);
  EXPECT_THAT(Numbers(example->at(0)), ElementsAre(6, 4));
  EXPECT_THAT(Numbers(example->at(1)), ElementsAre(4, 7));
}

TEST_F(RecordTokensTest, ConversationsAreWrittenByTheChatTemplate) {
  scratch_.Write("chat_template.jinja",
                 "{% for m in messages %}{{ m.role }} {{ m.content }} . {% endfor %}"
                 "{% if add_generation_prompt %}c {% endif %}");
  scratch_.Write("x.jsonl",
                 R"({"m": [{"role": "a", "content": "b"}, {"role": "c", "content": "b a"}]})"
                 "\n"
                 R"({"m": [{"role": "a", "content": "b"}, {"role": "a", "content": "b"}]})"
                 "\n{\"m\": []}\n{\"m\": [3]}\n");
  const std::string source =
      "jsonl { path: 'x.jsonl' tokens { column: 'm' tokenizer: '.' chat: true types: '' mask: ''";
  const auto data = Open(source + " next: 'label' } }", /*bert=*/true);
  ASSERT_TRUE(data.ok()) << data.status();
  const auto example = (*data)->Read(0, 0);
  ASSERT_TRUE(example.ok()) << example.status();
  // "a b . c" and "b a ."
  EXPECT_THAT(Numbers(example->at(0)), ElementsAre(4, 5, 7, 6, 5, 4));
  EXPECT_THAT(Numbers(example->at(1)), ElementsAre(-100, -100, -100, 5, 4, 7));
  EXPECT_THAT((*data)->Read(1, 0).status().message(), HasSubstr("prompt of its last message"));
  EXPECT_THAT((*data)->Read(2, 0).status().message(), HasSubstr("not an array of messages"));
  EXPECT_TRUE(absl::IsDataLoss((*data)->Read(3, 0).status()));
  EXPECT_THAT(Error(source + " } }"), HasSubstr("with `next`"));
  std::filesystem::remove(scratch_.path("chat_template.jinja"));
  EXPECT_THAT(Error(source + " next: 'label' } }"), HasSubstr("has no chat template"));
  scratch_.Write("y.csv", "m\na\n");
  EXPECT_THAT(Error("csv { path: 'y.csv' tokens { column: 'm' tokenizer: '.' chat: true } }"),
              HasSubstr("JSON's messages"));
}

TEST_F(RecordTokensTest, ArgumentsOfCallsAreObjectsToTheTemplate) {
  scratch_.Write("chat_template.jinja",
                 "{% for m in messages %}{{ m.role }} "
                 "{{ m.tool_calls[0].function.arguments.x if m.tool_calls else m.content }} . "
                 "{% endfor %}{% if add_generation_prompt %}c {% endif %}");
  scratch_.Write("x.jsonl", R"({"m": [{"role": "a", "content": "b"}, {"role": "c", "tool_calls": [)"
                            R"({"function": {"name": "f", "arguments": "{\"x\": \"a\"}"}}]}]})"
                            "\n");
  const auto data = Open(
      "jsonl { path: 'x.jsonl' tokens { column: 'm' tokenizer: '.' chat: true types: '' mask: ''"
      " next: 'label' } }",
      /*bert=*/true);
  ASSERT_TRUE(data.ok()) << data.status();
  const auto example = (*data)->Read(0, 0);
  ASSERT_TRUE(example.ok()) << example.status();
  // "a b . c" and "a ."
  EXPECT_THAT(Numbers(example->at(0)), ElementsAre(4, 5, 7, 6, 4));
  EXPECT_THAT(Numbers(example->at(1)), ElementsAre(-100, -100, -100, 4, 7));
}

TEST_F(RecordTokensTest, TheTemplateShowsTools) {
  scratch_.Write("chat_template.jinja",
                 "{% if tools %}{{ tools[0].function.name }} . {% endif %}"
                 "{% for m in messages %}{{ m.role }} {{ m.content }} . {% endfor %}"
                 "{% if add_generation_prompt %}c {% endif %}");
  const std::string messages =
      R"("m": [{"role": "a", "content": "b"}, {"role": "c", "content": "a"}])";
  scratch_.Write(
      "x.jsonl",
      absl::StrCat("{", messages, R"(, "t": [{"function": {"name": "b"}}]})", "\n",  //
                   "{", messages, R"(, "t": "[{\"function\": {\"name\": \"b\"}}]"})", "\n", "{",
                   messages, R"(, "t": null})", "\n", "{", messages, R"(, "t": []})", "\n", "{",
                   messages, "}\n", "{", messages, R"(, "t": "b"})", "\n"));
  const auto data = Open(
      "jsonl { path: 'x.jsonl' tokens { column: 'm' tokenizer: '.' chat: true types: '' mask: ''"
      " next: 'label' tools: 't' } }",
      /*bert=*/true);
  ASSERT_TRUE(data.ok()) << data.status();
  for (int64_t i = 0; i < 5; ++i) {
    const auto example = (*data)->Read(i, 0);
    ASSERT_TRUE(example.ok()) << example.status();
    // "a b . c" and "a .", behind "b ." where there is a tool
    if (i < 2) {
      EXPECT_THAT(Numbers(example->at(0)), ElementsAre(5, 7, 4, 5, 7, 6, 4)) << i;
    } else {
      EXPECT_THAT(Numbers(example->at(0)), ElementsAre(4, 5, 7, 6, 4)) << i;
    }
  }
  EXPECT_THAT((*data)->Read(5, 0).status().message(), HasSubstr("'t' is not an array of tools"));
}

TEST_F(RecordTokensTest, ErrorsNameColumnAndLine) {
  scratch_.Write("x.jsonl", "{\"text\": 3}\n");
  scratch_.Write("x.csv", "label,text\n1,a\xff\n");
  const std::string tokenizer = " tokenizer: '.' } }";
  EXPECT_THAT(Error("csv { path: 'x.csv' tokens { column: 'txt'" + tokenizer),
              HasSubstr("none of the 2 columns is named 'txt'"));
  const std::string bytes = Error("csv { path: 'x.csv' tokens { column: 'text'" + tokenizer);
  EXPECT_THAT(bytes, HasSubstr("line 2"));
  EXPECT_THAT(bytes, HasSubstr("column 1"));
  EXPECT_THAT(bytes, HasSubstr("not UTF-8"));
  EXPECT_THAT(Error("jsonl { path: 'x.jsonl' tokens { column: 'text'" + tokenizer),
              HasSubstr("'text': it is not a text"));
  EXPECT_THAT(Error("jsonl { path: 'x.jsonl' tokens { column: 'b'" + tokenizer),
              HasSubstr("'b': there is no such member"));
  EXPECT_THAT(Error("jsonl { path: 'x.jsonl' tokens {" + tokenizer), HasSubstr("needs a column"));
  EXPECT_THAT(Error("jsonl { path: 'x.jsonl' tokens { column: 'text' max_length: 0" + tokenizer),
              HasSubstr("max_length must be positive"));
  EXPECT_THAT(
      Error("jsonl { path: 'x.jsonl' tokens { column: 'text' pad_to_max_length: true" + tokenizer),
      HasSubstr("needs max_length"));
  EXPECT_THAT(Error("csv { path: 'x.csv' tokens { column: 'text' tokenizer: 'none.json' } }"),
              HasSubstr("none.json"));
  scratch_.Write("y.csv", "text\na\n");
  EXPECT_THAT(Error("csv { path: 'y.csv' tokens { column: 'text' next: 'label'" + tokenizer),
              HasSubstr("behind texts"));
}

// One field of a record: what is wrong with others is not looked at.
TEST_F(RecordTokensTest, FieldsAreReadAlone) {
  scratch_.Write("x.csv", "label,text\n1,a\xff\n");
  scratch_.Write("x.jsonl", "{\"label\": 1, \"text\": 3}\n");
  const std::string rest =
      " field { name: 'label' element: INT64 } tokens { column: 'text' tokenizer: '.' } }";
  for (const char* source : {"csv { path: 'x.csv'", "jsonl { path: 'x.jsonl'"}) {
    const auto data = Open(absl::StrCat(source, rest));
    ASSERT_TRUE(data.ok()) << data.status();
    const auto label = (*data)->ReadField(0, 0);
    ASSERT_TRUE(label.ok()) << label.status();
    EXPECT_EQ(label->data<int64_t>()[0], 1);
    EXPECT_TRUE(absl::IsDataLoss((*data)->ReadField(0, 1).status()));
  }
}

TEST_F(RecordTokensTest, TheTokenizerIsFound) {
  scratch_.Write("x.csv", "text\na\n");
  ASSERT_TRUE(Open("csv { path: 'x.csv' tokens { column: 'text' tokenizer: '.' } }").ok());
  EXPECT_EQ(TokenizerOf(config_, "/data"), PathBelow("/data", "."));
  EXPECT_EQ(TokenizerOf(DataConfig(), "/data"), "");
}

}  // namespace
}  // namespace onward::training

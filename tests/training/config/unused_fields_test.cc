// Every field that another one leaves without effect is refused where it is set.
#include "training/config/unused_fields.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* without_effect;  // fields of a TrainConfig
  const char* named;
  const char* with_effect;
};

constexpr Case kCases[] = {
    {"precision { autocast: BFLOAT16 loss_scale: 128 }", "precision.loss_scale",
     "precision { autocast: FLOAT16 loss_scale: 128 }"},
    {"precision { growth: 4 }", "precision.growth", "precision { autocast: FLOAT16 growth: 4 }"},
    {"precision { backoff: 0.25 }", "precision.backoff",
     "precision { autocast: FLOAT16 backoff: 0.25 }"},
    {"precision { growth_interval: 4 }", "precision.growth_interval",
     "precision { autocast: FLOAT16 growth_interval: 4 }"},
    {"precision { least_loss_scale: 4 }", "precision.least_loss_scale",
     "precision { autocast: FLOAT16 least_loss_scale: 4 }"},
    {"average { kind: UNIFORM decay: 0.9 }", "average.decay", "average { decay: 0.9 }"},
    {"loss { from_model {} target: \"y\" }", "loss.target", "loss { mse {} target: \"y\" }"},
    {"built { name: \"mlp\" } shared: \"a\"", "shared", "model: \"m\" shared: \"a\""},
    {"built { name: \"mlp\" } untied: \"a\"", "untied", "model: \"m\" untied: \"a\""},
    {"data { workers: 0 prefetch: 3 }", "data.prefetch", "data { workers: 1 prefetch: 3 }"},
    {"data { shuffle: false sampling {} }", "data.shuffle", "data { shuffle: true sampling {} }"},
    {"evaluation { data { sampling {} } }", "evaluation.data.sampling", "data { sampling {} }"},
    {"evaluation { data { group_by_length: true } }", "evaluation.data.group_by_length",
     "data { group_by_length: true }"},
    {"data { text { path: \"t\" window: 4 vocabulary: \"v\" } }", "data.text.vocabulary",
     "data { text { path: \"t\" window: 4 tokens: VOCABULARY vocabulary: \"v\" } }"},
    {"data { text { path: \"t\" window: 4 tokenizer: \"v\" } }", "data.text.tokenizer",
     "data { text { path: \"t\" window: 4 tokens: TOKENIZER tokenizer: \"v\" } }"},
    {"data { text { path: \"t\" window: 4 random: true stride: 2 } }", "data.text.stride",
     "data { text { path: \"t\" window: 4 stride: 2 } }"},
    {"data { jsonl { path: \"c\" tokens { column: \"a\" tokenizer: \"t\" tools: \"b\" } } }",
     "data.jsonl.tokens[0].tools",
     "data { jsonl { path: \"c\" tokens { column: \"a\" tokenizer: \"t\" next: \"n\" chat: true "
     "tools: \"b\" } } }"},
    {"data { images { step { flip {} } step { resize { shorter: 8 width: 9 } } } }",
     "data.images.step[1].resize.width",
     "data { images { step { resize { height: 8 width: 9 } } } }"},
    {"data { csv { path: \"c\" field { name: \"a\" class: \"x\" element: FLOAT64 } } }",
     "data.csv.field[0].element",
     "data { csv { path: \"c\" field { name: \"a\" class: \"x\" element: INT64 } } }"},
    {"data { csv { path: \"c\" field { name: \"a\" element: INT64 mean: 3 } } }",
     "data.csv.field[0].mean", "data { csv { path: \"c\" field { name: \"a\" mean: 3 } } }"},
    {"evaluation { data { jsonl { path: \"c\" field { name: \"a\" class: \"x\" deviation: 3 } } } "
     "}",
     "evaluation.data.jsonl.field[0].deviation",
     "data { jsonl { path: \"c\" field { name: \"a\" deviation: 3 } } }"},
    {"data { jsonl { path: \"c\" field { name: \"a\" element: STRING missing: 3 } } }",
     "data.jsonl.field[0].missing",
     "data { jsonl { path: \"c\" field { name: \"a\" missing: 3 } } }"}};

ConfigProblem ProblemOf(const char* text) {
  TrainConfig config;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowPartialMessage(true);
  EXPECT_TRUE(parser.ParseFromString(text, &config)) << text;
  return UnusedField(config);
}

TEST(UnusedField, IsNamed) {
  for (const Case& each : kCases) {
    const ConfigProblem problem = ProblemOf(each.without_effect);
    EXPECT_EQ(problem.field, each.named) << each.without_effect;
    EXPECT_THAT(problem.reason, HasSubstr("does nothing: "));
    EXPECT_EQ(ProblemOf(each.with_effect).field, "") << each.with_effect;
  }
}

}  // namespace
}  // namespace onward::training

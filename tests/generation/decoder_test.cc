// What a decoder feeds: tokens, positions, masks and caches, in models that show them.
#include "onward/generation/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "onward/builder.h"

namespace onward::generation {
namespace {

using namespace expr;  // NOLINT: models as formulas
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As scores of 100 tokens, of which the first ones are these, each [batch, length].
Expr Shown(const std::vector<Expr>& values) {
  std::vector<Expr> columns;
  for (const Expr& each : values) columns.push_back(Unsqueeze(Cast(each, DType::kFloat32), {-1}));
  const Expr row = columns[0] * 0.0;
  while (columns.size() < 100) columns.push_back(row);
  return expr::Concat(columns, -1);
}

std::unique_ptr<Decoder> Make(GraphBuilder& b, int64_t context = 0) {
  auto model = b.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model));
  EXPECT_TRUE(session.ok()) << session.status();
  auto decoder = Decoder::Create(*std::move(session), context);
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  return *std::move(decoder);
}

std::vector<float> First(const absl::StatusOr<Scores>& scores, size_t row, size_t count) {
  EXPECT_TRUE(scores.ok()) << scores.status();
  if (!scores.ok()) return {};
  return {(*scores)[row].begin(), (*scores)[row].begin() + static_cast<int64_t>(count)};
}

// Token, position, sum of the mask, and the sum of the cache, which holds the tokens.
std::unique_ptr<Decoder> Cached(DType mask_type) {
  GraphBuilder b("cached");
  const Expr ids = b.Input("input_ids", DType::kInt64, {"batch", "length"});
  const Expr mask = b.Input("attention_mask", mask_type, {"batch", "total"});
  const Expr positions = b.Input("position_ids", DType::kInt64, {"batch", "length"});
  const Expr past = b.Input("past_key_values.0.key", DType::kFloat16, {"batch", 1, "past", 1});
  const Expr present = expr::Concat({past, Unsqueeze(Cast(ids, DType::kFloat16), {1, 3})}, 2);
  const Expr zeros = Cast(ids, DType::kFloat32) * 0.0;
  const Expr seen = ReduceSum(Cast(mask, DType::kFloat32), {1}, true) + zeros;
  const Expr kept = Squeeze(ReduceSum(Cast(present, DType::kFloat32), {2, 3}, true), {1, 3});
  b.Output("logits", Shown({ids, positions, seen, kept + zeros}));
  b.Output("present.0.key", present);
  return Make(b);
}

TEST(Decoder, FeedsMasksPositionsAndCaches) {
  for (const DType mask : {DType::kInt64, DType::kBool, DType::kFloat32}) {
    const auto decoder = Cached(mask);
    EXPECT_THAT(First(decoder->Begin({5, 7, 11}), 0, 4), ElementsAre(11, 2, 3, 23));
    EXPECT_THAT(First(decoder->Next({2}, {0}), 0, 4), ElementsAre(2, 3, 4, 25));
    // Two rows from one, then changed in order.
    auto scores = decoder->Next({1, 9}, {0, 0});
    EXPECT_THAT(First(scores, 0, 4), ElementsAre(1, 4, 5, 26));
    EXPECT_THAT(First(scores, 1, 4), ElementsAre(9, 4, 5, 34));
    scores = decoder->Next({3, 4, 6}, {1, 0, 1});
    EXPECT_THAT(First(scores, 0, 4), ElementsAre(3, 5, 6, 37));
    EXPECT_THAT(First(scores, 1, 4), ElementsAre(4, 5, 6, 30));
    EXPECT_THAT(First(scores, 2, 4), ElementsAre(6, 5, 6, 40));
    EXPECT_THAT(decoder->row(0), ElementsAre(5, 7, 11, 2, 9, 3));
    EXPECT_THAT(First(decoder->Begin({8}), 0, 4), ElementsAre(8, 0, 1, 8));
  }
}

TEST(Decoder, FixedLengthsArePadded) {
  GraphBuilder b("fixed");
  const Expr ids = b.Input("tokens", DType::kInt32, {1, 4});
  const Expr mask = b.Input("attention_mask", DType::kInt64, {1, 4});
  const Expr seen = ReduceSum(mask, {1}, true) + Cast(ids, DType::kInt64) * 0.0;
  b.Output("logits", Shown({ids, seen}));
  const auto decoder = Make(b);
  EXPECT_THAT(First(decoder->Begin({5, 7}), 0, 2), ElementsAre(7, 2));
  EXPECT_THAT(First(decoder->Next({9}, {0}), 0, 2), ElementsAre(9, 3));
  EXPECT_THAT(First(decoder->Next({1, 2}, {0, 0}), 1, 2), ElementsAre(2, 4));
  // Only the last four are seen.
  EXPECT_THAT(First(decoder->Next({3}, {1}), 0, 2), ElementsAre(3, 4));
  EXPECT_FALSE(decoder->full());
}

TEST(Decoder, AModelThatScoresOnlyTheLastToken) {
  GraphBuilder b("last");
  const Expr ids = b.Input("tokens", DType::kInt64, {"batch", 3});
  b.Output("logits", Squeeze(Slice(Shown({ids}), {-1}, {3}, {1}), {1}));
  const auto decoder = Make(b);
  EXPECT_THAT(First(decoder->Begin({5, 7, 8}), 0, 1), ElementsAre(8));
  EXPECT_THAT(std::string(decoder->Begin({5, 7}).status().message()),
              HasSubstr("the model scores only the last of 3 tokens, and there are 2"));
}

}  // namespace
}  // namespace onward::generation

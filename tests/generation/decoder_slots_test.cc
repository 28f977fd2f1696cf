// Which decoders' rows share runs.
#include "generation/decoder_slots.h"

#include <gtest/gtest.h>

#include "tests/generation/decoder_models.h"

namespace onward::generation {
namespace {

using testing::ExportedModel;
using testing::Form;
using testing::GptModel;
using testing::Positions;

bool Together(Model model, int64_t slots = 4) {
  const auto made = DecoderSlots::Create(std::move(model), SessionOptions(), 32, slots);
  EXPECT_TRUE(made.ok()) << made.status();
  for (size_t slot = 0; slot < (*made)->size(); ++slot) EXPECT_TRUE((*made)->tokens(slot).empty());
  return (*made)->together();
}

TEST(DecoderSlots, RowsRunTogetherWhereTheirScoresStay) {
  EXPECT_TRUE(Together(GptModel(Form::kCache)));
  EXPECT_TRUE(Together(ExportedModel(Positions::kInput, true)));
  EXPECT_TRUE(Together(ExportedModel(Positions::kMask, true)));
  EXPECT_TRUE(Together(ExportedModel(Positions::kInput, true, {.reads_past = true})));
}

TEST(DecoderSlots, ElseOneByOne) {
  EXPECT_FALSE(Together(GptModel(Form::kWhole)));
  EXPECT_FALSE(Together(GptModel(Form::kOneByOne)));
  EXPECT_FALSE(Together(GptModel(Form::kCache), 1));
  // Hidden columns would move their positions, or what they see.
  EXPECT_FALSE(Together(ExportedModel(Positions::kInput, true, {.window = 6})));
  EXPECT_FALSE(Together(ExportedModel(Positions::kPast, true)));
  EXPECT_FALSE(Together(ExportedModel(Positions::kPast, false)));
  EXPECT_FALSE(Together(ExportedModel(Positions::kInput, false)));
}

}  // namespace
}  // namespace onward::generation

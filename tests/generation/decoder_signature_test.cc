// What is found among inputs and outputs, and what is said of models that are not decoders.
#include "onward/generation/decoder_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onward::generation {
namespace {

using ::testing::HasSubstr;

ValueInfo Value(const std::string& name, DType dtype, const std::vector<std::string>& dims) {
  SymbolicDims shape;
  for (const std::string& dim : dims) shape.push_back(ParseDim(dim));
  return {name, Type::Tensor(dtype, shape), false};
}

const ValueInfo kIds = Value("input_ids", DType::kInt64, {"batch", "length"});
const ValueInfo kLogits = Value("logits", DType::kFloat32, {"batch", "length", "100"});

std::string Message(const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs) {
  return std::string(FindSignature(inputs, outputs).status().message());
}

TEST(DecoderSignature, OfExportedDecoders) {
  const auto found = FindSignature(
      {Value("attention_mask", DType::kInt64, {"batch", "past + length"}), kIds,
       Value("position_ids", DType::kInt64, {"batch", "length"}),
       Value("past_key_values.0.key", DType::kFloat16, {"batch", "4", "past", "16"}),
       Value("past_key_values.0.value", DType::kFloat16, {"batch", "4", "past", "16"})},
      {Value("present.0.value", DType::kFloat16, {"batch", "4", "total", "16"}),
       Value("present.0.key", DType::kFloat16, {"batch", "4", "total", "16"}), kLogits});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->tokens, 1u);
  EXPECT_EQ(found->mask, 0u);
  EXPECT_EQ(found->positions, 2u);
  EXPECT_EQ(found->scores, 2u);
  ASSERT_EQ(found->caches.size(), 2u);
  EXPECT_EQ(found->caches[0].past, 3u);
  EXPECT_EQ(found->caches[0].present, 1u);
  EXPECT_EQ(found->caches[0].length_axis, 2);
  EXPECT_TRUE(found->any_batch);
  EXPECT_EQ(found->vocabulary, 100);
}

TEST(DecoderSignature, OfFixedSizes) {
  const auto found = FindSignature({Value("x", DType::kInt32, {"1", "16"})},
                                   {Value("y", DType::kFloat32, {"1", "16", "9"})});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->any_batch);
  EXPECT_EQ(found->length, 16);
}

TEST(DecoderSignature, SaysWhatIsMissing) {
  EXPECT_THAT(Message({Value("image", DType::kFloat32, {"n", "3"})}, {kLogits}),
              HasSubstr("no input of tokens"));
  EXPECT_THAT(Message({Value("tokens", DType::kInt64, {"8", "length"})}, {kLogits}),
              HasSubstr("a fixed batch of 8"));
  EXPECT_THAT(Message({kIds}, {}), HasSubstr("no output of scores"));
  EXPECT_THAT(Message({kIds}, {Value("logits", DType::kInt64, {"batch", "5"})}),
              HasSubstr("the scores 'logits' are int64[batch,5]"));
  EXPECT_THAT(
      Message({kIds, Value("encoder_states", DType::kFloat32, {"batch", "5", "8"})}, {kLogits}),
      HasSubstr("an input 'encoder_states' of float32[batch,5,8] that text generation"));
  const ValueInfo past = Value("past.0.key", DType::kFloat32, {"batch", "4", "past", "16"});
  EXPECT_THAT(Message({kIds, past}, {kLogits}),
              HasSubstr("a cache 'past.0.key', but no output gives its next value "
                        "('present.0.key')"));
  const ValueInfo present = Value("present.0.key", DType::kFloat32, {"batch", "4", "t", "16"});
  EXPECT_THAT(Message({kIds, Value("past.0.key", DType::kFloat32, {"batch", "4", "8", "16"})},
                      {kLogits, present}),
              HasSubstr("has no axis that grows"));
  EXPECT_THAT(Message({kIds, Value("past.0.key", DType::kFloat32, {"batch", "h", "past", "16"})},
                      {kLogits, present}),
              HasSubstr("which axis grows is not clear"));
}

}  // namespace
}  // namespace onward::generation

// Caches become ones that are written in place where that is certainly the same.
#include "generation/fixed_cache.h"

#include <gtest/gtest.h>

#include "graph/ir/verify.h"
#include "onward/models.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::generation {
namespace {

// One query after `past` keys; `mask` makes "mask" of the positions p and k.
Model OneQuery(const std::string& mask, const std::string& more = "") {
  auto model = testing::ModelFromText(
      "g (float[1,2,1,4] q, float[1,2,1,4] k, float[1,2,1,4] v, float[1,2,past,4] past_k, "
      "float[1,2,past,4] past_v) => (float[1,2,1,4] y, float[1,2,total,4] present_k, "
      "float[1,2,total,4] present_v) "
      "<int64 zero = {0}, int64 one = {1}, int64[1] none = {0}, int64[2] two = {0, 1}, "
      "int64[3] three = {0, 1, 2}, float nothing = {0}, float low = {-1e9}> { "
      "length = Shape <start = 2, end = 3> (past_k) p = Squeeze(length) limit = Add(p, one) "
      "r = Range(zero, limit, one) keys = Unsqueeze(r, three) at = Add(none, p) "
      "query = Unsqueeze(at, three) " +
      mask +
      " present_k = Concat <axis = -2> (past_k, k) present_v = Concat <axis = 2> (past_v, v) "
      "y = Attention(q, present_k, present_v, mask) " +
      more + " }");
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

bool Fixes(Model model) {
  const auto fixed = UseFixedCaches(model);
  EXPECT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
  EXPECT_EQ(*fixed, model.graph.FindValue(kPastLengthName).valid());
  EXPECT_EQ(*fixed, model.updates.size() == 2);
  return *fixed;
}

TEST(FixedCache, MasksThatLetAllPass) {
  EXPECT_TRUE(Fixes(OneQuery("mask = LessOrEqual(keys, query)")));
  EXPECT_TRUE(Fixes(OneQuery("mask = LessOrEqual(keys, p)")));
  EXPECT_TRUE(Fixes(OneQuery("c = LessOrEqual(keys, query) mask = Where(c, nothing, low)")));
}

TEST(FixedCache, OtherMasksStay) {
  EXPECT_FALSE(Fixes(OneQuery("mask = Less(keys, query)")));
  EXPECT_FALSE(Fixes(OneQuery("mask = LessOrEqual(query, keys)")));
  EXPECT_FALSE(Fixes(OneQuery("c = LessOrEqual(keys, query) mask = Where(c, low, nothing)")));
  EXPECT_FALSE(Fixes(OneQuery("before = Sub(p, one) mask = LessOrEqual(keys, before)")));
  EXPECT_FALSE(
      Fixes(OneQuery("far = Range(one, limit, one) f = Unsqueeze(far, three) "
                     "mask = LessOrEqual(f, query)")));
}

TEST(FixedCache, NotWhatIsReadElsewhere) {
  const std::string mask = "mask = LessOrEqual(keys, query)";
  EXPECT_FALSE(Fixes(OneQuery(mask, "z = ReduceSum(past_k)")));
  EXPECT_FALSE(Fixes(OneQuery(mask, "z = ReduceSum(present_v)")));
}

// The caches of a session's run are the tensors that its caller gave.
TEST(FixedCache, IsWrittenInPlace) {
  auto model = BuildModel("gpt", {{"vocabulary", 7},
                                  {"layers", 2},
                                  {"heads", 2},
                                  {"width", 8},
                                  {"context", 16},
                                  {"cache", 1}});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto fixed = UseFixedCaches(*model);
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  ASSERT_TRUE(*fixed);
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<Value> inputs, outputs((*session)->outputs().size());
  for (const ValueInfo& input : (*session)->inputs()) {
    if (input.name == "tokens") {
      inputs.push_back(Tensor::Of<int64_t>({1, 3}, {1, 2, 3}));
    } else if (input.name == kPastLengthName) {
      inputs.push_back(Tensor::Of<int64_t>({1}, {0}));
    } else {
      Tensor cache(DType::kFloat32, {1, 2, 10, 4});
      std::fill_n(cache.mutable_data<float>(), cache.num_elements(), -7.0f);
      inputs.push_back(cache);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const std::string present = "present" + input.name.substr(4);
        if ((*session)->outputs()[i].name == present) outputs[i] = inputs.back();
      }
    }
  }
  const std::vector<Value> given = outputs;
  const absl::Status run = (*session)->Run(inputs, absl::MakeSpan(outputs));
  ASSERT_TRUE(run.ok()) << run;
  int caches = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!given[i].has_value()) continue;
    ++caches;
    EXPECT_EQ(outputs[i].tensor().raw_data(), given[i].tensor().raw_data());
    const float* cache = outputs[i].tensor().data<float>();
    for (int64_t at = 0; at < 80; ++at) EXPECT_EQ(cache[at] != -7, at / 4 % 10 < 3) << at;
  }
  EXPECT_EQ(caches, 4);
}

}  // namespace
}  // namespace onward::generation

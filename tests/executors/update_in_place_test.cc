// A caller that gives its state as an input and as the output that updates it keeps one buffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onward/builder.h"
#include "onward/session.h"

namespace onward::executors {
namespace {

using ::testing::ElementsAre;

std::vector<float> Elements(const Tensor& tensor) {
  return {tensor.span<float>().begin(), tensor.span<float>().end()};
}

// state' = TensorScatter(state, x, at); y = sum of the state after, or, with `late`, of the state
// before, which is read when it would have been written over.
absl::StatusOr<std::unique_ptr<Session>> Cache(bool update, bool late = false) {
  GraphBuilder b("cache");
  const Expr state = b.Input("state", DType::kFloat32, {1, "capacity"});
  const Expr x = b.Input("x", DType::kFloat32, {1, "n"});
  const Expr at = b.Input("at", DType::kInt64, {1});
  const Expr next = expr::Op("TensorScatter", {state, x, at}, {{"axis", int64_t{1}}});
  const Expr kept = late ? state * ReduceMax(next) : next;
  if (update) {
    b.Update(state, "next", next);
  } else {
    b.Output("next", next);
  }
  b.Output("y", ReduceSum(kept, {}, false));
  auto model = b.Build();
  if (!model.ok()) return model.status();
  return Session::Create(*std::move(model));
}

struct Result {
  Tensor given, state;
  float y;
};

// One run that puts {5, 6} at 1 of {1, 2, 3, 4}.
Result RunOnce(Session& session) {
  const Tensor state = Tensor::Of<float>({1, 4}, {1, 2, 3, 4});
  std::vector<Value> inputs = {state, Tensor::Of<float>({1, 2}, {5, 6}),
                               Tensor::Of<int64_t>({1}, {1})};
  std::vector<Value> outputs(2);
  outputs[0] = inputs[0];
  const absl::Status status = session.Run(inputs, absl::MakeSpan(outputs));
  EXPECT_TRUE(status.ok()) << status;
  return {state, outputs[0].tensor(), *outputs[1].tensor().data<float>()};
}

TEST(UpdateInPlace, StateIsWrittenOver) {
  const auto session = Cache(true);
  ASSERT_TRUE(session.ok()) << session.status();
  for (int i = 0; i < 2; ++i) {
    const Result result = RunOnce(**session);
    EXPECT_EQ(result.state.raw_data(), result.given.raw_data());
    EXPECT_THAT(Elements(result.state), ElementsAre(1, 5, 6, 4));
    EXPECT_EQ(result.y, 16);
  }
}

TEST(UpdateInPlace, NotWhatIsReadLater) {
  const auto session = Cache(true, true);
  ASSERT_TRUE(session.ok()) << session.status();
  const Result result = RunOnce(**session);
  EXPECT_NE(result.state.raw_data(), result.given.raw_data());
  EXPECT_THAT(Elements(result.given), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Elements(result.state), ElementsAre(1, 5, 6, 4));
  EXPECT_EQ(result.y, 60);
}

TEST(UpdateInPlace, NotAnOutputThatUpdatesNothing) {
  const auto session = Cache(false);
  ASSERT_TRUE(session.ok()) << session.status();
  const Result result = RunOnce(**session);
  EXPECT_NE(result.state.raw_data(), result.given.raw_data());
  EXPECT_THAT(Elements(result.given), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace onward::executors

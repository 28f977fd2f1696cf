// Forward parts that are computed again: the same bits in less memory.
#include "training/rewrite/recompute.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/models.h"
#include "training/step/make_phases.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;

TrainConfig Config() {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(model: "" loss { cross_entropy { class_axis: -1 } } data {} steps: 1
         optimizer { sgd { lr: 0.1 } })",
      &config));
  return config;
}

struct Trained {
  int64_t planned = 0;
  std::map<std::string, Tensor> state;
};

// A GPT with Dropout after three steps.
absl::StatusOr<Trained> Train(const std::vector<std::string>& patterns, int segments) {
  const TrainConfig config = Config();
  auto built = BuildModel("gpt", {{"vocabulary", 11},
                                  {"layers", 4},
                                  {"width", 32},
                                  {"heads", 4},
                                  {"context", 24},
                                  {"dropout", 0.2}});
  if (!built.ok()) return built.status();
  TrainableModel model;
  model.model = *std::move(built);
  for (int i = 0; i < model.model.graph.num_values(); ++i) {
    if (model.model.graph.is_constant({i}))
      model.initializers.push_back(model.model.graph.value({i}).name);
  }
  const std::vector<Field> fields = {{"label", Type::Tensor(DType::kInt64, Dims{24})}};
  auto phases = MakeTrainingPhases(model, config, fields);
  if (!phases.ok()) return phases.status();
  SessionOptions options;
  options.seed = 5;
  options.num_threads = 2;
  std::vector<Pass> late;
  if (segments > 1 || !patterns.empty())
    late.push_back(RecomputePass(*phases->graphs[0].outputs.loss, patterns, segments));
  auto session = TrainingSession::Create(std::move(phases->graphs[0]), options, late);
  if (!session.ok()) return session.status();
  Tensor tokens(DType::kInt64, {6, 24}), labels(DType::kInt64, {6, 24});
  for (int64_t i = 0; i < tokens.num_elements(); ++i) {
    tokens.mutable_data<int64_t>()[i] = i * 7 % 11;
    labels.mutable_data<int64_t>()[i] = (i * 7 + 3) % 11;
  }
  const Session::Inputs batch = {{"tokens", tokens}, {"label", labels}};
  Trained trained;
  const auto planned = (*session)->PlannedBytes(batch);
  if (!planned.ok()) return planned.status();
  trained.planned = *planned;
  for (int step = 0; step < 3; ++step) {
    const auto outputs = (*session)->Step(batch);
    if (!outputs.ok()) return outputs.status();
  }
  for (const std::string& name : (*session)->state_names())
    trained.state[name] = *(*session)->State(name);
  return trained;
}

void ExpectSameBits(const Trained& a, const Trained& b) {
  ASSERT_EQ(a.state.size(), b.state.size());
  for (const auto& [name, tensor] : a.state) {
    const Tensor& other = b.state.at(name);
    EXPECT_EQ(
        std::memcmp(tensor.raw_data(), other.raw_data(), static_cast<size_t>(tensor.byte_size())),
        0)
        << name;
  }
}

TEST(Recompute, EvenSegmentsGiveTheSameBitsInLessMemory) {
  const auto whole = Train({}, 0);
  ASSERT_TRUE(whole.ok()) << whole.status();
  int64_t least = whole->planned;
  for (const int segments : {2, 4, 8}) {
    SCOPED_TRACE(segments);
    const auto again = Train({}, segments);
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectSameBits(*whole, *again);
    least = std::min(least, again->planned);
  }
  EXPECT_LT(least, whole->planned * 6 / 10);
}

TEST(Recompute, NamedSegments) {
  const auto whole = Train({}, 0);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto again = Train({"h.0.*", "h.1.*", "h.2.*"}, 0);
  ASSERT_TRUE(again.ok()) << again.status();
  ExpectSameBits(*whole, *again);
  EXPECT_LT(again->planned, whole->planned);
  const auto wrong = Train({"block*"}, 0);
  EXPECT_THAT(std::string(wrong.status().message()),
              HasSubstr("no node of the forward pass is named as 'block*'"));
}

}  // namespace
}  // namespace onward::training

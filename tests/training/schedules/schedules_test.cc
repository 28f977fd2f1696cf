// Schedules return what PyTorch's do (make_cases.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "training/schedules/plateau.h"
#include "training/schedules/schedule.h"

namespace onward::training {
namespace {

std::map<std::string, std::vector<double>> Expected() {
  std::map<std::string, std::vector<double>> expected;
  std::ifstream file(ONWARD_SOURCE_DIR "/tests/training/schedules/cases.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (double value; words >> value;) expected[name].push_back(value);
  }
  return expected;
}

void ExpectNear(double got, double want, const std::string& where) {
  EXPECT_NEAR(got, want, 1e-9 * std::max(1e-3, std::fabs(want))) << where;
}

TEST(Schedules, AnswerWhatPyTorchAnswers) {
  constexpr double kRate = 0.4;
  OneCycle cosine{.most = 0.5, .total = 25}, linear{.most = 0.5,
                                                    .total = 25,
                                                    .rising = 0.4,
                                                    .linear = true,
                                                    .three_phase = true,
                                                    .first_divisor = 10,
                                                    .last_divisor = 100,
                                                    .least_momentum = 0.8,
                                                    .most_momentum = 0.9};
  const std::map<std::string, Schedule> schedules = {
      {"constant", ConstantSchedule(kRate, 0.25, 5)},
      {"linear", LinearSchedule(kRate, 0.1, 0.8, 7)},
      {"step", StepSchedule(kRate, 4, 0.3)},
      {"multistep", MultiStepSchedule(kRate, {3, 9, 9, 15}, 0.5)},
      {"exponential", ExponentialSchedule(kRate, 0.9)},
      {"cosine", CosineSchedule(kRate, 10, 0.02)},
      {"restarts", CosineRestartsSchedule(kRate, 3, 2, 0.01)},
      {"restarts_equal", CosineRestartsSchedule(kRate, 5)},
      {"polynomial", PolynomialSchedule(kRate, 12, 2)},
      {"one_cycle", OneCycleSchedule(cosine)},
      {"one_cycle_linear", OneCycleSchedule(linear)},
      {"sequential",
       SequentialSchedule({LinearSchedule(kRate, 0.1, 1, 4), CosineSchedule(kRate, 10),
                           ExponentialSchedule(kRate, 0.5)},
                          {4, 14})},
      {"lambda", LambdaSchedule(kRate, [](int64_t step) { return 1.0 / (1.0 + step); })},
      {"chained",
       ProductSchedule(kRate, {ConstantSchedule(kRate, 0.1, 4), ExponentialSchedule(kRate, 0.9)})},
  };
  const auto expected = Expected();
  for (const auto& [name, schedule] : schedules) {
    const std::vector<double>& want = expected.at(name);
    ASSERT_EQ(want.size(), 24u);
    const auto momenta = expected.find(name + "_momentum");
    for (size_t step = 0; step < want.size(); ++step) {
      const ScheduleValue value = schedule(static_cast<int64_t>(step));
      const std::string where = name + " at step " + std::to_string(step);
      ExpectNear(value.rate, want[step], where);
      ASSERT_EQ(value.momentum.has_value(), momenta != expected.end());
      if (value.momentum) ExpectNear(*value.momentum, momenta->second[step], where + ", momentum");
    }
  }
}

TEST(Schedules, WarmUpStayAndDecay) {
  const Schedule linear = WarmupStableDecaySchedule({1.0, 4, 3, 5, 0.1, false});
  for (const auto& [step, want] : std::vector<std::pair<int64_t, double>>{
           {0, 0}, {1, 0.25}, {4, 1}, {6, 1}, {7, 1}, {8, 0.82}, {11, 0.28}, {12, 0.1}, {90, 0.1}})
    EXPECT_NEAR(linear(step).rate, want, 1e-12) << step;
  const Schedule root = WarmupStableDecaySchedule({1.0, 0, 0, 4, 0, true});
  EXPECT_NEAR(root(0).rate, 1, 1e-12);
  EXPECT_NEAR(root(1).rate, 0.5, 1e-12);
}

TEST(Schedules, ACosineMayStayAtItsEnd) {
  const Schedule schedule = CosineSchedule(1, 10, 0.02, true);
  EXPECT_NEAR(schedule(10).rate, 0.02, 1e-12);
  EXPECT_NEAR(schedule(15).rate, 0.02, 1e-12);
}

TEST(Schedules, APlateauLowersTheRateAsPyTorchDoes) {
  const double nan = std::nan("");
  const std::vector<double> metrics = {5,   4,   4.5, 4.2, 4.1, 4.0, 3.9999, 3.5,
                                       3.6, nan, 3.7, 3.8, 3.9, 3.4, 3.5,    3.5,
                                       3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5,    3.5};
  const std::map<std::string, PlateauOptions> cases = {
      {"plateau", {.factor = 0.5, .patience = 2}},
      {"plateau_absolute",
       {.maximize = true,
        .factor = 0.2,
        .patience = 1,
        .threshold = 0.3,
        .relative = false,
        .cooldown = 2,
        .least = 0.01}},
  };
  const auto expected = Expected();
  for (const auto& [name, options] : cases) {
    PlateauState state;
    state.rate = 0.4;
    for (size_t step = 0; step < metrics.size(); ++step) {
      ExpectNear(state.rate, expected.at(name)[step], name + " at step " + std::to_string(step));
      state = NextPlateau(options, state, metrics[step]);
    }
  }
}

}  // namespace
}  // namespace onward::training

// Every field of every kind of schedule has a part in it. (Their numbers are compared with
// PyTorch's in tests/training/schedules.)
#include "training/config/make_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "training/config/kinds.h"

namespace onward::training {
namespace {

ScheduleConfig Parsed(const std::string& text) {
  ScheduleConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// Rates and momenta of a training of 40 steps; of a plateau its state after a metric.
std::vector<double> Values(const ScheduleConfig& config) {
  std::vector<double> values;
  const Schedule schedule = MakeSchedule(config, 0.4, 40, 10);
  for (int64_t step = 0; step < 40; ++step) {
    values.push_back(schedule(step).rate);
    values.push_back(schedule(step).momentum.value_or(-1));
  }
  if (!config.has_plateau()) return values;
  PlateauState state;
  state.rate = 0.4;
  for (const double metric : {1.0, 0.7, 0.68, 0.69, 0.7, 0.71, 0.72, 0.73, 0.74, 0.75}) {
    state = NextPlateau(PlateauOf(config.plateau(), false), state, metric);
    values.push_back(state.rate);
  }
  return values;
}

struct Field {
  const char *kind, *base, *changed;
};
constexpr Field kFields[] = {
    {"constant", "total: 5", "factor: 0.5"},
    {"constant", "factor: 0.5", "total: 5"},
    {"cosine", "", "total: 20"},
    {"cosine", "", "least: 0.1"},
    {"cosine_restarts", "", "t_0: 7"},
    {"cosine_restarts", "t_0: 7", "t_mult: 2"},
    {"cosine_restarts", "t_0: 7", "least: 0.1"},
    {"exponential", "", "gamma: 0.9"},
    {"linear", "end_factor: 0", "start_factor: 0.5"},
    {"linear", "start_factor: 1", "end_factor: 0.5"},
    {"linear", "start_factor: 1 end_factor: 0", "total: 10"},
    {"multistep", "", "milestones: [3, 9]"},
    {"multistep", "milestones: [3, 9]", "gamma: 0.5"},
    {"one_cycle", "", "total: 30"},
    {"one_cycle", "", "pct_start: 0.5"},
    {"one_cycle", "", "anneal_strategy: LINEAR"},
    {"one_cycle", "", "div_factor: 10"},
    {"one_cycle", "", "final_div_factor: 10"},
    {"one_cycle", "", "three_phase: true"},
    {"one_cycle", "", "cycle_momentum: false"},
    {"one_cycle", "", "base_momentum: 0.5"},
    {"one_cycle", "", "max_momentum: 0.99"},
    {"plateau", "patience: 1", "factor: 0.5"},
    {"plateau", "", "patience: 1"},
    {"plateau", "patience: 1", "threshold: 0.1"},
    {"plateau", "patience: 1 threshold: 0.025", "threshold_mode: ABS"},
    {"plateau", "patience: 1", "cooldown: 2"},
    {"plateau", "patience: 1", "least: 0.3"},
    {"plateau", "patience: 1", "eps: 1"},
    {"polynomial", "", "total: 10"},
    {"polynomial", "", "power: 2"},
    {"sequential", "schedule { constant {} } schedule { cosine {} }", "milestones: 9"},
    {"sequential", "schedule { constant {} } milestones: 9",
     "schedule { exponential { gamma: 0.5 } }"},
    {"step", "", "step_size: 3"},
    {"step", "step_size: 3", "gamma: 0.5"},
    {"wsd", "decay: 10", "stable: 5"},
    {"wsd", "", "decay: 10"},
    {"wsd", "decay: 10", "least: 0.1"},
};

TEST(MakeSchedule, EveryFieldChangesTheRates) {
  std::set<std::string> covered;
  for (const Field& each : kFields) {
    SCOPED_TRACE(absl::StrCat(each.kind, " ", each.changed));
    const std::string changed = each.changed;
    covered.insert(absl::StrCat(each.kind, " ", changed.substr(0, changed.find_first_of(": "))));
    const ScheduleConfig with =
        Parsed(absl::StrCat(each.kind, " { ", each.base, " ", changed, " }"));
    // Without it the base may not be whole; no schedule then.
    ScheduleConfig without;
    google::protobuf::TextFormat::Parser parser;
    parser.AllowPartialMessage(true);
    ASSERT_TRUE(parser.ParseFromString(absl::StrCat(each.kind, " { ", each.base, " }"), &without));
    const bool whole =
        without.IsInitialized() &&
        without.sequential().schedule_size() ==
            (without.has_sequential() ? without.sequential().milestones_size() + 1 : 0);
    EXPECT_NE(Values(with), whole ? Values(without) : Values(Parsed("constant {}")));
    // A warm-up goes before every kind.
    ScheduleConfig warm = with;
    warm.set_warmup(4);
    EXPECT_NE(Values(warm), Values(with));
    EXPECT_EQ(Values(warm)[0], 0);
    warm.set_warmup_start(0.5);
    EXPECT_EQ(Values(warm)[0], 0.2);
  }
  for (const auto* kind : KindsOf(*ScheduleConfig::descriptor())) {
    for (int i = 0; i < kind->message_type()->field_count(); ++i) {
      const std::string& field = kind->message_type()->field(i)->name();
      EXPECT_TRUE(covered.contains(absl::StrCat(kind->name(), " ", field)))
          << kind->name() << "." << field;
    }
  }
}

TEST(MakeSchedule, TheDefaultTotalIsWhatTheWarmUpLeaves) {
  const Schedule cosine = MakeSchedule(Parsed("cosine { least: 0.1 } warmup: 10"), 0.4, 40, 10);
  EXPECT_DOUBLE_EQ(cosine(10).rate, 0.4);
  EXPECT_DOUBLE_EQ(cosine(25).rate, 0.25);
  EXPECT_DOUBLE_EQ(cosine(40).rate, 0.1);
  const Schedule wsd = MakeSchedule(Parsed("wsd { decay: 10 }"), 0.4, 40, 10);
  EXPECT_DOUBLE_EQ(wsd(30).rate, 0.4);
  EXPECT_DOUBLE_EQ(wsd(35).rate, 0.2);
}

// Three steps an epoch: the rates of PyTorch's loop that calls scheduler.step() after each epoch.
TEST(MakeSchedule, CountsEpochs) {
  const Schedule step = MakeSchedule(Parsed("step { step_size: 2 } unit: EPOCHS"), 1, 15, 3);
  const double by_epoch[] = {1, 1, 0.1, 0.1, 0.01};
  for (int64_t i = 0; i < 15; ++i) EXPECT_DOUBLE_EQ(step(i).rate, by_epoch[i / 3]) << i;
  // Five epochs are the total: CosineAnnealingLR(T_max=5).
  const Schedule cosine = MakeSchedule(Parsed("cosine {} unit: EPOCHS"), 1, 15, 3);
  for (int64_t i = 0; i < 15; ++i) {
    const double at = static_cast<double>(i / 3) / 5;
    EXPECT_NEAR(cosine(i).rate, (1 + std::cos(std::acos(-1.0) * at)) / 2, 1e-15) << i;
  }
  // LinearLR(start_factor=0.5, total_iters=2), then what the sequence says.
  const Schedule warm = MakeSchedule(
      Parsed("sequential { schedule { constant {} } schedule { exponential { gamma: 0.5 } } "
             "milestones: 1 } warmup: 2 warmup_start: 0.5 unit: EPOCHS"),
      1, 15, 3);
  const double warmed[] = {0.5, 0.75, 1, 1, 0.5};
  for (int64_t i = 0; i < 15; ++i) EXPECT_DOUBLE_EQ(warm(i).rate, warmed[i / 3]) << i;
  EXPECT_EQ(WarmupSteps(Parsed("cosine {} warmup: 2 unit: EPOCHS"), 3), 6);
  EXPECT_EQ(WarmupSteps(Parsed("cosine {} warmup: 2"), 3), 2);
}

}  // namespace
}  // namespace onward::training

#include "training/config/check_parts.h"
#include "training/config/checks.h"
#include "training/config/kinds.h"

namespace onward::training {
namespace {

template <typename Milestones>
void CheckMilestones(const Milestones& milestones, Checks& check) {
  int64_t last = 0;
  for (const int64_t milestone : milestones) {
    if (milestone < last) check.Fail("milestones", "must not fall, and begin with 0 or more");
    last = milestone;
  }
}

template <typename Kind>
void CheckTotal(const Kind& kind, Checks& check) {
  if (kind.has_total()) check.Count("total", kind.total(), 1);
}

void CheckConstant(const ScheduleConfig::Constant& constant, Checks& check) {
  CheckTotal(constant, check);
  if (constant.has_factor()) check.Range("factor", constant.factor(), 0);
  if (constant.has_factor() && !constant.has_total())
    check.Fail("factor", "does nothing: `total` says for how many steps it holds");
  if (constant.has_total() && !constant.has_factor())
    check.Fail("total", "does nothing: there is no `factor` for those steps");
}

void CheckOneCycle(const ScheduleConfig::OneCycle& cycle, Checks& check) {
  CheckTotal(cycle, check);
  check.Range("pct_start", cycle.pct_start(), 0, 1);
  check.Positive("div_factor", cycle.div_factor());
  check.Positive("final_div_factor", cycle.final_div_factor());
  check.Range("base_momentum", cycle.base_momentum(), 0, 1);
  check.Range("max_momentum", cycle.max_momentum(), 0, 1);
  for (const auto& [field, given] : {std::pair{"base_momentum", cycle.has_base_momentum()},
                                     {"max_momentum", cycle.has_max_momentum()}}) {
    if (given && !cycle.cycle_momentum())
      check.Fail(field, "does nothing: `cycle_momentum: false` leaves the momentum as it is");
  }
}

void CheckPlateau(const ScheduleConfig::Plateau& plateau, Checks& check) {
  check.Range("factor", plateau.factor(), 0);
  check.Count("patience", plateau.patience(), 0);
  check.Range("threshold", plateau.threshold(), 0);
  check.Count("cooldown", plateau.cooldown(), 0);
  check.Range("least", plateau.least(), 0);
  check.Range("eps", plateau.eps(), 0);
}

void CheckSequential(const ScheduleConfig::Sequential& sequential, const std::string& prefix,
                     ConfigProblem& problem) {
  Checks check(prefix, problem);
  CheckMilestones(sequential.milestones(), check);
  if (sequential.schedule_size() != sequential.milestones_size() + 1) {
    check.Fail("schedule",
               absl::StrCat("needs one more schedule than milestones, got ",
                            sequential.schedule_size(), " and ", sequential.milestones_size()));
  }
  for (int i = 0; i < sequential.schedule_size(); ++i) {
    const std::string part = absl::StrCat("schedule[", i, "]");
    if (sequential.schedule(i).has_plateau())
      check.Fail(part,
                 "is a plateau, which waits for evaluations and does not depend on the step alone");
    if (sequential.schedule(i).has_unit())
      check.Fail(part, "has a `unit` of its own: the whole sequence counts in the outer one");
    CheckSchedule(sequential.schedule(i), absl::StrCat(prefix, part, "."), problem);
  }
}

void CheckWarmup(const ScheduleConfig& schedule, Checks check) {
  check.Count("warmup", schedule.warmup(), 0);
  check.Range("warmup_start", schedule.warmup_start(), 0, 1);
  if (schedule.has_warmup_start() && schedule.warmup() == 0) {
    check.Fail("warmup_start",
               "does nothing without `warmup`: it is the share of lr that a warm-up starts with");
  }
  if (schedule.unit() == ScheduleConfig::EPOCHS && schedule.warmup() > 0 &&
      schedule.warmup_start() == 0) {
    check.Fail("warmup_start",
               "must be above 0 where `unit: EPOCHS`: the whole first epoch has it");
  }
}

}  // namespace

void CheckSchedule(const ScheduleConfig& schedule, const std::string& prefix,
                   ConfigProblem& problem) {
  CheckWarmup(schedule, Checks(prefix, problem));
  const std::string path = absl::StrCat(prefix, KindName(schedule), ".");
  Checks check(path, problem);
  switch (schedule.kind_case()) {
    case ScheduleConfig::kConstant:
      return CheckConstant(schedule.constant(), check);
    case ScheduleConfig::kCosine:
      CheckTotal(schedule.cosine(), check);
      return check.Range("least", schedule.cosine().least(), 0);
    case ScheduleConfig::kCosineRestarts:
      check.Count("t_0", schedule.cosine_restarts().t_0(), 1);
      check.Count("t_mult", schedule.cosine_restarts().t_mult(), 1);
      return check.Range("least", schedule.cosine_restarts().least(), 0);
    case ScheduleConfig::kExponential:
      return check.Range("gamma", schedule.exponential().gamma(), 0);
    case ScheduleConfig::kLinear:
      check.Range("start_factor", schedule.linear().start_factor(), 0);
      check.Range("end_factor", schedule.linear().end_factor(), 0);
      return CheckTotal(schedule.linear(), check);
    case ScheduleConfig::kMultistep:
      if (schedule.multistep().milestones().empty())
        check.Fail("milestones", "is missing: multistep changes the rate at those steps");
      CheckMilestones(schedule.multistep().milestones(), check);
      return check.Range("gamma", schedule.multistep().gamma(), 0);
    case ScheduleConfig::kOneCycle:
      return CheckOneCycle(schedule.one_cycle(), check);
    case ScheduleConfig::kPlateau:
      return CheckPlateau(schedule.plateau(), check);
    case ScheduleConfig::kPolynomial:
      check.Range("power", schedule.polynomial().power(), 0);
      return CheckTotal(schedule.polynomial(), check);
    case ScheduleConfig::kSequential:
      return CheckSequential(schedule.sequential(), path, problem);
    case ScheduleConfig::kStep:
      check.Count("step_size", schedule.step().step_size(), 1);
      return check.Range("gamma", schedule.step().gamma(), 0);
    case ScheduleConfig::kWsd:
      check.Count("stable", schedule.wsd().stable(), 0);
      check.Count("decay", schedule.wsd().decay(), 0);
      return check.Range("least", schedule.wsd().least(), 0);
    case ScheduleConfig::KIND_NOT_SET:
      break;
  }
  if (problem.field.empty()) {
    problem = {prefix.substr(0, prefix.size() - 1),
               absl::StrCat("must name a kind, one of ", KindNames(*ScheduleConfig::descriptor()),
                            ", as in schedule { cosine {} }")};
  }
}

}  // namespace onward::training

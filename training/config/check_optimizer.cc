#include "training/config/check_parts.h"
#include "training/config/checks.h"
#include "training/config/kinds.h"
#include "training/config/make_optimizer.h"

namespace onward::training {
namespace {

void CheckKind(const OptimizerSettings& optimizer, const OptimizerOptions& options,
               const std::string& path, ConfigProblem& problem) {
  const OptimizerEntry* entry = FindOptimizer(OptimizerName(optimizer));
  if (entry == nullptr) return;
  const OptionProblem found = CheckOptions(*entry, options);
  if (!found.option.empty())
    Checks(absl::StrCat(path, KindName(optimizer), "."), problem).Fail(found.option, found.reason);
}

void CheckGroup(const OptimizerSettings& optimizer, int index, ConfigProblem& problem) {
  const ParameterGroupConfig& group = optimizer.group(index);
  const std::string path = absl::StrCat("optimizer.group[", index, "].");
  Checks check(path, problem);
  const std::string kind = KindName(optimizer);
  if (KindOf(group) != nullptr && KindName(group) != kind) {
    check.Fail(KindName(group), absl::StrCat("is not the optimizer, which is ", kind,
                                             ": a group names what differs from it, as in ", kind,
                                             " { lr: 0.001 }"));
    return;
  }
  OptimizerOptions options = GroupOptions(group);
  const OptimizerOptions common = MakeOptimizer(optimizer).options;
  options.insert(common.begin(), common.end());
  CheckKind(optimizer, options, path, problem);
  if (group.has_schedule()) CheckSchedule(group.schedule(), path + "schedule.", problem);
}

void CheckLbfgs(const OptimizerSettings::LBFGS& lbfgs, Checks& check) {
  check.Range("lr", lbfgs.lr(), 0);
  check.Count("max_iter", lbfgs.max_iter(), 1);
  if (lbfgs.has_max_eval()) check.Count("max_eval", lbfgs.max_eval(), 1);
  check.Range("tolerance_grad", lbfgs.tolerance_grad(), 0);
  check.Range("tolerance_change", lbfgs.tolerance_change(), 0);
  check.Count("history_size", lbfgs.history_size(), 1);
}

}  // namespace

void CheckOptimizer(const OptimizerSettings& optimizer, ConfigProblem& problem) {
  Checks check("", problem);
  if (KindOf(optimizer) == nullptr) {
    check.Fail("optimizer", absl::StrCat("must name a kind, one of ",
                                         KindNames(*OptimizerSettings::descriptor()),
                                         ", as in optimizer { adamw { lr: 0.001 } }"));
    return;
  }
  if (optimizer.has_lbfgs()) {
    Checks lbfgs("optimizer.lbfgs.", problem);
    CheckLbfgs(optimizer.lbfgs(), lbfgs);
    if (optimizer.group_size() > 0)
      check.Fail("optimizer.group",
                 "must be left out with LBFGS, which has one group of all parameters");
    return;
  }
  CheckKind(optimizer, MakeOptimizer(optimizer).options, "optimizer.", problem);
  for (int i = 0; i < optimizer.group_size(); ++i) CheckGroup(optimizer, i, problem);
}

}  // namespace onward::training

#include "training/config/check_parts.h"
#include "training/config/checks.h"
#include "training/config/kinds.h"
#include "training/config/make_loss.h"

namespace onward::training {

void CheckLoss(const LossConfig& loss, const std::string& prefix, ConfigProblem& problem) {
  if (KindOf(loss) == nullptr) {
    Checks("", problem)
        .Fail(prefix.substr(0, prefix.size() - 1),
              absl::StrCat("must name a kind, one of ", KindNames(*LossConfig::descriptor()),
                           ", as in loss { cross_entropy {} }"));
    return;
  }
  Checks(prefix, problem).Finite("factor", loss.factor());
  Checks check(absl::StrCat(prefix, KindName(loss), "."), problem);
  const int64_t axis = ClassAxis(loss);
  if (axis != 1 && axis != -1)
    check.Fail("class_axis", absl::StrCat("must be 1 or -1, got ", axis));
  check.Range("label_smoothing", loss.cross_entropy().label_smoothing(), 0, 1);
  check.Count("blank", loss.ctc().blank(), 0);
  check.Positive("delta", loss.huber().delta());
  check.Range("beta", loss.smooth_l1().beta(), 0);
  check.Range("p", static_cast<double>(loss.multi_margin().p()), 1, 2);
  check.Finite("margin", loss.multi_margin().margin());
  check.Finite("margin", loss.hinge_embedding().margin());
  check.Range("eps", loss.poisson_nll().eps(), 0);
  if (loss.poisson_nll().has_eps() && loss.poisson_nll().log_input())
    check.Fail(
        "eps",
        "does nothing: it is added only to outputs that are not logarithms (log_input: false)");
}

}  // namespace onward::training

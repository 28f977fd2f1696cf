#include "training/optimizers/strong_wolfe.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onward/status.h"

namespace onward::training {
namespace {

// Where the cubic through both points and their slopes is least, within the bounds.
double CubicMinimum(const LinePoint& a, const LinePoint& b, double least, double most) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (least + most) / 2;
  const double d2 = std::sqrt(square);
  const LinePoint& left = a.t <= b.t ? a : b;
  const LinePoint& right = a.t <= b.t ? b : a;
  const double at = right.t - (right.t - left.t) *
                                  ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::min(std::max(at, least), most);
}

class Search {
 public:
  Search(const LineFunction& at, const LinePoint& start, const WolfeOptions& options)
      : at_(at), start_(start), options_(options) {}

  absl::StatusOr<LinePoint> Run(double t) {
    ONWARD_RETURN_IF_ERROR(FindBracket(t));
    if (!done_) {
      low_ = first_.loss <= second_.loss ? &first_ : &second_;
      high_ = low_ == &first_ ? &second_ : &first_;
      ONWARD_RETURN_IF_ERROR(Narrow());
    }
    return std::move(*low_);
  }

 private:
  bool Decreases(const LinePoint& p) const {
    return !(p.loss > start_.loss + options_.sufficient_decrease * p.t * start_.slope);
  }
  bool IsFlat(const LinePoint& p) const {
    return std::fabs(p.slope) <= -options_.curvature * start_.slope;
  }

  // Either `done_` with the point in first_, or a bracket of first_ and second_.
  absl::Status FindBracket(double t) {
    LinePoint before = start_;
    ONWARD_ASSIGN_OR_RETURN(LinePoint now, at_(t));
    for (; tries_ < options_.max_evaluations; ++tries_) {
      if (!Decreases(now) || (tries_ > 1 && now.loss >= before.loss)) break;
      if (IsFlat(now)) {
        done_ = true;
        first_ = std::move(now);
        return absl::OkStatus();
      }
      if (now.slope >= 0) break;
      const double next = CubicMinimum(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10);
      before = std::move(now);
      ONWARD_ASSIGN_OR_RETURN(now, at_(next));
    }
    first_ = tries_ == options_.max_evaluations ? start_ : std::move(before);
    second_ = std::move(now);
    return absl::OkStatus();
  }

  // A point within the bracket, away from its ends when two in a row were close to one.
  double Trial() {
    const auto [least, most] = std::minmax(first_.t, second_.t);
    const double t = CubicMinimum(first_, second_, least, most);
    const double margin = 0.1 * (most - least);
    if (!(std::min(most - t, t - least) < margin)) {
      close_ = false;
      return t;
    }
    if (!close_ && t < most && t > least) {
      close_ = true;
      return t;
    }
    close_ = false;
    return std::fabs(t - most) < std::fabs(t - least) ? most - margin : least + margin;
  }

  absl::Status Narrow() {
    while (tries_ < options_.max_evaluations &&
           !(std::fabs(second_.t - first_.t) * options_.longest < options_.tolerance_change)) {
      ONWARD_ASSIGN_OR_RETURN(LinePoint now, at_(Trial()));
      ++tries_;
      if (!Decreases(now) || now.loss >= low_->loss) {
        *high_ = std::move(now);
        low_ = first_.loss <= second_.loss ? &first_ : &second_;
        high_ = low_ == &first_ ? &second_ : &first_;
        continue;
      }
      const bool flat = IsFlat(now);
      if (!flat && now.slope * (high_->t - low_->t) >= 0) *high_ = std::move(*low_);
      *low_ = std::move(now);
      if (flat) break;
    }
    return absl::OkStatus();
  }

  const LineFunction& at_;
  const LinePoint& start_;
  const WolfeOptions& options_;
  LinePoint first_, second_;
  LinePoint *low_ = &first_, *high_ = &second_;
  int64_t tries_ = 0;
  bool done_ = false, close_ = false;
};

}  // namespace

absl::StatusOr<LinePoint> StrongWolfe(const LineFunction& at, const LinePoint& start, double t,
                                      const WolfeOptions& options) {
  return Search(at, start, options).Run(t);
}

}  // namespace onward::training

// The class that the checks of a configuration's parts share.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "training/config/config_problem.h"

namespace onward::training {

// Fields of the message whose path is `prefix` ("schedule.", "" for the outermost), by their names;
// keeps the first problem.
class Checks {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  Checks(std::string prefix, ConfigProblem& problem)
      : prefix_(std::move(prefix)), problem_(problem) {}

  // Both bounds are included.
  void Range(const char* field, double value, double least, double most = kInfinity) {
    if (value >= least && value <= most) return;
    Fail(field, most == kInfinity
                    ? absl::StrCat("must be at least ", least, ", got ", value)
                    : absl::StrCat("must be in [", least, ", ", most, "], got ", value));
  }
  void Count(const char* field, int64_t value, int64_t least) {
    Range(field, static_cast<double>(value), static_cast<double>(least));
  }
  void Positive(const char* field, double value) {
    if (!(value > 0 && value < kInfinity))
      Fail(field, absl::StrCat("must be above 0, got ", value));
  }
  void Finite(const char* field, double value) {
    if (!std::isfinite(value)) Fail(field, absl::StrCat("must be finite, got ", value));
  }
  void Fail(const std::string& field, std::string reason) {
    if (problem_.field.empty()) problem_ = {absl::StrCat(prefix_, field), std::move(reason)};
  }

 private:
  std::string prefix_;
  ConfigProblem& problem_;
};

}  // namespace onward::training

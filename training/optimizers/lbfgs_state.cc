// The options of L-BFGS by name, and what it keeps between steps as tensors.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/optimizers/lbfgs.h"

namespace onward {
namespace {

using Vector = std::vector<double>;

constexpr char kNumbers[] = "numbers", kDirection[] = "direction", kGradient[] = "gradient",
               kPairs[] = "pairs";

Tensor Row(const Vector& values) {
  Tensor row(DType::kFloat64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), row.mutable_data<double>());
  return row;
}

absl::StatusOr<Vector> RowOf(const Lbfgs::Tensors& state, const std::string& name) {
  const auto it = state.find(name);
  if (it == state.end() || it->second.dtype() != DType::kFloat64)
    return absl::InvalidArgumentError(absl::StrCat("LBFGS: the state has no doubles '", name, "'"));
  const auto values = it->second.span<double>();
  return Vector(values.begin(), values.end());
}

}  // namespace

absl::StatusOr<Lbfgs::Options> Lbfgs::OptionsOf(const std::map<std::string, double>& values) {
  Options options;
  const auto refuse = [](std::string_view name, const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("LBFGS: ", std::string(name), " is ", what));
  };
  for (const auto& [name, value] : values) {
    const bool whole = value == std::floor(value) && std::fabs(value) < 1e9;
    const auto count = whole ? static_cast<int64_t>(value) : 0;
    if (name == "lr") {
      if (!(value >= 0)) return refuse(name, "at least 0");
      options.lr = value;
    } else if (name == "max_iter" || name == "history_size" || name == "max_eval") {
      if (count < 1) return refuse(name, "a whole number from 1 on");
      (name == "max_iter"   ? options.max_iterations
       : name == "max_eval" ? options.max_evaluations
                            : options.history) = count;
    } else if (name == "tolerance_grad" || name == "tolerance_change") {
      if (!(value >= 0)) return refuse(name, "at least 0");
      (name == "tolerance_grad" ? options.tolerance_gradient : options.tolerance_change) = value;
    } else if (name == "strong_wolfe") {
      if (value != 0 && value != 1) return refuse(name, "0 or 1");
      options.line_search = value == 1 ? LineSearch::kStrongWolfe : LineSearch::kNone;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "LBFGS has no option '", name,
          "'; it has history_size, lr, max_eval, max_iter, strong_wolfe, tolerance_change, "
          "tolerance_grad"));
    }
  }
  return options;
}

Lbfgs::Tensors Lbfgs::State() const {
  if (iterations_ == 0) return {};
  Vector pairs;
  for (const Pair& pair : pairs_) {
    pairs.insert(pairs.end(), pair.gradient.begin(), pair.gradient.end());
    pairs.insert(pairs.end(), pair.position.begin(), pair.position.end());
    pairs.push_back(pair.curvature);
  }
  Tensors state = {{kNumbers, Row({scale_, t_, static_cast<double>(iterations_),
                                   static_cast<double>(evaluations_)})},
                   {kDirection, Row(direction_)},
                   {kGradient, Row(last_gradient_)}};
  if (!pairs.empty()) state.emplace(kPairs, Row(pairs));
  return state;
}

absl::Status Lbfgs::SetState(const Tensors& state) {
  Restart();
  if (state.empty()) return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(const Vector numbers, RowOf(state, kNumbers));
  ONWARD_ASSIGN_OR_RETURN(const Vector direction, RowOf(state, kDirection));
  ONWARD_ASSIGN_OR_RETURN(const Vector gradient, RowOf(state, kGradient));
  Vector pairs;
  if (state.contains(kPairs)) {
    ONWARD_ASSIGN_OR_RETURN(pairs, RowOf(state, kPairs));
  }
  const size_t size = direction.size(), row = 2 * size + 1;
  if (numbers.size() != 4 || gradient.size() != size || pairs.size() % row != 0)
    return absl::InvalidArgumentError("LBFGS: the tensors of the state do not fit each other");
  for (auto at = pairs.begin(); at != pairs.end(); at += static_cast<std::ptrdiff_t>(row)) {
    const auto middle = at + static_cast<std::ptrdiff_t>(size);
    const auto end = middle + static_cast<std::ptrdiff_t>(size);
    pairs_.push_back({Vector(at, middle), Vector(middle, end), *end});
  }
  direction_ = direction;
  last_gradient_ = gradient;
  scale_ = numbers[0];
  t_ = numbers[1];
  iterations_ = static_cast<int64_t>(numbers[2]);
  evaluations_ = static_cast<int64_t>(numbers[3]);
  return absl::OkStatus();
}

void Lbfgs::Restart() {
  pairs_.clear();
  scale_ = 1;
  iterations_ = 0;
}

}  // namespace onward

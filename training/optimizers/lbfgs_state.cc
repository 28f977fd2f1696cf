// The options of L-BFGS by name, and what it keeps between steps as tensors.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/optimizers/lbfgs.h"

namespace onward::training {
namespace {

constexpr char kNumbers[] = "numbers", kDirection[] = "direction", kGradient[] = "gradient",
               kPairs[] = "pairs";

template <typename Values>
Tensor Row(const Values& values) {
  Tensor row(DType::kFloat64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), row.mutable_data<double>());
  return row;
}

absl::StatusOr<absl::Span<const double>> RowOf(const Lbfgs::Tensors& state,
                                               const std::string& name) {
  const auto it = state.find(name);
  if (it == state.end() || it->second.dtype() != DType::kFloat64)
    return absl::InvalidArgumentError(absl::StrCat("LBFGS: the state has no doubles '", name, "'"));
  return it->second.span<double>();
}

}  // namespace

Lbfgs::Tensors Lbfgs::State() const {
  if (iterations_ == 0) return {};
  const std::vector<double> numbers = {scale_, t_, static_cast<double>(iterations_),
                                       static_cast<double>(evaluations_)};
  Tensors state = {
      {kNumbers, Row(numbers)}, {kDirection, Row(direction_)}, {kGradient, Row(last_gradient_)}};
  if (pairs_.empty()) return state;
  const size_t row = 2 * direction_.size() + 1;
  Tensor pairs(DType::kFloat64, {static_cast<int64_t>(pairs_.size() * row)});
  double* to = pairs.mutable_data<double>();
  for (const auto& pair : pairs_) {
    to = std::copy(pair->gradient.begin(), pair->gradient.end(), to);
    to = std::copy(pair->position.begin(), pair->position.end(), to);
    *to++ = pair->curvature;
  }
  state.emplace(kPairs, std::move(pairs));
  return state;
}

absl::Status Lbfgs::SetState(const Tensors& state) {
  Restart();
  if (state.empty()) return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(const auto numbers, RowOf(state, kNumbers));
  ONWARD_ASSIGN_OR_RETURN(const auto direction, RowOf(state, kDirection));
  ONWARD_ASSIGN_OR_RETURN(const auto gradient, RowOf(state, kGradient));
  absl::Span<const double> pairs;
  if (state.contains(kPairs)) {
    ONWARD_ASSIGN_OR_RETURN(pairs, RowOf(state, kPairs));
  }
  const size_t size = direction.size(), row = 2 * size + 1;
  if (numbers.size() != 4 || gradient.size() != size || pairs.size() % row != 0)
    return absl::InvalidArgumentError("LBFGS: the tensors of the state do not fit each other");
  for (auto at = pairs.begin(); at != pairs.end(); at += static_cast<std::ptrdiff_t>(row)) {
    const auto middle = at + static_cast<std::ptrdiff_t>(size);
    const auto end = middle + static_cast<std::ptrdiff_t>(size);
    pairs_.push_back(
        std::make_shared<const Pair>(Pair{Vector(at, middle), Vector(middle, end), *end}));
  }
  direction_.assign(direction.begin(), direction.end());
  last_gradient_.assign(gradient.begin(), gradient.end());
  scale_ = numbers[0];
  t_ = numbers[1];
  iterations_ = static_cast<int64_t>(numbers[2]);
  evaluations_ = static_cast<int64_t>(numbers[3]);
  return absl::OkStatus();
}

Lbfgs::Memory Lbfgs::MemoryOf(const Options& options, int64_t elements, int64_t tensor_bytes,
                              int64_t steps, bool may_undo) {
  const int64_t row = elements * static_cast<int64_t>(sizeof(double));
  const auto pairs_after = [&](int64_t count) {
    const double iterations =
        static_cast<double>(count) * static_cast<double>(options.max_iterations);
    return static_cast<int64_t>(
        std::min(static_cast<double>(options.history), std::max(0.0, iterations - 1)));
  };
  const int64_t pairs = pairs_after(steps);
  Memory memory;
  memory.kept = (2 * pairs + 2) * row;  // the direction and the last gradient beside the pairs
  memory.exported = memory.kept;
  // The position and two gradients; or, while the direction is computed, the position, a gradient,
  // the new direction and, where the history is full, the pair that the oldest one makes way for.
  // A line search has the position that it looks at and the bracket beside two gradients.
  const bool searches = options.line_search == LineSearch::kStrongWolfe;
  const int64_t evaluating = (searches ? 6 : 3) * row + tensor_bytes;
  const int64_t remembering = (pairs == options.history ? 4 : 3) * row + tensor_bytes;
  memory.working = std::max(evaluating, remembering);
  if (!may_undo) return memory;
  // The copy shares the pairs but for those that the step drops.
  const int64_t during = pairs_after(steps - 1) + std::min(options.history, options.max_iterations);
  memory.working += 2 * row + tensor_bytes + 2 * std::max<int64_t>(0, during - pairs) * row;
  return memory;
}

void Lbfgs::Restart() {
  pairs_.clear();
  scale_ = 1;
  iterations_ = 0;
}

}  // namespace onward::training

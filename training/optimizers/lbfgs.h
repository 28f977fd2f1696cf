// L-BFGS: minimises a function of which loss and gradient are computed together, again and again at
// points of the optimizer's choice, so that it is not a rewrite of a graph. Names, defaults and
// numbers are PyTorch's torch.optim.LBFGS; the arithmetic is in double whatever the parameters are.
//
//   Lbfgs optimizer({.line_search = Lbfgs::LineSearch::kStrongWolfe});
//   ONWARD_ASSIGN_OR_RETURN(double loss, optimizer.Step(parameters, [&](const auto& at) { ... }));
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/tensor.h"
#include "training/optimizers/strong_wolfe.h"

namespace onward::training {

// Not thread-safe.
class Lbfgs {
 public:
  enum class LineSearch : uint8_t { kNone, kStrongWolfe };
  struct Options {
    double lr = 1;
    int64_t max_iterations = 20;   // of a step
    int64_t max_evaluations = -1;  // of a step; -1: 5/4 of the iterations
    double tolerance_gradient = 1e-7;
    double tolerance_change = 1e-9;
    int64_t history = 100;
    LineSearch line_search = LineSearch::kNone;
  };

  // Float tensors of any dtype, by name.
  using Tensors = std::map<std::string, Tensor>;
  struct Evaluation {
    double loss = 0;
    Tensors gradients;  // of every parameter
  };
  using Closure = std::function<absl::StatusOr<Evaluation>(const Tensors& parameters)>;

  explicit Lbfgs(const Options& options) : options_(options) {}

  // Moves `parameters` along up to max_iterations directions and returns the loss where they were.
  // What was learned of the curvature is kept for the next step. InvalidArgument: options out of
  // range, parameters that are not floats or not those of the step before, gradients that are
  // missing or of another shape; else the closure's errors. `parameters` stay when a step fails,
  // and the next one starts anew.
  absl::StatusOr<double> Step(Tensors& parameters, const Closure& closure);

  void set_lr(double lr) { options_.lr = lr; }
  // The state between steps, as tensors of double; SetState continues from it bit for bit.
  // InvalidArgument: a tensor is missing or does not fit the others.
  Tensors State() const;
  absl::Status SetState(const Tensors& state);
  // Forgets it.
  void Restart();

  // Bytes that `steps` steps of parameters of `elements` elements, of `tensor_bytes` as tensors,
  // take beside what the closure does.
  struct Memory {
    int64_t kept = 0;      // between steps, once the history is as long as it gets
    int64_t working = 0;   // during a step
    int64_t exported = 0;  // State()
  };
  static Memory MemoryOf(const Options& options, int64_t elements, int64_t tensor_bytes,
                         int64_t steps, bool may_undo);

  int64_t iterations() const { return iterations_; }  // since the start
  int64_t evaluations() const { return evaluations_; }

 private:
  using Vector = CountedRow;
  struct Pair {
    Vector gradient, position;  // differences of one iteration
    double curvature = 0;       // one over their product
  };
  struct Run;  // a step

  void Remember(const Vector& gradient);
  Vector Direction(const Vector& gradient) const;

  Options options_;
  std::vector<std::shared_ptr<const Pair>> pairs_;  // the oldest first; copies share them
  Vector direction_, last_gradient_;
  double scale_ = 1, t_ = 0;
  int64_t iterations_ = 0, evaluations_ = 0;
};

}  // namespace onward::training

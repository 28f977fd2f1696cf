#include "training/optimizers/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/dtype.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward::training {
namespace {

using Vector = CountedRow;

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void Add(Vector& x, const Vector& y, double factor) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}

double Largest(const Vector& x) {
  double largest = 0;
  for (const double each : x) largest = each == each ? std::max(largest, std::fabs(each)) : each;
  return largest;
}

double Magnitude(const Vector& x) {
  double sum = 0;
  for (const double each : x) sum += std::fabs(each);
  return sum;
}

// Elements of all tensors in a row, in the order of the names of `like`.
absl::StatusOr<Vector> InARow(const Lbfgs::Tensors& tensors, const Lbfgs::Tensors& like,
                              const char* what) {
  size_t elements = 0;
  for (const auto& [name, parameter] : like)
    elements += static_cast<size_t>(parameter.num_elements());
  Vector row;
  row.reserve(elements);
  for (const auto& [name, parameter] : like) {
    const auto found = tensors.find(name);
    if (found == tensors.end())
      return absl::InvalidArgumentError(absl::StrCat("LBFGS: '", name, "' has no ", what));
    const Tensor& tensor = found->second;
    if (tensor.dims() != parameter.dims())
      return absl::InvalidArgumentError(absl::StrCat("LBFGS: the ", what, " of '", name,
                                                     "' has the shape ", DimsString(tensor.dims()),
                                                     ", not ", DimsString(parameter.dims())));
    const bool floats = DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const T each : tensor.span<T>()) {
        if constexpr (std::is_same_v<T, double>)
          row.push_back(each);
        else
          row.push_back(static_cast<double>(static_cast<float>(each)));
      }
    });
    if (!floats)
      return absl::InvalidArgumentError(absl::StrCat("LBFGS: the ", what, " of '", name, "' is ",
                                                     std::string(DTypeName(tensor.dtype())),
                                                     ", not a float"));
  }
  return row;
}

Lbfgs::Tensors AsTensors(const Vector& row, const Lbfgs::Tensors& like) {
  Lbfgs::Tensors tensors;
  const double* from = row.data();
  for (const auto& [name, parameter] : like) {
    Tensor tensor(parameter.dtype(), parameter.dims());
    DispatchDType(FloatTypes(), parameter.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T& each :
           absl::MakeSpan(tensor.mutable_data<T>(), static_cast<size_t>(tensor.num_elements()))) {
        if constexpr (std::is_same_v<T, double>)
          each = *from++;
        else
          each = T(static_cast<float>(*from++));
      }
    });
    tensors.emplace(name, std::move(tensor));
  }
  return tensors;
}

absl::Status Check(const Lbfgs::Options& options) {
  const auto refuse = [](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("LBFGS: ", what));
  };
  if (!(options.lr >= 0)) return refuse("lr is at least 0");
  if (options.max_iterations < 1) return refuse("max_iterations is at least 1");
  if (options.history < 1) return refuse("history is at least 1");
  if (!(options.tolerance_gradient >= 0) || !(options.tolerance_change >= 0))
    return refuse("tolerances are at least 0");
  return absl::OkStatus();
}

}  // namespace

// Remembers the change of the gradient over the last move.
void Lbfgs::Remember(const Vector& gradient) {
  constexpr double kLeastProduct = 1e-10;
  Pair pair{gradient, direction_};
  Add(pair.gradient, last_gradient_, -1);
  for (double& each : pair.position) each *= t_;
  const double product = Dot(pair.gradient, pair.position);
  if (!(product > kLeastProduct)) return;
  pair.curvature = 1 / product;
  scale_ = product / Dot(pair.gradient, pair.gradient);
  if (static_cast<int64_t>(pairs_.size()) == options_.history) pairs_.erase(pairs_.begin());
  pairs_.push_back(std::make_shared<const Pair>(std::move(pair)));
}

// Minus the approximate inverse Hessian's product with the gradient: the two-loop recursion.
Lbfgs::Vector Lbfgs::Direction(const Vector& gradient) const {
  Vector d(gradient.size());
  Add(d, gradient, -1);
  std::vector<double> shares(pairs_.size());
  for (size_t i = pairs_.size(); i-- > 0;) {
    shares[i] = Dot(pairs_[i]->position, d) * pairs_[i]->curvature;
    Add(d, pairs_[i]->gradient, -shares[i]);
  }
  for (double& each : d) each *= scale_;
  for (size_t i = 0; i < pairs_.size(); ++i)
    Add(d, pairs_[i]->position, shares[i] - Dot(pairs_[i]->gradient, d) * pairs_[i]->curvature);
  return d;
}

struct Lbfgs::Run {
  Lbfgs& optimizer;
  const Tensors& like;
  const Closure& closure;
  Vector x;
  int64_t evaluations = 0;

  absl::StatusOr<LinePoint> Evaluate(const Vector& at) {
    ++evaluations;
    ++optimizer.evaluations_;
    ONWARD_ASSIGN_OR_RETURN(const Evaluation found, closure(AsTensors(at, like)));
    LinePoint point;
    point.loss = found.loss;
    ONWARD_ASSIGN_OR_RETURN(point.gradient, InARow(found.gradients, like, "gradient"));
    return point;
  }

  // Moves x and returns the loss and gradient there; without a line search the last move of a step
  // is not looked at.
  absl::StatusOr<LinePoint> Move(LinePoint from, bool last, int64_t most) {
    const Options& options = optimizer.options_;
    const Vector& d = optimizer.direction_;
    if (options.line_search == LineSearch::kNone) {
      Add(x, d, optimizer.t_);
      if (last) return from;
      return Evaluate(x);
    }
    WolfeOptions search;
    search.tolerance_change = options.tolerance_change;
    search.longest = Largest(d);
    search.max_evaluations = most - evaluations;
    const auto along = [&](double t) -> absl::StatusOr<LinePoint> {
      Vector at = x;
      Add(at, d, t);
      ONWARD_ASSIGN_OR_RETURN(LinePoint point, Evaluate(at));
      point.t = t;
      point.slope = Dot(point.gradient, d);
      return point;
    };
    ONWARD_ASSIGN_OR_RETURN(LinePoint to, StrongWolfe(along, from, optimizer.t_, search));
    optimizer.t_ = to.t;
    Add(x, d, to.t);
    return to;
  }

  absl::Status Go(LinePoint now) {
    const Options& options = optimizer.options_;
    const int64_t most =
        options.max_evaluations < 0 ? options.max_iterations * 5 / 4 : options.max_evaluations;
    for (int64_t i = 1; i <= options.max_iterations; ++i) {
      const bool first = ++optimizer.iterations_ == 1;
      if (!first) optimizer.Remember(now.gradient);
      optimizer.direction_ = optimizer.Direction(now.gradient);
      optimizer.last_gradient_ = now.gradient;
      optimizer.t_ = first ? std::min(1.0, 1 / Magnitude(now.gradient)) * options.lr : options.lr;
      now.t = 0;
      now.slope = Dot(now.gradient, optimizer.direction_);
      if (now.slope > -options.tolerance_change) break;
      const double loss = now.loss;
      ONWARD_ASSIGN_OR_RETURN(now, Move(std::move(now), i == options.max_iterations, most));
      if (evaluations >= most || Largest(now.gradient) <= options.tolerance_gradient ||
          Largest(optimizer.direction_) * std::fabs(optimizer.t_) <= options.tolerance_change ||
          std::fabs(now.loss - loss) < options.tolerance_change)
        break;
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<double> Lbfgs::Step(Tensors& parameters, const Closure& closure) {
  ONWARD_RETURN_IF_ERROR(Check(options_));
  Run run{*this, parameters, closure, {}};
  ONWARD_ASSIGN_OR_RETURN(run.x, InARow(parameters, parameters, "value"));
  if (iterations_ > 0 && run.x.size() != last_gradient_.size())
    return absl::InvalidArgumentError(absl::StrCat("LBFGS: the parameters have ", run.x.size(),
                                                   " elements; those of the step before had ",
                                                   last_gradient_.size()));
  absl::Status status;
  double loss = 0;
  if (auto start = run.Evaluate(run.x); !start.ok()) {
    status = start.status();
  } else {
    loss = start->loss;
    if (Largest(start->gradient) <= options_.tolerance_gradient) return loss;
    status = run.Go(*std::move(start));
  }
  if (!status.ok()) {
    Restart();
    return status;
  }
  parameters = AsTensors(run.x, parameters);
  return loss;
}

}  // namespace onward::training

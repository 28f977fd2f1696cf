#include "kernels/cpu/reference/svm_probability.h"

#include <algorithm>
#include <cmath>

namespace onward::kernels::cpu {
namespace {

// A square matrix.
struct Square {
  explicit Square(size_t n) : n(n), values(n * n, 0.0) {}
  double& operator()(size_t i, size_t j) { return values[i * n + j]; }
  size_t n;
  std::vector<double> values;
};

// Minimises p' Q p over the simplex, where Q couples the pairs' probabilities r.
void Couple(Square& r, absl::Span<double> p) {
  const size_t n = p.size();
  Square q(n);
  for (size_t t = 0; t < n; ++t) {
    p[t] = 1.0 / static_cast<double>(n);
    for (size_t j = 0; j < n; ++j) {
      if (j == t) continue;
      q(t, t) += r(j, t) * r(j, t);
      q(t, j) = -r(j, t) * r(t, j);
    }
  }
  std::vector<double> qp(n);
  const size_t rounds = std::max<size_t>(100, n);
  const double enough = 0.005 / static_cast<double>(n);
  for (size_t round = 0; round < rounds; ++round) {
    double pqp = 0, error = 0;
    for (size_t t = 0; t < n; ++t) {
      qp[t] = 0;
      for (size_t j = 0; j < n; ++j) qp[t] += q(t, j) * p[j];
      pqp += p[t] * qp[t];
    }
    for (size_t t = 0; t < n; ++t) error = std::max(error, std::fabs(qp[t] - pqp));
    if (error < enough) return;
    for (size_t t = 0; t < n; ++t) {
      const double step = (pqp - qp[t]) / q(t, t);
      const double scale = 1 / (1 + step);
      p[t] += step;
      pqp = (pqp + step * (step * q(t, t) + 2 * qp[t])) * scale * scale;
      for (size_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * q(t, j)) * scale;
        p[j] *= scale;
      }
    }
  }
}

}  // namespace

void ClassProbabilities(absl::Span<const double> scores, const std::vector<float>& a,
                        const std::vector<float>& b, absl::Span<double> probabilities) {
  const size_t n = probabilities.size();
  Square r(n);
  size_t pair = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j, ++pair) {
      const double at = scores[pair] * static_cast<double>(a[pair]) + static_cast<double>(b[pair]);
      r(i, j) = std::clamp(1 / (1 + std::exp(at)), 1e-7, 1 - 1e-7);
      r(j, i) = 1 - r(i, j);
    }
  }
  Couple(r, probabilities);
}

}  // namespace onward::kernels::cpu

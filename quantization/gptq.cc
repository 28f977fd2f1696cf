#include "quantization/gptq.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace onward::quantization {
namespace {

// A share of the mean of the diagonal: keeps it invertible where samples are fewer than rows.
constexpr double kDamping = 0.01;
// Rows whose losses are taken from the rows behind them at once.
constexpr int64_t kLazyRows = 128;

using Square = std::vector<double>;

// The upper triangular R with R R^T = the damped products; false where there is none.
bool UpperFactor(const InputProducts& products, Square& r) {
  const int64_t n = products.size;
  r.assign(products.sums.begin(), products.sums.end());
  const auto at = [&](int64_t i, int64_t j) -> double& {
    return r[static_cast<size_t>(i * n + j)];
  };
  double mean = 0;
  for (int64_t i = 0; i < n; ++i) mean += at(i, i) / static_cast<double>(n);
  if (!(mean > 0) || !std::isfinite(mean)) return false;
  // Elements off the diagonal are estimated from so many rows for so many unknowns.
  const double belief = static_cast<double>(products.rows) / static_cast<double>(products.rows + n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) at(i, j) *= i == j ? 1 : belief;
    at(i, i) += kDamping * mean;
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    if (!(at(k, k) > 0)) return false;
    // Column k is kept as row k, the symmetric one, so that inner loops go along rows.
    const double root = std::sqrt(at(k, k));
    double* row = &at(k, 0);
    for (int64_t i = 0; i < k; ++i) row[i] /= root;
    row[k] = root;
    for (int64_t i = 0; i < k; ++i) {
      double* other = &at(i, 0);
      const double factor = row[i];
      for (int64_t j = 0; j <= i; ++j) other[j] -= factor * row[j];
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) {
      at(i, j) = at(j, i);
      at(j, i) = 0;
    }
  }
  return true;
}

// The inverse of an upper triangular matrix, in its place.
void InvertUpper(Square& r, int64_t n) {
  std::vector<double> row(static_cast<size_t>(n));
  for (int64_t i = n - 1; i >= 0; --i) {
    double* own = &r[static_cast<size_t>(i * n)];
    std::fill(row.begin(), row.end(), 0.0);
    for (int64_t k = i + 1; k < n; ++k) {
      const double factor = own[k];
      const double* below = &r[static_cast<size_t>(k * n)];
      for (int64_t j = k; j < n; ++j) row[static_cast<size_t>(j)] += factor * below[j];
    }
    const double diagonal = 1 / own[i];
    own[i] = diagonal;
    for (int64_t j = i + 1; j < n; ++j) own[j] = -diagonal * row[static_cast<size_t>(j)];
  }
}

void Subtract(float factor, const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] -= factor * from[i];
}

}  // namespace

bool RoundCompensated(std::vector<float>& matrix, int64_t columns, int64_t block,
                      const InputProducts& products, const RoundRow& round) {
  const int64_t rows = products.size;
  Square inverse;
  if (!UpperFactor(products, inverse)) return false;
  InvertUpper(inverse, rows);
  const auto weight = [&](int64_t k, int64_t j) {
    return static_cast<float>(inverse[static_cast<size_t>(k * rows + j)] /
                              inverse[static_cast<size_t>(k * rows + k)]);
  };
  const int64_t lazy = std::max(block, kLazyRows / block * block);
  std::vector<float> losses(static_cast<size_t>(lazy * columns));
  std::vector<float> rounded(static_cast<size_t>(columns));
  for (int64_t first = 0; first < rows; first += lazy) {
    const int64_t end = std::min(rows, first + lazy);
    for (int64_t k = first; k < end; ++k) {
      float* row = &matrix[static_cast<size_t>(k * columns)];
      round(k, absl::MakeConstSpan(row, static_cast<size_t>((rows - k) * columns)),
            absl::MakeSpan(rounded));
      float* loss = &losses[static_cast<size_t>((k - first) * columns)];
      for (int64_t i = 0; i < columns; ++i) loss[i] = row[i] - rounded[static_cast<size_t>(i)];
      std::copy(rounded.begin(), rounded.end(), row);
      for (int64_t j = k + 1; j < end; ++j)
        Subtract(weight(k, j), loss, &matrix[static_cast<size_t>(j * columns)], columns);
    }
    for (int64_t j = end; j < rows; ++j) {
      for (int64_t k = first; k < end; ++k)
        Subtract(weight(k, j), &losses[static_cast<size_t>((k - first) * columns)],
                 &matrix[static_cast<size_t>(j * columns)], columns);
    }
  }
  return true;
}

}  // namespace onward::quantization

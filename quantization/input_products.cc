#include "quantization/input_products.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "onward/status.h"
#include "quantization/observe.h"
#include "quantization/products.h"

namespace onward::quantization {
namespace {

// The upper triangle alone.
void AddRows(const std::vector<float>& rows, InputProducts& products) {
  const int64_t n = products.size, count = static_cast<int64_t>(rows.size()) / n;
  products.rows += count;
  // A few rows at a time, so that they are read from the cache for every row of the sums.
  constexpr int64_t kRows = 16;
  for (int64_t first = 0; first < count; first += kRows) {
    const int64_t end = std::min(count, first + kRows);
    for (int64_t i = 0; i < n; ++i) {
      float* sums = &products.sums[static_cast<size_t>(i * n)];
      for (int64_t r = first; r < end; ++r) {
        const float* row = &rows[static_cast<size_t>(r * n)];
        const float factor = row[i];
        if (factor == 0) continue;
        for (int64_t j = i; j < n; ++j) sums[j] += factor * row[j];
      }
    }
  }
}

void Mirror(InputProducts& products) {
  const int64_t n = products.size;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j)
      products.sums[static_cast<size_t>(i * n + j)] = products.sums[static_cast<size_t>(j * n + i)];
  }
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

}  // namespace

absl::StatusOr<std::map<std::string, InputProducts>> ObserveInputProducts(
    const Model& model, const CalibrationSet& set, const std::map<std::string, int64_t>& values,
    const SessionOptions& session, int64_t most_bytes) {
  std::map<std::string, InputProducts> all;
  for (auto next = values.begin(); next != values.end();) {
    std::map<std::string, InputProducts, std::less<>> now;
    int64_t bytes = 0;
    for (; next != values.end(); ++next) {
      const int64_t size = next->second;
      bytes += size * size * static_cast<int64_t>(sizeof(float));
      if (bytes > most_bytes && !now.empty()) break;
      now[next->first] = {size, 0, std::vector<float>(static_cast<size_t>(size * size))};
    }
    ONWARD_RETURN_IF_ERROR(
        ObserveSamples(model, set, session, [&](std::string_view name, const TensorView& value) {
          const auto it = now.find(name);
          const bool fits = it != now.end() && IsFloat(value.dtype) && value.rank() > 0 &&
                            value.dim(value.rank() - 1) == it->second.size;
          if (fits) AddRows(ToFloats(CopyOf(value)), it->second);
          return absl::OkStatus();
        }));
    for (auto& [name, products] : now) {
      Mirror(products);
      all[name] = std::move(products);
    }
  }
  return all;
}

}  // namespace onward::quantization

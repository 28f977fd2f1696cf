#include "serving/protocol/classification.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"
#include "serving/protocol/decimal.h"

namespace onward::serving {
namespace {

// The indices of the `k` best of `count` scores.
template <typename T>
std::vector<int64_t> Order(const T* scores, int64_t count, int64_t k) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int64_t a, int64_t b) {
    const T first = scores[a], second = scores[b];
    if (!(first == first) || !(second == second))  // NaN
      return first == first || (!(second == second) && a < b);
    return first > second || (first == second && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), better);
  order.resize(static_cast<size_t>(k));
  return order;
}

}  // namespace

absl::StatusOr<Tensor> BestClasses(const Tensor& scores, uint64_t most,
                                   absl::Span<const std::string> labels) {
  const bool batched = scores.rank() > 1;
  const int64_t rows = batched ? scores.dims()[0] : 1;
  ONWARD_ASSIGN_OR_RETURN(const int64_t count,
                          CheckedNumElements(scores.dims().subspan(batched ? 1 : 0)));
  const auto k = static_cast<int64_t>(std::min(static_cast<uint64_t>(count), most));
  Dims dims;
  if (batched) dims.push_back(rows);
  dims.push_back(k);
  ONWARD_ASSIGN_OR_RETURN(Tensor best, Tensor::Create(DType::kString, dims));
  std::string* out = best.mutable_data<std::string>();
  const bool numbers = DispatchDType(NumericTypes(), scores.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = 0; row < rows; ++row) {
      const T* of_row = scores.data<T>() + row * count;
      for (const int64_t index : Order(of_row, count, k)) {
        AppendDecimal(of_row[index], *out);
        absl::StrAppend(out, ":", index);
        const auto at = static_cast<size_t>(index);
        if (at < labels.size()) absl::StrAppend(out, ":", labels[at]);
        ++out;
      }
    }
  });
  if (numbers) return best;
  return absl::InvalidArgumentError(
      absl::StrCat("classification needs scores that are numbers, "
                   "not ",
                   std::string(DatatypeName(scores.dtype()))));
}

}  // namespace onward::serving

#include "training/data/places.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bad_element.h"

namespace onward::training {
namespace {

bool IsNumber(const Tensor& tensor, int64_t position, double number) {
  bool equal = false;
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    equal = static_cast<double>(tensor.data<T>()[position]) == number;
  });
  if (!IsInteger(tensor.dtype())) return equal;
  return static_cast<double>(ToInt64(tensor.view())[static_cast<size_t>(position)]) == number;
}

bool Holds(const Tensor& tensor, const BadElement& bad) {
  if (tensor.rank() == 0 || tensor.num_elements() != bad.count || bad.position < 0 ||
      bad.position >= bad.count || IsSubByte(tensor.dtype()))
    return false;
  if (bad.number) return IsNumber(tensor, bad.position, *bad.number);
  if (!IsInteger(tensor.dtype())) return false;
  return ToInt64(tensor.view())[static_cast<size_t>(bad.position)] == bad.value;
}

}  // namespace

absl::Status NamePlace(const absl::Status& status, const Batch& batch, const BatchPlaces& places) {
  const std::optional<BadElement> bad = BadElementOf(status);
  if (!bad) return status;
  const auto field = std::find_if(batch.begin(), batch.end(),
                                  [&](const auto& each) { return Holds(each.second, *bad); });
  const auto rows = static_cast<int64_t>(places.rows.size());
  const bool is_field = field != batch.end() && field->second.dims()[0] == rows;
  // A number that the model computed is of the example of its row.
  const bool is_computed = bad->number && rows > 0 && bad->count % rows == 0;
  if (!is_field && !is_computed) return status;
  const int64_t row = bad->position / (bad->count / rows);
  if (row < 0 || row >= rows) return status;
  const BatchPlaces::Row& example = places.rows[static_cast<size_t>(row)];
  const std::string what =
      is_field ? absl::StrCat("it is '", field->first, "' of ") : "it is computed for ";
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; ", what,
                                   places.data->Place(example.index, example.random)));
}

std::string NonFinitePlace(const Batch& batch, const BatchPlaces& places) {
  const auto rows = static_cast<int64_t>(places.rows.size());
  for (const auto& named : batch) {
    const std::string& field = named.first;
    const Tensor& tensor = named.second;
    int64_t at = -1;
    double found = 0;
    DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* elements = tensor.template data<T>();
      for (int64_t i = 0; i < tensor.num_elements() && at < 0; ++i) {
        const auto element = static_cast<double>(elements[i]);
        if (std::isfinite(element) || element == -std::numeric_limits<double>::infinity()) continue;
        at = i;
        found = element;
      }
    });
    if (at < 0) continue;
    std::string place;
    int64_t count = tensor.num_elements();
    if (tensor.rank() > 0 && tensor.dims()[0] == rows && rows > 0) {
      count /= rows;
      const BatchPlaces::Row& example = places.rows[static_cast<size_t>(at / count)];
      place = absl::StrCat(" of ", places.data->Place(example.index, example.random));
      at %= count;
    }
    return absl::StrCat("'", field, "'", place, " is ", found,
                        count == 1 ? "" : absl::StrCat(", at element ", at, " of ", count));
  }
  return "";
}

}  // namespace onward::training

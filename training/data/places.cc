// The place in the data of what an operation refused.
#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bad_element.h"
#include "training/data/loader.h"

namespace onward {
namespace {

bool Holds(const Tensor& tensor, const BadElement& bad) {
  if (!IsInteger(tensor.dtype()) || IsSubByte(tensor.dtype()) || tensor.rank() == 0 ||
      tensor.num_elements() != bad.count || bad.position < 0 || bad.position >= bad.count)
    return false;
  return ToInt64(tensor.view())[static_cast<size_t>(bad.position)] == bad.value;
}

}  // namespace

absl::Status NamePlace(const absl::Status& status, const Batch& batch, const BatchPlaces& places) {
  const std::optional<BadElement> bad = BadElementOf(status);
  if (!bad) return status;
  const auto field = std::find_if(batch.begin(), batch.end(),
                                  [&](const auto& each) { return Holds(each.second, *bad); });
  const auto rows = static_cast<int64_t>(places.rows.size());
  if (field == batch.end() || field->second.dims()[0] != rows) return status;
  const int64_t row = bad->position / (bad->count / rows);
  const BatchPlaces::Row& example = places.rows[static_cast<size_t>(row)];
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; it is '", field->first, "' of ",
                                   places.data->Place(example.index, example.random)));
}

}  // namespace onward

#include "serving/protocol/tensor_type.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "serving/protocol/datatype.h"
#include "serving/protocol/json_members.h"

namespace onward::serving {

absl::StatusOr<DType> DTypeNamed(std::string_view name, const std::string& where) {
  if (const std::optional<DType> dtype = DTypeOfDatatype(name)) return *dtype;
  return Wrong(where,
               absl::StrCat("'", std::string(name), "' is not one of BOOL, UINT8, UINT16, UINT32, ",
                            "UINT64, INT8, INT16, INT32, INT64, FP16, BF16, FP32, FP64, BYTES"));
}

absl::Status ShapeReader::Add(int64_t dim) {
  if (dim < 0)
    return Wrong(where_,
                 absl::StrCat("dim ", dims_.size(), " is not a whole number of at least 0"));
  if (dims_.size() == kMostDims) return Wrong(where_, "has more than 64 dims");
  dims_.push_back(dim);
  const auto product = CheckedMul(count_, dim);
  // An element takes a byte at least.
  if (!product || *product > static_cast<int64_t>(room_))
    return Wrong(where_, "asks for more elements than the body has room for");
  count_ = *product;
  return absl::OkStatus();
}

}  // namespace onward::serving

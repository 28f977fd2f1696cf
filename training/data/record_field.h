// The elements of a field, from the text of a CSV file or from JSON.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "onward/data_config.pb.h"
#include "onward/tensor.h"
#include "onward/type.h"

namespace onward::training {

// Immutable, so thread-safe. Errors say what the value is and what it should be.
class RecordElements {
 public:
  // InvalidArgument: names a class twice, a deviation that is not positive.
  static absl::StatusOr<RecordElements> Make(const RecordField& field);

  DType dtype() const { return dtype_; }
  // Makes element `index` of `tensor`.
  absl::Status FromText(std::string_view text, int64_t index, Tensor& tensor) const;
  absl::Status FromJson(const nlohmann::json& value, int64_t index, Tensor& tensor) const;

 private:
  absl::Status SetNumber(double value, int64_t index, Tensor& tensor) const;
  absl::Status SetInteger(int64_t value, int64_t index, Tensor& tensor) const;
  absl::Status SetClass(std::string_view text, int64_t index, Tensor& tensor) const;
  absl::Status SetMissing(int64_t index, Tensor& tensor) const;
  bool is_float() const { return dtype_ == DType::kFloat32 || dtype_ == DType::kFloat64; }

  DType dtype_ = DType::kUndefined;
  std::map<std::string, int64_t, std::less<>> classes_;
  std::optional<double> missing_;
  double mean_ = 0, deviation_ = 1;
};

// Dims of the field as configured: symbolic where they differ from record to record.
SymbolicDims RecordDims(const RecordField& field);

// 1, 2, ...: the line of `bytes` that `offset` is in.
int64_t LineOf(std::string_view bytes, size_t offset);

}  // namespace onward::training

#include "training/data/padded_dims.h"

#include <algorithm>
#include <utility>

#include "onward/status.h"

namespace onward::training {
namespace {

absl::StatusOr<std::vector<Tensor>> ReadFields(const Dataset& data, absl::Span<const size_t> fields,
                                               int64_t index) {
  std::vector<Tensor> read;
  if (fields.size() == 1) {
    ONWARD_ASSIGN_OR_RETURN(Tensor only, data.ReadField(index, fields[0]));
    read.push_back(std::move(only));
    return read;
  }
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Tensor> example, data.Read(index, /*random=*/0));
  for (const size_t field : fields) read.push_back(example[field]);
  return read;
}

}  // namespace

absl::StatusOr<std::vector<Dims>> DimsOfFields(const Dataset& data, absl::Span<const size_t> fields,
                                               int64_t index) {
  std::vector<Dims> dims;
  if (fields.empty()) return dims;
  const absl::StatusOr<std::vector<Tensor>> read = ReadFields(data, fields, index);
  if (absl::IsDataLoss(read.status())) return dims;
  if (!read.ok()) return read.status();
  for (const Tensor& tensor : *read) dims.emplace_back(tensor.dims().begin(), tensor.dims().end());
  return dims;
}

absl::StatusOr<std::vector<int64_t>> LengthsOfExamples(const Dataset& data,
                                                       const std::map<std::string, double>& pad) {
  if (pad.empty())
    return absl::InvalidArgumentError(
        "group_by_length: no field of the data is padded, so that all examples have one length");
  std::vector<size_t> fields;
  for (const auto& [name, value] : pad) {
    ONWARD_ASSIGN_OR_RETURN(const size_t field, FindField(data, name));
    fields.push_back(field);
  }
  std::vector<int64_t> lengths;
  lengths.reserve(static_cast<size_t>(data.size()));
  for (int64_t i = 0; i < data.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Dims> all, DimsOfFields(data, fields, i));
    int64_t longest = 0;
    for (const Dims& dims : all)
      if (!dims.empty()) longest = std::max(longest, dims[0]);
    lengths.push_back(longest);
  }
  return lengths;
}

}  // namespace onward::training

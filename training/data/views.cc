// Data sets made of others.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onward/dataset.h"
#include "onward/status.h"
#include "training/data/order.h"

namespace onward {
namespace {

class Tensors : public Dataset {
 public:
  Tensors(std::vector<std::pair<std::string, Tensor>> fields, std::string path)
      : path_(std::move(path)) {
    for (auto& [name, tensor] : fields) {
      fields_.push_back({name, Type::Tensor(tensor.dtype(), tensor.dims().subspan(1))});
      tensors_.push_back(std::move(tensor));
    }
  }

  int64_t size() const override { return tensors_[0].dims()[0]; }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t) const override {
    std::vector<Tensor> example;
    for (size_t i = 0; i < tensors_.size(); ++i) example.push_back(Row(tensors_[i], index));
    return example;
  }
  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    return Row(tensors_[field], index);
  }
  std::string Place(int64_t index, uint64_t random) const override {
    return path_.empty() ? Dataset::Place(index, random)
                         : absl::StrCat("row ", index, " of '", path_, "'");
  }

 private:
  // A view: the row shares the tensor's memory.
  static Tensor Row(const Tensor& tensor, int64_t index) {
    const DimsView dims = tensor.dims().subspan(1);
    const int64_t offset = index * ByteSize(tensor.dtype(), NumElements(dims));
    return Tensor::Wrap(tensor.dtype(), dims, static_cast<char*>(tensor.view().data) + offset,
                        tensor.buffer());
  }

  std::string path_;
  std::vector<Field> fields_;
  std::vector<Tensor> tensors_;
};

class Concatenated : public Dataset {
 public:
  explicit Concatenated(std::vector<std::shared_ptr<const Dataset>> parts)
      : parts_(std::move(parts)) {
    for (const auto& part : parts_) ends_.push_back(size() + part->size());
  }

  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  const std::vector<Field>& fields() const override { return parts_[0]->fields(); }
  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const override {
    const auto [part, inside] = Find(index);
    return part->Read(inside, random);
  }
  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    const auto [part, inside] = Find(index);
    return part->ReadField(inside, field);
  }
  std::string Place(int64_t index, uint64_t random) const override {
    const auto [part, inside] = Find(index);
    return part->Place(inside, random);
  }

 private:
  std::pair<const Dataset*, int64_t> Find(int64_t index) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    const Dataset* part = parts_[static_cast<size_t>(end - ends_.begin())].get();
    return {part, index - (*end - part->size())};
  }

  std::vector<std::shared_ptr<const Dataset>> parts_;
  std::vector<int64_t> ends_;
};

class Selected : public Dataset {
 public:
  Selected(std::shared_ptr<const Dataset> data, std::vector<int64_t> indices)
      : data_(std::move(data)), indices_(std::move(indices)) {}

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  const std::vector<Field>& fields() const override { return data_->fields(); }
  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const override {
    return data_->Read(indices_[static_cast<size_t>(index)], random);
  }
  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    return data_->ReadField(indices_[static_cast<size_t>(index)], field);
  }
  std::string Place(int64_t index, uint64_t random) const override {
    return data_->Place(indices_[static_cast<size_t>(index)], random);
  }

 private:
  std::shared_ptr<const Dataset> data_;
  std::vector<int64_t> indices_;
};

class Mapped : public Dataset {
 public:
  using Function = std::function<absl::StatusOr<Example>(Example, uint64_t)>;
  Mapped(std::shared_ptr<const Dataset> data, std::vector<Field> fields, Function map)
      : data_(std::move(data)), fields_(std::move(fields)), map_(std::move(map)) {}

  int64_t size() const override { return data_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const override {
    ONWARD_ASSIGN_OR_RETURN(Example example, data_->Read(index, random));
    ONWARD_ASSIGN_OR_RETURN(example, map_(std::move(example), random));
    if (example.size() == fields_.size()) return example;
    return absl::InternalError(absl::StrCat("the map of the data gave ", example.size(),
                                            " tensors for ", fields_.size(), " fields"));
  }
  std::string Place(int64_t index, uint64_t random) const override {
    return data_->Place(index, random);
  }

 private:
  std::shared_ptr<const Dataset> data_;
  std::vector<Field> fields_;
  Function map_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> TensorDataset(
    std::vector<std::pair<std::string, Tensor>> fields, std::string path) {
  if (fields.empty()) return absl::InvalidArgumentError("a data set needs a field");
  for (const auto& [name, tensor] : fields) {
    if (tensor.rank() == 0)
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is a scalar, without rows"));
    if (IsSubByte(tensor.dtype()) &&
        NumElements(tensor.dims(), 1, tensor.rank()) * BitSize(tensor.dtype()) % 8 != 0)
      return absl::InvalidArgumentError(absl::StrCat("the rows of '", name, "' end within bytes"));
    const int64_t rows = tensor.dims()[0], expected = fields[0].second.dims()[0];
    if (rows == expected) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' has ", rows, " rows, '", fields[0].first, "' has ", expected));
  }
  return std::make_shared<Tensors>(std::move(fields), std::move(path));
}

namespace {

// "'x' float32[3], 'y' int64[]".
std::string Listed(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields)
    absl::StrAppend(&text, text.empty() ? "'" : ", '", field.name, "' ", field.type.ToString());
  return text;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> Concatenate(
    std::vector<std::shared_ptr<const Dataset>> parts) {
  if (parts.empty()) return absl::InvalidArgumentError("nothing to concatenate");
  const auto same = [](const Field& a, const Field& b) {
    return a.name == b.name && a.type == b.type;
  };
  for (size_t i = 1; i < parts.size(); ++i) {
    if (std::equal(parts[0]->fields().begin(), parts[0]->fields().end(), parts[i]->fields().begin(),
                   parts[i]->fields().end(), same))
      continue;
    return absl::InvalidArgumentError(absl::StrCat("file ", i + 1, " has the fields ",
                                                   Listed(parts[i]->fields()), "; file 1 has ",
                                                   Listed(parts[0]->fields())));
  }
  return std::make_shared<Concatenated>(std::move(parts));
}

absl::StatusOr<std::shared_ptr<const Dataset>> Subset(std::shared_ptr<const Dataset> data,
                                                      std::vector<int64_t> indices) {
  for (const int64_t index : indices) {
    if (index >= 0 && index < data->size()) continue;
    return absl::OutOfRangeError(
        absl::StrCat("example ", index, " of a data set of ", data->size()));
  }
  return std::make_shared<Selected>(std::move(data), std::move(indices));
}

absl::StatusOr<std::vector<std::shared_ptr<const Dataset>>> RandomSplit(
    const std::shared_ptr<const Dataset>& data, const std::vector<int64_t>& sizes, uint64_t seed) {
  const std::vector<int64_t> order =
      training::ShuffledOrder(data->size(), seed, training::kSplitEpoch);
  std::vector<std::shared_ptr<const Dataset>> parts;
  size_t begin = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || static_cast<size_t>(size) > order.size() - begin) {
      return absl::InvalidArgumentError(
          absl::StrCat("a part of ", size, " examples where ", order.size() - begin, " are left"));
    }
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    ONWARD_ASSIGN_OR_RETURN(parts.emplace_back(),
                            Subset(data, std::vector<int64_t>(first, first + size)));
    begin += static_cast<size_t>(size);
  }
  return parts;
}

std::shared_ptr<const Dataset> Map(
    std::shared_ptr<const Dataset> data, std::vector<Field> fields,
    std::function<absl::StatusOr<Example>(Example example, uint64_t random)> map) {
  return std::make_shared<Mapped>(std::move(data), std::move(fields), std::move(map));
}

absl::StatusOr<std::shared_ptr<const Dataset>> Filter(
    std::shared_ptr<const Dataset> data, const std::function<bool(const Example&)>& keep) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < data->size(); ++i) {
    const absl::StatusOr<Example> example = data->Read(i, 0);
    if (!example.ok() && !absl::IsDataLoss(example.status())) return example.status();
    if (!example.ok() || keep(*example)) kept.push_back(i);
  }
  return Subset(std::move(data), std::move(kept));
}

}  // namespace onward

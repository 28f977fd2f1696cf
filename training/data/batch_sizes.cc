#include "training/data/batch_sizes.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "onward/status.h"
#include "training/data/padded_dims.h"

namespace onward::training {
namespace {

constexpr size_t kMostRead = 50000;
constexpr int64_t kMostExamples = 4'000'000;
// The most examples in `largest`: those with the most elements.
constexpr size_t kMostLargest = 8;

// The number of examples, then the dims of the padded fields, one field after the other.
using Sizes = Dims;

void Lengthen(const Sizes& sizes, Sizes& longest) {
  for (size_t i = 0; i < longest.size(); ++i) longest[i] = std::max(longest[i], sizes[i]);
}

bool Covers(const Sizes& a, const Sizes& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] < b[i]) return false;
  return true;
}

// Reads the dims of padded fields, of each example once.
class Lengths {
 public:
  Lengths(const Dataset& data, std::vector<size_t> fields, std::vector<size_t> ranks)
      : data_(data), fields_(std::move(fields)), ranks_(std::move(ranks)) {}

  // With a 0 for the number of examples; null: the example is broken.
  absl::StatusOr<const Sizes*> Of(int64_t index) {
    const auto [it, is_new] = known_.try_emplace(index);
    if (is_new) {
      ONWARD_ASSIGN_OR_RETURN(it->second, Read(index));
    }
    return it->second.empty() ? nullptr : &it->second;
  }
  size_t read() const { return known_.size(); }

 private:
  absl::StatusOr<Sizes> Read(int64_t index) const {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Dims> all, DimsOfFields(data_, fields_, index));
    if (all.empty()) return Sizes();
    Sizes sizes = {0};
    for (size_t f = 0; f < fields_.size(); ++f) {
      // Examples of other ranks are an error of the batch that has them.
      for (size_t axis = 0; axis < ranks_[f]; ++axis)
        sizes.push_back(axis < all[f].size() ? all[f][axis] : 0);
    }
    return sizes;
  }

  const Dataset& data_;
  const std::vector<size_t> fields_, ranks_;
  std::unordered_map<int64_t, Sizes> known_;
};

class Simulation {
 public:
  Simulation(const Dataset& data, const LoaderOptions& options, const Batch& first,
             std::vector<std::string> padded, Lengths lengths)
      : data_(data),
        options_(options),
        first_(first),
        padded_(std::move(padded)),
        lengths_(std::move(lengths)) {}

  absl::StatusOr<BatchSizes> Run(int64_t count, int64_t ahead) {
    const int64_t examples = ExamplesPerEpoch(data_.size(), options_);
    const int64_t per_epoch = BatchesPerEpoch(data_.size(), options_);
    // Epochs in the order of the data are alike; what meets where one ends shows in the next.
    const bool in_order = padded_.empty() || (!options_.shuffle && options_.weights.empty());
    if (in_order) count = std::min(count, per_epoch);
    if (in_order) ahead += per_epoch;
    std::vector<int64_t> order;
    int64_t looked_at = 0;
    bool whole = true;
    for (int64_t i = 0; i < count + ahead && whole; ++i) {
      const Loader::Position position{i / per_epoch, i % per_epoch};
      if (position.batch == 0 && !in_order)
        order = EpochOrder(data_.size(), options_, position.epoch);
      const int64_t begin = position.batch * options_.batch_size;
      const int64_t end = std::min(begin + options_.batch_size, examples);
      if (padded_.empty()) {
        AddSlices({end - begin}, position, i < count);
        continue;
      }
      Sizes batch;
      for (int64_t k = begin; k < end; ++k) {
        ONWARD_ASSIGN_OR_RETURN(const Sizes* sizes,
                                lengths_.Of(order.empty() ? k : order[static_cast<size_t>(k)]));
        if (sizes == nullptr) continue;
        if (batch.empty()) batch.resize(sizes->size(), 0);
        Lengthen(*sizes, batch);
        ++batch[0];
      }
      if (!batch.empty()) AddSlices(batch, position, i < count);
      looked_at += end - begin;
      whole = lengths_.read() <= kMostRead && looked_at <= kMostExamples;
    }
    if (seen_.empty()) AddFirst();
    if (!whole) ONWARD_RETURN_IF_ERROR(AddLongest());
    return Found();
  }

 private:
  // The slices that ranks have of a batch: one of them has the larger one in any case, so that all
  // ranks plan alike.
  void AddSlices(Sizes batch, const Loader::Position& position, bool is_used) {
    const int64_t smaller = std::max<int64_t>(1, batch[0] / options_.ranks);
    batch[0] = (batch[0] + options_.ranks - 1) / options_.ranks;
    Add(batch, position, is_used);
    if (!is_used || smaller == batch[0]) return;
    batch[0] = smaller;
    seen_.try_emplace(batch, SizedBatch{Sized(batch), std::nullopt});
  }

  void Add(const Sizes& sizes, std::optional<Loader::Position> position, bool is_used = true) {
    const auto known = seen_.find(sizes);
    const Batch batch = known == seen_.end() ? Sized(sizes) : known->second.batch;
    found_.bytes.push_back(BytesOf(batch));
    if (is_used) seen_.try_emplace(sizes, SizedBatch{batch, position});
  }

  // Where all that was looked at is broken.
  void AddFirst() {
    Sizes sizes = {first_.begin()->second.dims()[0]};
    for (const std::string& name : padded_) {
      const DimsView dims = first_.at(name).dims().subspan(1);
      sizes.insert(sizes.end(), dims.begin(), dims.end());
    }
    Add(sizes, std::nullopt);
  }

  absl::Status AddLongest() {
    Sizes longest = seen_.begin()->first;
    const int64_t every = 1 + (data_.size() - 1) / static_cast<int64_t>(kMostRead);
    for (int64_t i = 0; i < data_.size(); i += every) {
      ONWARD_ASSIGN_OR_RETURN(const Sizes* sizes, lengths_.Of(i));
      if (sizes != nullptr) Lengthen(*sizes, longest);
    }
    for (const auto& [sizes, batch] : seen_) Lengthen(sizes, longest);
    Add(longest, std::nullopt);
    return absl::OkStatus();
  }

  Batch Sized(const Sizes& sizes) const {
    Batch batch;
    for (const auto& [name, tensor] : first_) {
      Dims dims(tensor.dims().begin(), tensor.dims().end());
      dims[0] = sizes[0];
      size_t at = 1;
      for (const std::string& padded : padded_) {
        const size_t rank = first_.at(padded).dims().size() - 1;
        for (size_t axis = 0; padded == name && axis < rank; ++axis)
          dims[axis + 1] = sizes[at + axis];
        at += rank;
      }
      batch[name] = Tensor::Wrap(tensor.dtype(), dims, nullptr, nullptr);
    }
    return batch;
  }

  static int64_t BytesOf(const Batch& batch) {
    int64_t bytes = 0;
    for (const auto& [name, tensor] : batch) bytes += tensor.byte_size();
    return bytes;
  }

  BatchSizes Found() {
    found_.kinds = static_cast<int64_t>(seen_.size());
    std::vector<const std::pair<const Sizes, SizedBatch>*> by_bytes, largest;
    for (const auto& each : seen_) by_bytes.push_back(&each);
    std::stable_sort(by_bytes.begin(), by_bytes.end(), [](const auto* a, const auto* b) {
      return BytesOf(a->second.batch) > BytesOf(b->second.batch);
    });
    for (const auto* each : by_bytes) {
      const bool covered = std::any_of(largest.begin(), largest.end(), [&](const auto* other) {
        return Covers(other->first, each->first);
      });
      if (!covered && largest.size() < kMostLargest)
        largest.push_back(each);
      else
        found_.other = each->second;
    }
    for (const auto* each : largest) found_.largest.push_back(each->second);
    return std::move(found_);
  }

  const Dataset& data_;
  const LoaderOptions& options_;
  const Batch& first_;
  const std::vector<std::string> padded_;
  Lengths lengths_;
  std::map<Sizes, SizedBatch> seen_;
  BatchSizes found_;
};

}  // namespace

int64_t BatchSizes::LargestBytesInARow(int64_t count) const {
  int64_t sum = 0, most = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += bytes[i];
    if (i >= static_cast<size_t>(count)) sum -= bytes[i - static_cast<size_t>(count)];
    most = std::max(most, sum);
  }
  return most;
}

absl::StatusOr<BatchSizes> SizesOfBatches(const Dataset& data, const LoaderOptions& options,
                                          const Batch& first, int64_t count, int64_t ahead) {
  std::vector<std::string> padded;
  std::vector<size_t> fields, ranks;
  for (const auto& [name, value] : options.pad) {
    const auto it = first.find(name);
    if (it == first.end()) continue;
    ONWARD_ASSIGN_OR_RETURN(const size_t field, FindField(data, name));
    padded.push_back(name);
    fields.push_back(field);
    ranks.push_back(it->second.dims().size() - 1);
  }
  Simulation simulation(data, options, first, padded, Lengths(data, fields, ranks));
  return simulation.Run(count, ahead);
}

}  // namespace onward::training

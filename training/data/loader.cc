#include "training/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/memory_limit.h"
#include "onward/status.h"
#include "training/data/collate.h"
#include "training/data/order.h"
#include "training/data/padded_dims.h"

namespace onward::training {
namespace {

using Order = std::shared_ptr<const std::vector<int64_t>>;

struct MadeBatch {
  absl::StatusOr<Batch> batch = Batch();  // empty: every example is broken
  std::vector<BatchPlaces::Row> rows;
  BatchSlice slice;
  int64_t broken = 0;
};

// The rows that are read for a slice: one where it has none.
int64_t RowsRead(const BatchSlice& slice) { return std::max<int64_t>(slice.rows, 1); }

// Makes any batch of any epoch, from any thread.
class BatchMaker {
 public:
  BatchMaker(std::shared_ptr<const Dataset> data, LoaderOptions options)
      : data_(std::move(data)), options_(std::move(options)) {}

  int64_t batches_per_epoch() const { return BatchesPerEpoch(data_->size(), options_); }
  const LoaderOptions& options() const { return options_; }

  MadeBatch Make(Loader::Position position) noexcept {
    MadeBatch made;
    try {
      absl::Status status = Fill(position, &made);
      if (!status.ok()) made.batch = std::move(status);
    } catch (const std::bad_alloc& error) {
      made.batch = absl::ResourceExhaustedError(absl::StrCat("reading data: ", error.what()));
    } catch (const std::exception& error) {
      made.batch = absl::InternalError(absl::StrCat("reading data: ", error.what()));
    }
    return made;
  }

 private:
  absl::Status Fill(Loader::Position position, MadeBatch* made) {
    const Order order = OrderOf(position.epoch);
    int64_t begin = position.batch * options_.batch_size;
    int64_t end = std::min(begin + options_.batch_size, ExamplesPerEpoch(data_->size(), options_));
    made->slice = SliceOf(options_.rank, options_.ranks, end - begin);
    if (!options_.reads_whole_batches()) {
      begin += made->slice.begin;
      end = begin + RowsRead(made->slice);
    }
    const std::vector<Field>& fields = data_->fields();
    std::vector<std::vector<Tensor>> columns(fields.size());
    for (int64_t i = begin; i < end; ++i) {
      // Drawn by the place in the epoch, not the example: one drawn twice is augmented in two ways.
      const uint64_t random = ExampleRandom(options_.seed, position.epoch, i);
      const int64_t index = order == nullptr ? i : (*order)[static_cast<size_t>(i)];
      absl::StatusOr<std::vector<Tensor>> example = data_->Read(index, random);
      if (!example.ok()) {
        if (!options_.skip_broken || !absl::IsDataLoss(example.status())) return example.status();
        ++made->broken;
        continue;
      }
      made->rows.push_back({index, random});
      for (size_t f = 0; f < fields.size(); ++f) columns[f].push_back(std::move((*example)[f]));
    }
    if (columns.empty() || columns[0].empty()) return absl::OkStatus();
    for (size_t f = 0; f < fields.size(); ++f) {
      const auto pad = options_.pad.find(fields[f].name);
      absl::StatusOr<Tensor> stacked =
          Stack(columns[f], pad == options_.pad.end() ? nullptr : &pad->second);
      if (!stacked.ok())
        return Annotate(stacked.status(), absl::StrCat("field '", fields[f].name, "'",
                                                       Places(columns[f], made->rows), ":"));
      (*made->batch)[fields[f].name] = *std::move(stacked);
    }
    if (options_.reads_whole_batches()) KeepSlice(made);
    return absl::OkStatus();
  }

  // Keeps this rank's rows of a batch that was read whole.
  void KeepSlice(MadeBatch* made) const {
    made->slice = SliceOf(options_.rank, options_.ranks, static_cast<int64_t>(made->rows.size()));
    if (options_.ranks == 1) return;
    const int64_t begin = made->slice.begin, rows = RowsRead(made->slice);
    for (auto& [name, tensor] : *made->batch) tensor = RowsOf(tensor, begin, rows);
    made->rows = {made->rows.begin() + begin, made->rows.begin() + begin + rows};
  }

  // " of A and B": the first two examples that differ in dims.
  std::string Places(const std::vector<Tensor>& column,
                     const std::vector<BatchPlaces::Row>& rows) const {
    for (size_t i = 1; i < column.size(); ++i) {
      if (column[i].dims() == column[0].dims()) continue;
      return absl::StrCat(" of ", data_->Place(rows[0].index, rows[0].random), " and ",
                          data_->Place(rows[i].index, rows[i].random));
    }
    return "";
  }

  // Null: the order of the data. Two epochs may be read at once.
  Order OrderOf(int64_t epoch) {
    if (options_.weights.empty() && !options_.shuffle) return nullptr;
    std::lock_guard lock(mutex_);
    for (const auto& [known, order] : orders_) {
      if (known == epoch) return order;
    }
    auto order =
        std::make_shared<const std::vector<int64_t>>(EpochOrder(data_->size(), options_, epoch));
    if (orders_.size() == 2) orders_.erase(orders_.begin());
    orders_.emplace_back(epoch, order);
    return order;
  }

  const std::shared_ptr<const Dataset> data_;
  const LoaderOptions options_;
  std::mutex mutex_;
  std::vector<std::pair<int64_t, Order>> orders_;
};

// Batches are numbered from the last Seek on; workers make them in any order, Next() returns them
// in theirs.
class PrefetchingLoader : public Loader {
 public:
  PrefetchingLoader(std::shared_ptr<const Dataset> data, const LoaderOptions& options)
      : maker_(data, options),
        batches_(maker_.batches_per_epoch()),
        ahead_(std::max(options.prefetch, 1)),
        memory_(MemoryLimit::Current()) {
    places_.data = std::move(data);
    for (int i = 0; i < options.workers; ++i) workers_.emplace_back([this] { Work(); });
  }
  ~PrefetchingLoader() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wanted_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  const LoaderOptions& options() const override { return maker_.options(); }
  int64_t batches_per_epoch() const override { return batches_; }
  int64_t broken_examples() const override { return broken_; }
  const BatchPlaces& places() const override { return places_; }
  const BatchSlice& slice() const override { return slice_; }
  Position position() const override { return PositionOf(answered_); }

  int64_t read_ahead() const override { return workers_.empty() ? 0 : ahead_; }
  int64_t made_at_a_time() const override {
    return workers_.empty() ? 1 : std::min(ahead_, static_cast<int64_t>(workers_.size()));
  }

  void Rest() override {
    std::unique_lock lock(mutex_);
    ready_.clear();
    ++generation_;
    resting_ = true;
    finished_.wait(lock, [this] { return busy_ == 0; });
  }

  void Seek(int64_t epoch, int64_t batch) override {
    {
      std::lock_guard lock(mutex_);
      resting_ = false;
      start_ = {epoch + batch / batches_, batch % batches_};
      answered_ = begun_ = 0;
      ready_.clear();
      ++generation_;
    }
    wanted_.notify_all();
  }

  absl::StatusOr<Batch> Next() override {
    int64_t broken_batches = 0;
    while (true) {
      MadeBatch made = Take();
      broken_ += made.broken;
      places_.rows = std::move(made.rows);
      slice_ = made.slice;
      if (!made.batch.ok() || !made.batch->empty()) return std::move(made.batch);
      if (++broken_batches == batches_)
        return absl::DataLossError(
            absl::StrCat("no example of ", batches_, " batches can be read"));
    }
  }

 private:
  Position PositionOf(int64_t number) const {
    const int64_t batch = start_.batch + number;
    return {start_.epoch + batch / batches_, batch % batches_};
  }

  MadeBatch Take() {
    if (workers_.empty()) return maker_.Make(PositionOf(answered_++));
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return ready_.count(answered_) > 0; });
    auto node = ready_.extract(answered_);
    ++answered_;
    lock.unlock();
    wanted_.notify_one();
    return std::move(node.mapped());
  }

  void Work() {
    const MemoryScope scope(memory_);
    std::unique_lock lock(mutex_);
    while (true) {
      wanted_.wait(lock, [this] { return stop_ || (!resting_ && begun_ < answered_ + ahead_); });
      if (stop_) return;
      const int64_t number = begun_++, generation = generation_;
      const Position position = PositionOf(number);
      ++busy_;
      lock.unlock();
      MadeBatch made = maker_.Make(position);
      lock.lock();
      --busy_;
      if (generation == generation_) ready_.emplace(number, std::move(made));
      finished_.notify_one();
    }
  }

  BatchMaker maker_;
  const int64_t batches_;
  const int64_t ahead_;
  int64_t broken_ = 0;
  BatchPlaces places_;
  BatchSlice slice_;
  std::mutex mutex_;  // of what follows; only Next and Seek write start_ and answered_
  std::condition_variable wanted_, finished_;
  Position start_;
  int64_t answered_ = 0, begun_ = 0, generation_ = 0;
  int busy_ = 0;  // workers that make a batch
  std::map<int64_t, MadeBatch> ready_;
  bool stop_ = false, resting_ = false;
  const std::shared_ptr<MemoryLimit> memory_;
  std::vector<std::thread> workers_;
};

absl::Status CheckOptions(const Dataset& data, const LoaderOptions& options) {
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_size must be positive, got ", options.batch_size));
  }
  if (options.workers < 0 || options.workers > 1024 || options.prefetch < 0 ||
      options.examples_per_epoch < 0) {
    return absl::InvalidArgumentError(
        "workers (at most 1024), prefetch and examples must not be negative");
  }
  for (const auto& [name, value] : options.pad)
    ONWARD_RETURN_IF_ERROR(Annotate(FindField(data, name).status(), "pad:"));
  if (!options.lengths.empty()) {
    if (static_cast<int64_t>(options.lengths.size()) != data.size())
      return absl::InvalidArgumentError(
          absl::StrCat(options.lengths.size(), " lengths for ", data.size(), " examples"));
    if (!options.shuffle && options.weights.empty())
      return absl::InvalidArgumentError(
          "group_by_length puts examples in another order, and shuffle is false");
  }
  if (options.weights.empty()) return absl::OkStatus();
  if (static_cast<int64_t>(options.weights.size()) != data.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.weights.size(), " weights for ", data.size(), " examples"));
  }
  return CheckWeights(options.weights);
}

// A weight per example, from the classes in `sampling`'s field.
absl::StatusOr<std::vector<double>> WeightsOf(const Dataset& data, const Sampling& sampling) {
  ONWARD_ASSIGN_OR_RETURN(const size_t field, FindField(data, sampling.field()));
  std::vector<int64_t> classes;
  std::map<int64_t, double> counts;
  for (int64_t i = 0; i < data.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor label, data.ReadField(i, field));
    if (label.num_elements() != 1 || !IsInteger(label.dtype()) || IsSubByte(label.dtype())) {
      return absl::InvalidArgumentError(
          absl::StrCat("sampling: '", sampling.field(), "' must hold one integer, the class, got ",
                       std::string(DTypeName(label.dtype())), DimsString(label.dims())));
    }
    classes.push_back(ToInt64(label.view())[0]);
    ++counts[classes.back()];
  }
  std::vector<double> weights;
  for (const int64_t label : classes) {
    if (sampling.class_weight().empty()) {
      weights.push_back(1 / counts[label]);
    } else if (label >= 0 && label < sampling.class_weight_size()) {
      weights.push_back(sampling.class_weight(static_cast<int>(label)));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("sampling: class ", label, " is beyond the ",
                                                     sampling.class_weight_size(),
                                                     " weights of class_weight"));
    }
  }
  return weights;
}

}  // namespace

BatchSlice SliceOf(int rank, int ranks, int64_t rows) {
  const int64_t begin = rank * rows / ranks, end = (rank + 1) * rows / ranks;
  return {std::min(begin, rows - 1), end - begin, rows};
}

std::map<std::string, double> PadsOf(const Dataset& data, std::map<std::string, double> named) {
  for (const Field& field : data.fields())
    if (field.pad.has_value()) named.emplace(field.name, *field.pad);
  return named;
}

absl::StatusOr<LoaderOptions> OptionsOf(const DataConfig& config, const Dataset& data,
                                        bool training) {
  LoaderOptions options;
  options.shuffle = config.has_shuffle() ? config.shuffle() : training;
  options.drop_last = config.has_drop_last() ? config.drop_last() : training;
  options.workers = config.workers();
  options.prefetch = config.prefetch();
  options.skip_broken = config.skip_broken();
  options.pad = PadsOf(data, {config.pad().begin(), config.pad().end()});
  if (config.has_sampling() && training) {
    ONWARD_ASSIGN_OR_RETURN(options.weights, WeightsOf(data, config.sampling()));
    options.examples_per_epoch = config.sampling().examples();
  }
  if (config.group_by_length() && training) {
    ONWARD_ASSIGN_OR_RETURN(options.lengths, LengthsOfExamples(data, options.pad));
  }
  return options;
}

int64_t ExamplesPerEpoch(int64_t size, const LoaderOptions& options) {
  return options.weights.empty() || options.examples_per_epoch == 0 ? size
                                                                    : options.examples_per_epoch;
}

int64_t BatchesPerEpoch(int64_t size, const LoaderOptions& options) {
  const int64_t examples = ExamplesPerEpoch(size, options);
  const int64_t whole = examples / options.batch_size;
  return options.drop_last || examples % options.batch_size == 0 ? whole : whole + 1;
}

std::vector<int64_t> EpochOrder(int64_t size, const LoaderOptions& options, int64_t epoch) {
  if (options.weights.empty() && !options.shuffle) return {};
  std::vector<int64_t> order =
      options.weights.empty()
          ? ShuffledOrder(size, options.seed, epoch)
          : WeightedOrder(options.weights, ExamplesPerEpoch(size, options), options.seed, epoch);
  if (options.lengths.empty()) return order;
  return GroupedByLength(std::move(order), options.lengths, options.batch_size, options.seed,
                         epoch);
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(std::shared_ptr<const Dataset> data,
                                                       const LoaderOptions& options) {
  ONWARD_RETURN_IF_ERROR(CheckOptions(*data, options));
  if (BatchMaker(data, options).batches_per_epoch() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a data set of ", data->size(), " examples does not fill a batch of ", options.batch_size));
  }
  return std::make_unique<PrefetchingLoader>(std::move(data), options);
}

}  // namespace onward::training

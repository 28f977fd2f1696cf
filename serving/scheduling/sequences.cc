#include "serving/scheduling/sequences.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"
#include "serving/repository/model_file.h"
#include "serving/scheduling/batch.h"

namespace onward::serving {
namespace {

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

std::string NameOf(const Sequence& sequence) {
  const uint64_t* const number = std::get_if<uint64_t>(&sequence.id);
  return number != nullptr ? absl::StrCat(*number)
                           : absl::StrCat("'", std::get<std::string>(sequence.id), "'");
}

// The size of a named dim in this request.
std::optional<int64_t> SizeOf(const Dim& dim, const InferRequest& request,
                              const std::vector<ValueInfo>& known) {
  if (dim.known()) return dim.value();
  if (!dim.symbolic()) return std::nullopt;
  for (const ValueInfo& input : known) {
    const auto given = request.inputs.find(input.name);
    if (given == request.inputs.end() || !given->second.is_tensor() || !input.type.shape) continue;
    const Tensor& tensor = given->second.tensor();
    const SymbolicDims& shape = *input.type.shape;
    if (tensor.dims().size() != shape.size()) continue;
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == dim) return tensor.dims()[i];
  }
  return std::nullopt;
}

absl::StatusOr<Tensor> Zeros(DType dtype, const Dims& dims) {
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
  if (dtype != DType::kString && tensor.num_elements() > 0)
    std::memset(tensor.raw_mutable_data(), 0, static_cast<size_t>(tensor.byte_size()));
  return tensor;
}

// The rows of the request itself; 1 where it has none.
int64_t OwnRows(const InferRequest& request, const SequenceConfig& config) {
  Session::Inputs own;
  for (const ValueInfo& input : config.client_inputs)
    if (const auto given = request.inputs.find(input.name); given != request.inputs.end())
      own.insert(*given);
  return std::max<int64_t>(1, RowsOf(own));
}

// A tensor of the input's rank whose elements are all `value`, a row for each of `rows`.
absl::StatusOr<Tensor> Repeated(const ValueInfo& input, const Tensor& value, int64_t rows) {
  Dims dims;
  if (!input.type.shape) dims = {rows, 1};
  if (input.type.shape)
    for (const Dim& dim : *input.type.shape)
      dims.push_back(dim.known() ? dim.value() : dims.empty() ? rows : 1);
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(value.dtype(), dims));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (value.dtype() == DType::kString) {
      tensor.mutable_data<std::string>()[i] = *value.data<std::string>();
    } else {
      const size_t size = static_cast<size_t>(value.byte_size());
      std::memcpy(static_cast<char*>(tensor.raw_mutable_data()) + static_cast<size_t>(i) * size,
                  value.raw_data(), size);
    }
  }
  return tensor;
}

template <typename T>
absl::StatusOr<Tensor> NumberOf(uint64_t id, const std::string& input) {
  if (id <= static_cast<uint64_t>(std::numeric_limits<T>::max()))
    return Tensor::Scalar<T>(static_cast<T>(id));
  return Wrong(absl::StrCat("parameters.sequence_id: ", id, " does not fit the model's input '",
                            input, "', which is ", std::string(DatatypeName(kDTypeOf<T>))));
}

absl::StatusOr<Tensor> IdOf(const Sequence& sequence, const ValueInfo& input) {
  const uint64_t* const number = std::get_if<uint64_t>(&sequence.id);
  if (input.type.dtype == DType::kString)
    return Tensor::Scalar<std::string>(number != nullptr ? absl::StrCat(*number)
                                                         : std::get<std::string>(sequence.id));
  if (number == nullptr)
    return Wrong(absl::StrCat("parameters.sequence_id: expected a number, since the model's input ",
                              "'", input.name, "' takes it, got a string"));
  switch (input.type.dtype) {
    case DType::kUint64:
      return NumberOf<uint64_t>(*number, input.name);
    case DType::kInt64:
      return NumberOf<int64_t>(*number, input.name);
    case DType::kUint32:
      return NumberOf<uint32_t>(*number, input.name);
    default:
      return NumberOf<int32_t>(*number, input.name);
  }
}

}  // namespace

std::string SequenceKey(const Sequence& sequence) {
  if (const uint64_t* const number = std::get_if<uint64_t>(&sequence.id); number != nullptr)
    return absl::StrCat("#", *number);
  if (const auto* const text = std::get_if<std::string>(&sequence.id); text != nullptr)
    return absl::StrCat("$", *text);
  return "";
}

void Sequences::Turn::Keep(const Session::Outputs& outputs, bool copy) {
  for (const SequenceState& state : sequences_->config_.states) {
    const auto output = outputs.find(state.output);
    if (output == outputs.end() || !output->second.is_tensor()) return;
    const Tensor& tensor = output->second.tensor();
    kept_.emplace_back(copy ? CopyOf(tensor.view()) : tensor);
  }
  ran_ = true;
}

absl::Status Sequences::Check(const InferRequest& request) const {
  if (SequenceKey(request.sequence).empty())
    return Wrong("parameters.sequence_id: is missing: the model keeps a state for each sequence");
  for (const auto& [name, value] : request.inputs)
    if (config_.Gives(name))
      return Wrong(absl::StrCat("inputs: '", name, "' is not for clients: the server gives it, ",
                                "for each sequence"));
  return absl::OkStatus();
}

std::shared_ptr<void> Sequences::Hold(const Sequence& sequence) const {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(SequenceKey(sequence));
  return found == live_.end() ? nullptr : found->second.held;
}

bool Sequences::IsBusy(const Sequence& sequence) const {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(SequenceKey(sequence));
  return found != live_.end() && found->second.busy;
}

absl::StatusOr<std::vector<Value>> Sequences::Beginning(const InferRequest& request) const {
  std::vector<Value> states;
  for (const SequenceState& state : config_.states) {
    if (state.beginning) {
      Tensor given;
      if (config_.batched) {
        ONWARD_ASSIGN_OR_RETURN(given, RepeatRow(*state.beginning, OwnRows(request, config_)));
      } else {
        given = state.beginning->Clone();
      }
      states.emplace_back(std::move(given));
      continue;
    }
    Dims dims;
    for (size_t i = 0; i < state.dims.size(); ++i) {
      std::optional<int64_t> size = state.dims[i];
      if (*size < 0 && state.input.type.shape)
        size = SizeOf((*state.input.type.shape)[i], request, config_.client_inputs);
      if (size && *size < 0) size.reset();
      if (!size && i == 0 && config_.batched) size = OwnRows(request, config_);
      if (!size)
        return Wrong(absl::StrCat("the state '", state.input.name, "' cannot begin: the model's ",
                                  "configuration does not say how large dim ", i, " of ",
                                  state.input.type.ToString(), " is"));
      dims.push_back(*size);
    }
    ONWARD_ASSIGN_OR_RETURN(Tensor zeros, Zeros(state.input.type.dtype, dims));
    states.emplace_back(std::move(zeros));
  }
  return states;
}

absl::Status Sequences::GiveControls(InferRequest& request) const {
  if (config_.controls.empty()) return absl::OkStatus();
  const int64_t rows = OwnRows(request, config_);
  using Kind = SequenceControl::Kind;
  for (const SequenceControl& control : config_.controls) {
    Tensor value;
    if (control.kind == Kind::kId) {
      ONWARD_ASSIGN_OR_RETURN(value, IdOf(request.sequence, control.input));
    } else {
      const bool holds =
          control.kind == Kind::kReady ||
          (control.kind == Kind::kStart ? request.sequence.start : request.sequence.end);
      value = control.values[holds ? 1 : 0];
    }
    ONWARD_ASSIGN_OR_RETURN(Tensor given, Repeated(control.input, value, rows));
    request.inputs[control.input.name] = Value(std::move(given));
  }
  return absl::OkStatus();
}

absl::Status Sequences::Prepare(InferRequest& request, Time now) {
  const std::string key = SequenceKey(request.sequence);
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(key);
  std::vector<Value> states;
  if (!request.sequence.start) {
    if (found == live_.end())
      return Wrong(absl::StrCat("parameters.sequence_id: there is no sequence ",
                                NameOf(request.sequence), "; its first request says ",
                                "sequence_start, and it ends when it is idle"));
    states = found->second.states;
  } else {
    if (found == live_.end() && live_.size() >= config_.most_sequences) EndIdleLocked(now);
    if (found == live_.end() && live_.size() >= config_.most_sequences)
      return absl::UnavailableError(
          absl::StrCat("the model has ", live_.size(), " sequences already, which is the most"));
    ONWARD_ASSIGN_OR_RETURN(states, Beginning(request));
  }
  for (size_t i = 0; i < config_.states.size(); ++i)
    request.inputs[config_.states[i].input.name] = std::move(states[i]);
  return GiveControls(request);
}

std::unique_ptr<Sequences::Turn> Sequences::Claim(const Sequence& sequence) {
  auto turn = std::make_unique<Turn>(shared_from_this(), sequence);
  const std::lock_guard lock(mutex_);
  live_[SequenceKey(sequence)].busy = true;
  return turn;
}

void Sequences::Finish(const Sequence& sequence, bool ran, std::vector<Value>& states) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(SequenceKey(sequence));
  if (found == live_.end()) return;
  Live& live = found->second;
  live.busy = false;
  live.last = std::chrono::steady_clock::now();
  if (ran) live.states.swap(states);  // the old ones go without the lock
  if (!sequence.end && (ran || !sequence.start)) return;
  live_.erase(found);
}

void Sequences::EndIdle(Time now) {
  const std::lock_guard lock(mutex_);
  EndIdleLocked(now);
}

void Sequences::EndIdleLocked(Time now) {
  for (auto it = live_.begin(); it != live_.end();) {
    const Live& live = it->second;
    const bool idle =
        !live.busy && live.held.use_count() == 1 && now - live.last >= config_.most_idle;
    it = idle ? live_.erase(it) : std::next(it);
  }
}

size_t Sequences::size() const {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

}  // namespace onward::serving

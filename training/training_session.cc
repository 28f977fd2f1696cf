#include "training/training_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"

namespace onward {

absl::StatusOr<std::unique_ptr<TrainingSession>> TrainingSession::Create(
    Model step, const SessionOptions& options) {
  std::map<std::string, std::string> updates;  // name of the input -> of the output
  std::map<std::string, Tensor> initial;
  for (const UpdateBinding& update : step.updates) {
    const ValueData& input = step.graph.value(update.input);
    if (!input.constant) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", input.name, "' is updated by the step and has no value to start with"));
    }
    updates[input.name] = step.graph.value(update.output).name;
    initial[input.name] = *input.constant;
  }
  std::unique_ptr<TrainingSession> made(new TrainingSession());
  ONWARD_ASSIGN_OR_RETURN(made->session_, Session::Create(std::move(step), options));
  std::map<std::string, size_t> outputs;
  for (const ValueInfo& output : made->session_->outputs())
    outputs.emplace(output.name, outputs.size());
  const std::vector<ValueInfo>& inputs = made->session_->inputs();
  made->kept_.resize(inputs.size());
  made->results_.resize(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    made->input_index_[inputs[i].name] = i;
    const auto update = updates.find(inputs[i].name);
    if (update == updates.end()) continue;
    made->slots_.push_back({i, outputs.at(update->second)});
    made->kept_[i] = initial.at(inputs[i].name);
  }
  return made;
}

absl::StatusOr<Session::Outputs> TrainingSession::Step(const Session::Inputs& inputs) {
  std::vector<Value> given = kept_;
  for (const auto& [name, value] : inputs) {
    const auto it = input_index_.find(name);
    if (it == input_index_.end())
      return absl::InvalidArgumentError(absl::StrCat("the step has no input '", name, "'"));
    given[it->second] = value;
  }
  ONWARD_RETURN_IF_ERROR(session_->Run(given, absl::MakeSpan(results_)));
  given.clear();  // the old state is ours alone again: the next step writes into it
  std::vector<bool> is_state(results_.size(), false);
  for (const Slot& slot : slots_) {
    std::swap(kept_[slot.input], results_[slot.output]);
    is_state[slot.output] = true;
  }
  Session::Outputs outputs;
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!is_state[i]) outputs[session_->outputs()[i].name] = std::exchange(results_[i], Value());
  }
  return outputs;
}

std::vector<std::string> TrainingSession::state_names() const {
  std::vector<std::string> names;
  for (const Slot& slot : slots_) names.push_back(session_->inputs()[slot.input].name);
  return names;
}

absl::StatusOr<Tensor> TrainingSession::State(const std::string& name) const {
  const auto it = input_index_.find(name);
  if (it == input_index_.end() || !kept_[it->second].is_tensor())
    return absl::InvalidArgumentError(absl::StrCat("the step has no state '", name, "'"));
  return kept_[it->second].tensor();
}

absl::Status TrainingSession::Set(const std::string& name, Tensor value) {
  const auto it = input_index_.find(name);
  if (it == input_index_.end())
    return absl::InvalidArgumentError(absl::StrCat("the step has no input '", name, "'"));
  const Type& type = session_->inputs()[it->second].type;
  const std::optional<Dims> dims = type.static_dims();
  const Type got = Type::Tensor(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  if (type.dtype != value.dtype() || (dims && DimsView(*dims) != value.dims())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is ", type.ToString(), ", got ", got.ToString()));
  }
  kept_[it->second] = std::move(value);
  return absl::OkStatus();
}

}  // namespace onward

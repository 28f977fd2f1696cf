#include "training/step/training_session.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/create_session.h"
#include "graph/rewrite/state.h"
#include "onnx_io/expand_functions.h"
#include "onward/device_tensor.h"
#include "onward/status.h"
#include "training/rewrite/keep_narrow.h"

namespace onward::training {
namespace {

absl::Status CheckFits(const ValueInfo& input, const Tensor& value) {
  const std::optional<Dims> dims = input.type.static_dims();
  if (input.type.dtype == value.dtype() && (!dims || DimsView(*dims) == value.dims()))
    return absl::OkStatus();
  const Type got = Type::Tensor(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  return absl::InvalidArgumentError(
      absl::StrCat("'", input.name, "' is ", input.type.ToString(), ", got ", got.ToString()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingSession>> TrainingSession::Create(
    Phase step, const SessionOptions& options, const std::vector<Pass>& late_passes) {
  std::vector<Phase> phases;
  phases.push_back(std::move(step));
  return Create(std::move(phases), {options}, late_passes);
}

absl::StatusOr<std::unique_ptr<TrainingSession>> TrainingSession::Create(
    std::vector<Phase> phases, absl::Span<const SessionOptions> options,
    const std::vector<Pass>& late_passes, std::shared_ptr<executors::SharedArena> arena) {
  std::unique_ptr<TrainingSession> made(new TrainingSession());
  for (const Phase& phase : phases) {
    const Model& model = phase.model;
    for (const UpdateBinding& update : model.updates) {
      const ValueData& input = model.graph.value(update.input);
      if (!input.constant) {
        return absl::InvalidArgumentError(absl::StrCat(
            "'", input.name, "' is updated by the step and has no value to start with"));
      }
      if (made->state_index_.emplace(input.name, made->state_.size()).second)
        made->state_.push_back(*input.constant);
    }
  }
  // No graph keeps a second copy of the state as its inputs' defaults.
  for (Phase& phase : phases) {
    Graph& graph = phase.model.graph;
    for (const ValueId input : graph.inputs()) {
      if (made->state_index_.contains(graph.value(input).name))
        SetConstant(graph, input, std::nullopt);
    }
  }
  made->SeparateState();
  made->provider_ = options.empty() ? "cpu" : options[0].provider;
  for (Value& state : made->state_) {
    ONWARD_ASSIGN_OR_RETURN(Tensor placed, ToDevice(state.tensor(), made->provider_));
    state = Value(std::move(placed));
  }
  for (size_t i = 0; i < phases.size(); ++i) {
    SessionOptions of_phase = i < options.size() ? options[i] : SessionOptions();
    if (of_phase.stop_after_patches >= 0) {
      of_phase.stop_after_patches = std::max(0, of_phase.stop_after_patches - made->patches());
    }
    ONWARD_RETURN_IF_ERROR(made->AddPhase(std::move(phases[i]), of_phase,
                                          i == 0 ? late_passes : std::vector<Pass>(), arena));
  }
  return made;
}

void TrainingSession::SeparateState() {
  std::set<const void*> seen;
  for (Value& state : state_) {
    if (!seen.insert(state.tensor().raw_data()).second) state = Value(state.tensor().Clone());
  }
}

int TrainingSession::patches() const {
  int sum = 0;
  for (const CompiledPhase& phase : phases_)
    for (const PassReport& pass : phase.session->passes()) sum += pass.patches;
  return sum;
}

absl::Status TrainingSession::AddPhase(Phase added, const SessionOptions& options,
                                       const std::vector<Pass>& late_passes,
                                       std::shared_ptr<executors::SharedArena> arena) {
  std::map<std::string, size_t> updated;  // name of the output -> state
  const Model& model = added.model;
  for (const UpdateBinding& update : model.updates) {
    updated[model.graph.value(update.output).name] =
        state_index_.at(model.graph.value(update.input).name);
  }
  CompiledPhase phase;
  phase.outputs = std::move(added.outputs);
  phase.settings = std::move(added.inputs);
  SessionOptions keeping = options;
  // The gradients were written for the names that the step's inputs share.
  keeping.names_may_differ = false;
  for (const ValueId input : model.graph.inputs()) {
    const std::string& name = model.graph.value(input).name;
    if (state_index_.contains(name)) keeping.device_values.push_back(name);
  }
  for (const auto& [name, state] : updated) keeping.device_values.push_back(name);
  executors::CompileHooks hooks{.expand_ops = onnx_io::ExpandFunctions, .arena = std::move(arena)};
  if (const std::optional<size_t> loss = phase.outputs.loss) {
    const auto keep_narrow = [loss = *loss](Graph& graph, const PassOptions&, int& budget) {
      return KeepNarrow(graph, graph.outputs()[loss], budget);
    };
    hooks.late_passes.push_back({"keep_narrow", keep_narrow, false});
  }
  hooks.late_passes.insert(hooks.late_passes.end(), late_passes.begin(), late_passes.end());
  ONWARD_ASSIGN_OR_RETURN(phase.session,
                          executors::CreateSession(std::move(added.model), keeping, hooks));
  const std::vector<ValueInfo>& outputs = phase.session->outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto update = updated.find(outputs[i].name);
    phase.is_state.push_back(update != updated.end());
    if (update != updated.end()) phase.updates.push_back({update->second, i});
  }
  phase.inputs = phase.session->inputs();
  std::vector<ValueInfo>& inputs = phase.inputs;
  const std::set<size_t> settings = phase.settings.All();
  for (size_t i = 0; i < inputs.size(); ++i) {
    phase.input_index[inputs[i].name] = i;
    const auto state = state_index_.find(inputs[i].name);
    if (state == state_index_.end()) {
      if (!settings.contains(i)) phase.data_inputs.push_back(inputs[i]);
      continue;
    }
    ONWARD_RETURN_IF_ERROR(CheckFits(inputs[i], state_[state->second].tensor()));
    phase.reads.emplace_back(state->second, i);
    inputs[i].optional = true;
  }
  phase.set.resize(inputs.size());
  phase.results.resize(outputs.size());
  phases_.push_back(std::move(phase));
  return absl::OkStatus();
}

absl::Status TrainingSession::Give(const Session::Inputs& inputs, CompiledPhase& phase) const {
  phase.given = phase.set;
  for (const auto& [state, input] : phase.reads) phase.given[input] = state_[state];
  for (const auto& [name, value] : inputs) {
    const auto it = phase.input_index.find(name);
    if (it == phase.input_index.end())
      return absl::InvalidArgumentError(absl::StrCat("the step has no input '", name, "'"));
    phase.given[it->second] = value;
  }
  return absl::OkStatus();
}

absl::StatusOr<Session::Outputs> TrainingSession::Step(const Session::Inputs& inputs,
                                                       size_t phase) {
  Outputs outputs;
  ONWARD_RETURN_IF_ERROR(Step(inputs, outputs, phase));
  const std::vector<ValueInfo>& infos = phases_[phase].session->outputs();
  Session::Outputs named;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!phases_[phase].is_state[i]) named[infos[i].name] = std::move(outputs[i]);
  return named;
}

absl::Status TrainingSession::Step(const Session::Inputs& inputs, Outputs& outputs, size_t phase,
                                   const Accept& accept) {
  CompiledPhase& run = phases_.at(phase);
  // In place: one tensor is input and output. Else the output has memory of its own, which changes
  // places with the state's.
  for (Update& update : run.updates) {
    update.over = accept == nullptr && update.in_place && state_[update.state].tensor().unique();
  }
  ONWARD_RETURN_IF_ERROR(Give(inputs, run));
  for (const Update& update : run.updates)
    if (update.over) run.results[update.output] = state_[update.state];
  outputs.resize(run.results.size());
  for (size_t i = 0; i < run.results.size(); ++i)
    if (!run.is_state[i]) run.results[i] = std::exchange(outputs[i], Value());
  ONWARD_RETURN_IF_ERROR(run.session->Run(run.given, absl::MakeSpan(run.results), run.run_options));
  // The old state is ours alone again: the next step writes into it.
  for (Value& given : run.given) given = Value();
  for (size_t i = 0; i < run.results.size(); ++i)
    if (!run.is_state[i]) outputs[i] = std::exchange(run.results[i], Value());
  if (accept != nullptr && !accept(outputs)) return absl::OkStatus();
  for (Update& update : run.updates) {
    Value& result = run.results[update.output];
    Value& state = state_[update.state];
    if (update.over) update.in_place = result.tensor().raw_data() == state.tensor().raw_data();
    std::swap(state, result);
    if (update.over) result = Value();
  }
  return absl::OkStatus();
}

absl::StatusOr<PlannedMemory> TrainingSession::PlanMemory(const Session::Inputs& inputs,
                                                          size_t phase) {
  CompiledPhase& run = phases_.at(phase);
  ONWARD_RETURN_IF_ERROR(Give(inputs, run));
  Session::Inputs named;
  for (size_t i = 0; i < run.given.size(); ++i) {
    if (run.given[i].has_value()) named[run.inputs[i].name] = std::exchange(run.given[i], Value());
  }
  return run.session->PlanMemory(named);
}

absl::StatusOr<int64_t> TrainingSession::PlannedBytes(const Session::Inputs& inputs, size_t phase) {
  ONWARD_ASSIGN_OR_RETURN(const PlannedMemory planned, PlanMemory(inputs, phase));
  return planned.arena;
}

absl::StatusOr<int64_t> TrainingSession::MeasureMemory(const Session::Inputs& inputs,
                                                       size_t phase) {
  CompiledPhase& run = phases_.at(phase);
  MemoryLimit& memory = run.session->memory();
  ONWARD_RETURN_IF_ERROR(Give(inputs, run));
  const int64_t before = memory.used();
  memory.ResetPeak();
  std::vector<Value> results(run.results.size());
  const absl::Status status = run.session->Run(run.given, absl::MakeSpan(results));
  for (Value& given : run.given) given = Value();
  ONWARD_RETURN_IF_ERROR(status);
  return memory.peak() - before;
}

std::vector<std::string> TrainingSession::state_names() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : state_index_) names.push_back(name);
  return names;
}

std::vector<std::string> TrainingSession::updated_names(size_t phase) const {
  std::set<size_t> updated;
  for (const Update& update : phases_.at(phase).updates) updated.insert(update.state);
  std::vector<std::string> names;
  for (const auto& [name, index] : state_index_)
    if (updated.contains(index)) names.push_back(name);
  return names;
}

absl::StatusOr<Tensor> TrainingSession::State(const std::string& name) const {
  ONWARD_ASSIGN_OR_RETURN(const Tensor held, HeldState(name));
  return ToHost(held);
}

absl::StatusOr<Tensor> TrainingSession::HeldState(const std::string& name) const {
  const auto it = state_index_.find(name);
  if (it == state_index_.end())
    return absl::InvalidArgumentError(absl::StrCat("the step has no state '", name, "'"));
  return state_[it->second].tensor();
}

absl::Status TrainingSession::Set(const std::string& name, Tensor value) {
  bool found = false;
  for (CompiledPhase& phase : phases_) {
    const auto it = phase.input_index.find(name);
    if (it == phase.input_index.end()) continue;
    found = true;
    ONWARD_RETURN_IF_ERROR(CheckFits(phase.inputs[it->second], value));
  }
  if (!found) return absl::InvalidArgumentError(absl::StrCat("the step has no input '", name, "'"));
  const auto state = state_index_.find(name);
  if (state != state_index_.end()) {
    ONWARD_ASSIGN_OR_RETURN(Tensor placed, ToDevice(value, provider_));
    state_[state->second] = Value(std::move(placed));
    return absl::OkStatus();
  }
  for (CompiledPhase& phase : phases_) {
    const auto it = phase.input_index.find(name);
    if (it != phase.input_index.end()) phase.set[it->second] = value;
  }
  return absl::OkStatus();
}

absl::Status TrainingSession::Set(std::optional<size_t> StepInputs::*input, const Tensor& value) {
  bool found = false;
  for (CompiledPhase& phase : phases_) {
    const std::optional<size_t> index = phase.settings.*input;
    if (!index) continue;
    found = true;
    ONWARD_RETURN_IF_ERROR(CheckFits(phase.inputs[*index], value));
    phase.set[*index] = value;
  }
  return found ? absl::OkStatus() : absl::InvalidArgumentError("no phase has the input to set");
}

absl::Status TrainingSession::Initialize(const TrainingInitialization& initialization,
                                         const SessionOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(const auto session,
                          executors::CreateSession(initialization.model, options,
                                                   {.expand_ops = onnx_io::ExpandFunctions}));
  ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, session->Run(Session::Inputs()));
  for (const auto& [initializer, output] : initialization.bindings) {
    const Value& value = outputs.at(output);
    if (!value.has_value() || !value.is_tensor())
      return absl::InvalidArgumentError(
          absl::StrCat("initialization of '", initializer, "': '", output, "' is not a tensor"));
    ONWARD_RETURN_IF_ERROR(
        Annotate(Set(initializer, value.tensor().Clone()), "the initialization graph:"));
  }
  return absl::OkStatus();
}

}  // namespace onward::training

#include "executors/session.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "executors/check_inputs.h"
#include "executors/compile.h"
#include "executors/profile.h"
#include "executors/run_state.h"
#include "graph/base/machine_memory.h"
#include "graph/base/memory_limit.h"
#include "graph/base/status.h"
#include "onnx_io/import.h"

namespace onward {
namespace {

// Exceptions of libraries and of constructors that find no memory end here.
absl::Status StatusOf(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::length_error*>(&error) != nullptr) {
    return absl::ResourceExhaustedError(error.what());
  }
  return absl::InternalError(error.what());
}

SlotValue SlotOf(const Value& value) {
  SlotValue slot;
  slot.present = true;
  if (value.is_tensor()) {
    slot.tensor = value.tensor().view();
  } else {
    slot.object = &value;
  }
  return slot;
}

class CompiledSession : public Session {
 public:
  CompiledSession(Compiled compiled, const SessionOptions& options,
                  std::shared_ptr<MemoryLimit> memory, int num_threads,
                  std::vector<int32_t> updated_input)
      : program_(std::move(compiled.program)),
        passes_(std::move(compiled.passes)),
        options_(options),
        memory_(std::move(memory)),
        updated_input_(std::move(updated_input)),
        pool_(num_threads) {
    const Graph& graph = program_->graph;
    for (ValueId id : graph.inputs())
      inputs_.push_back({graph.value(id).name, graph.type(id), graph.is_constant(id)});
    for (ValueId id : graph.outputs())
      outputs_.push_back({graph.value(id).name, graph.type(id), false});
  }

  const std::vector<ValueInfo>& inputs() const override { return inputs_; }
  const std::vector<ValueInfo>& outputs() const override { return outputs_; }
  void set_run_index(uint64_t index) override { run_index_ = index; }

  const Graph& graph() const override { return program_->graph; }
  const std::vector<PassReport>& passes() const override { return passes_; }
  std::vector<NodeExplanation> Explain() const override { return program_->explanations; }

  absl::StatusOr<Outputs> Run(const Inputs& named) override {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Value> inputs, OrderInputs(inputs_, named));
    std::vector<Value> results(outputs_.size());
    ONWARD_RETURN_IF_ERROR(Run(inputs, absl::MakeSpan(results)));
    Outputs outputs;
    for (size_t i = 0; i < results.size(); ++i) outputs[outputs_[i].name] = std::move(results[i]);
    return outputs;
  }

  absl::Status Run(absl::Span<const Value> inputs, absl::Span<Value> outputs) override {
    const MemoryScope scope(memory_);
    try {
      return RunChecked(inputs, outputs);
    } catch (const std::exception& error) {
      return StatusOf(error);
    }
  }

  absl::Status RunChecked(absl::Span<const Value> inputs, absl::Span<Value> outputs) {
    if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model has ", inputs_.size(), " inputs and ", outputs_.size(),
                       " outputs, got ", inputs.size(), " and ", outputs.size()));
    }
    ONWARD_ASSIGN_OR_RETURN(const InputSlots slots, CheckedSlots(inputs));
    std::unique_ptr<RunState> state = TakeState();
    ONWARD_RETURN_IF_ERROR(RunIn(*state, slots, outputs));
    GiveState(std::move(state));
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> PlannedBytes(const Inputs& named) override {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Value> inputs, OrderInputs(inputs_, named));
    ONWARD_ASSIGN_OR_RETURN(const InputSlots slots, CheckedSlots(inputs));
    const MemoryScope scope(memory_);
    ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Binding> binding, FindBinding(slots));
    int64_t bytes = 0;
    for (int64_t arena : binding->arena_bytes) bytes += arena;
    return bytes;
  }

  absl::Status WriteProfile(const std::string& path) const override {
    if (!options_.profile)
      return absl::FailedPreconditionError("the session was made without SessionOptions::profile");
    return profile_.WriteChromeTrace(path);
  }
  std::optional<MemoryPeak> RecordedPeak() const override {
    const std::optional<ProfileEvent> peak = profile_.Peak();
    if (!peak) return std::nullopt;
    return MemoryPeak{peak->live_bytes, peak->name};
  }

 private:
  using InputSlots = absl::InlinedVector<SlotValue, 16>;

  // The inputs by position, with their defaults where none is given, checked against the model.
  absl::StatusOr<InputSlots> CheckedSlots(absl::Span<const Value> inputs) const {
    InputSlots slots;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor* preset = program_->graph.constant(program_->graph.inputs()[i]);
      const bool use_default = !inputs[i].has_value() && preset != nullptr;
      slots.push_back(use_default ? SlotValue{preset->view(), nullptr, true} : SlotOf(inputs[i]));
    }
    ONWARD_RETURN_IF_ERROR(CheckInputs(inputs_, slots));
    return slots;
  }

  absl::Status RunIn(RunState& state, absl::Span<const SlotValue> slots,
                     absl::Span<Value> outputs) {
    ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<const Binding> binding, FindBinding(slots));
    const Binding& bound = *binding;
    ONWARD_RETURN_IF_ERROR(state.Prepare(std::move(binding)));
    for (size_t i = 0; i < slots.size(); ++i) state.SetInput(static_cast<int32_t>(i), slots[i]);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto slot = static_cast<size_t>(program_->outputs[i]);
      const SlotPlan& plan = bound.slots[slot];
      if (plan.place != SlotPlan::Place::kOutput || plan.external != static_cast<int32_t>(i))
        continue;
      const TensorView& view = bound.values[slot].tensor;
      if (!IsUpdatedInPlace(bound, i, slots, outputs[i]))
        ONWARD_RETURN_IF_ERROR(MakeRoom(view.dtype, view.dims, slots, outputs[i]));
      state.SetOutput(static_cast<int32_t>(i), const_cast<void*>(outputs[i].tensor().raw_data()));
    }
    state.SetProfile(IsRecorded() ? &profile_ : nullptr);
    ONWARD_RETURN_IF_ERROR(state.Run(run_index_.fetch_add(1, std::memory_order_relaxed)));
    return CopyOutputs(state, bound, slots, outputs);
  }

  bool IsRecorded() {
    return options_.profile &&
           (options_.profile_runs == 0 ||
            recorded_runs_.fetch_add(1, std::memory_order_relaxed) < options_.profile_runs);
  }

  // Outputs that no step wrote into the caller's memory.
  absl::Status CopyOutputs(const RunState& state, const Binding& bound,
                           absl::Span<const SlotValue> slots, absl::Span<Value> outputs) {
    for (int32_t index : bound.copied_outputs) {
      const SlotValue& result = state.result(index);
      Value& output = outputs[static_cast<size_t>(index)];
      if (result.object != nullptr) {
        output = *result.object;
      } else {
        ONWARD_RETURN_IF_ERROR(MakeRoom(result.tensor.dtype, result.tensor.dims, slots, output));
        CopyElements(result.tensor, output.tensor().view());
      }
    }
    return absl::OkStatus();
  }

  // Whether the caller gives one tensor as the state and as the output that updates it, and the
  // program may write the one over the other.
  bool IsUpdatedInPlace(const Binding& bound, size_t output, absl::Span<const SlotValue> inputs,
                        const Value& value) const {
    const int32_t input = updated_input_[output];
    return input >= 0 && bound.over_input[output] == input && value.is_tensor() &&
           value.tensor().raw_data() == inputs[static_cast<size_t>(input)].tensor.data;
  }

  // Keeps the output's tensor if it fits and is nobody else's, else replaces it.
  static absl::Status MakeRoom(DType dtype, DimsView dims, absl::Span<const SlotValue> inputs,
                               Value& output) {
    if (output.is_tensor()) {
      const Tensor& tensor = output.tensor();
      const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const SlotValue& input) {
        return input.tensor.data == tensor.raw_data();
      });
      if (tensor.dtype() == dtype && tensor.dims() == dims && tensor.unique() && !is_input)
        return absl::OkStatus();
    }
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
    output = Value(std::move(tensor));
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const Binding>> FindBinding(absl::Span<const SlotValue> slots) {
    thread_local std::vector<int64_t> key;
    key.clear();
    AppendBindingKey(slots, &key);
    std::shared_ptr<const Binding> similar;
    {
      std::lock_guard lock(mutex_);
      for (auto it = bindings_.begin(); it != bindings_.end(); ++it) {
        if ((*it)->key != key) continue;
        bindings_.splice(bindings_.begin(), bindings_, it);
        return bindings_.front();
      }
      if (!bindings_.empty()) similar = bindings_.front();
    }
    ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<const Binding> binding,
                            BindProgram(*program_, slots, pool_.num_threads(), similar));
    std::lock_guard lock(mutex_);
    bindings_.push_front(binding);
    while (bindings_.size() > static_cast<size_t>(std::max(1, options_.max_bindings)))
      bindings_.pop_back();
    return binding;
  }

  std::unique_ptr<RunState> TakeState() {
    {
      std::lock_guard lock(mutex_);
      if (!states_.empty()) {
        std::unique_ptr<RunState> state = std::move(states_.back());
        states_.pop_back();
        return state;
      }
    }
    auto state = std::make_unique<RunState>(*program_, &pool_, nullptr);
    if (options_.watch != nullptr) state->SetWatch(&options_.watch);
    if (options_.max_executed_nodes > 0) state->LimitExecutedNodes(options_.max_executed_nodes);
    return state;
  }

  void GiveState(std::unique_ptr<RunState> state) {
    std::lock_guard lock(mutex_);
    states_.push_back(std::move(state));
  }

  std::shared_ptr<const Program> program_;
  std::vector<PassReport> passes_;
  SessionOptions options_;
  std::shared_ptr<MemoryLimit> memory_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> outputs_;
  std::vector<int32_t> updated_input_;  // per output: the input that it updates, or -1
  ThreadPool pool_;
  ProfileLog profile_;
  std::atomic<uint64_t> run_index_{0};
  std::atomic<int64_t> recorded_runs_{0};
  std::mutex mutex_;                                    // guards the two below
  std::list<std::shared_ptr<const Binding>> bindings_;  // most recently used first
  std::vector<std::unique_ptr<RunState>> states_;
};

}  // namespace

namespace {

// The position of the input that each output updates, or -1.
std::vector<int32_t> UpdatedInputs(const Model& model) {
  const auto position = [](const std::vector<ValueId>& ids, ValueId id) {
    return std::find(ids.begin(), ids.end(), id) - ids.begin();
  };
  const Graph& graph = model.graph;
  std::vector<int32_t> updated(graph.outputs().size(), -1);
  for (const UpdateBinding& update : model.updates) {
    const auto input = static_cast<size_t>(position(graph.inputs(), update.input));
    const auto output = static_cast<size_t>(position(graph.outputs(), update.output));
    if (input < graph.inputs().size() && output < updated.size())
      updated[output] = static_cast<int32_t>(input);
  }
  return updated;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(Model model,
                                                         const SessionOptions& options) {
  KernelOptions kernel_options;
  kernel_options.precision = options.precision;
  kernel_options.deterministic = options.deterministic;
  kernel_options.seed = options.seed;
  kernel_options.num_threads = options.num_threads > 0 ? options.num_threads : PhysicalCores();
  std::shared_ptr<MemoryLimit> memory = options.memory;
  if (memory == nullptr) {
    memory = std::make_shared<MemoryLimit>(options.max_memory > 0 ? options.max_memory
                                                                  : MachineMemory());
  }
  const MemoryScope scope(memory);
  try {
    std::vector<int32_t> updated_input = UpdatedInputs(model);
    ONWARD_ASSIGN_OR_RETURN(Compiled compiled,
                            CompileModel(std::move(model.graph), options, kernel_options));
    return std::make_unique<CompiledSession>(std::move(compiled), options, std::move(memory),
                                             kernel_options.num_threads, std::move(updated_input));
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

absl::StatusOr<std::unique_ptr<Session>> Session::Load(const std::string& path,
                                                       const SessionOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(path));
  return Create(std::move(model), options);
}

}  // namespace onward

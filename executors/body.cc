#include "executors/body.h"

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/plan/bind_program.h"
#include "executors/run_state.h"
#include "kernels/body_memory.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

constexpr size_t kMaxBindings = 16;

// The state that a body keeps within one run state of the model.
struct BodyState {
  BodyState(const Program& program, RunState& parent)
      : run(program, parent.pool(), parent.trace(), &parent) {
    results.resize(program.outputs.size());
  }
  RunState run;
  std::deque<std::shared_ptr<const Binding>> bindings;  // most recently made first
  std::vector<int64_t> key;
  std::vector<SlotValue> results;
  uint64_t parent_serial = 0, passes = 0;  // passes of the body within one run of the parent
  std::vector<std::shared_ptr<void>>
      outputs;  // memory of outputs that the binding places with the caller
  std::vector<int64_t> capacities;
};

class CompiledBody : public kernels::PlacedBody {
 public:
  explicit CompiledBody(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  const Graph& graph() const override { return program_->graph; }
  bool is_input_on_device(int input) const override {
    return IsOnDevice(program_->inputs[static_cast<size_t>(input)]);
  }
  bool is_result_on_device(int output) const override {
    return IsOnDevice(program_->outputs[static_cast<size_t>(output)]);
  }
  absl::StatusOr<void*> AllocateOnHost(RunContext& context, int64_t bytes) const override {
    return static_cast<RunState&>(*context.services()).AllocateTemporaryOn(0, bytes);
  }

  absl::StatusOr<absl::Span<const SlotValue>> Run(
      RunContext& context, absl::Span<const SlotValue> inputs) const override {
    if (inputs.size() != program_->inputs.size()) {
      return absl::InternalError(
          absl::StrCat("the body takes ", program_->inputs.size(), " values, got ", inputs.size()));
    }
    ONWARD_RETURN_IF_ERROR(CheckDTypes(inputs));
    auto& parent = static_cast<RunState&>(*context.services());
    ONWARD_RETURN_IF_ERROR(parent.CheckFault());
    std::shared_ptr<void>& held = parent.body_state(this);
    if (held == nullptr) held = std::make_shared<BodyState>(*program_, parent);
    auto& state = *static_cast<BodyState*>(held.get());
    state.run.SetTrace(parent.trace());
    ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<const Binding> binding, FindBinding(state, inputs));
    ONWARD_RETURN_IF_ERROR(state.run.Prepare(std::move(binding)));
    for (size_t i = 0; i < inputs.size(); ++i)
      state.run.SetInput(static_cast<int32_t>(i), inputs[i]);
    ONWARD_RETURN_IF_ERROR(GiveOutputs(state));
    // Each pass through a loop draws numbers of its own, the first one those of the run.
    if (std::exchange(state.parent_serial, parent.serial()) != parent.serial()) state.passes = 0;
    constexpr uint64_t kOdd = 0x9E3779B1;
    ONWARD_RETURN_IF_ERROR(state.run.Run(parent.run_index() ^ (state.passes++ * kOdd)));
    for (size_t i = 0; i < state.results.size(); ++i)
      state.results[i] = state.run.result(static_cast<int32_t>(i));
    return absl::MakeConstSpan(state.results);
  }

 private:
  bool IsOnDevice(int32_t slot) const {
    return program_->slots[static_cast<size_t>(slot)].device > 0;
  }

  // Checks dtypes of values around a loop, which may change where the model's types are wrong.
  absl::Status CheckDTypes(absl::Span<const SlotValue> inputs) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Type& type = program_->graph.type({program_->inputs[i]});
      if (!type.is_tensor() || inputs[i].tensor.dtype == type.dtype) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "value ", i, " that enters the body '", program_->graph.name, "' is ",
          std::string(DTypeName(inputs[i].tensor.dtype)), ", its type is ", type.ToString()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const Binding>> FindBinding(
      BodyState& state, absl::Span<const SlotValue> inputs) const {
    state.key.clear();
    AppendBindingKey(inputs, &state.key);
    if (state.run.binding() != nullptr && state.run.binding()->key == state.key) {
      for (const auto& binding : state.bindings) {
        if (binding.get() == state.run.binding()) return binding;
      }
    }
    for (const auto& binding : state.bindings) {
      if (binding->key == state.key) return binding;
    }
    const int workers = state.run.pool() == nullptr ? 1 : state.run.pool()->num_threads();
    ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<const Binding> binding,
                            BindProgram(*program_, inputs, workers));
    state.bindings.push_front(binding);
    if (state.bindings.size() > kMaxBindings) state.bindings.pop_back();
    return binding;
  }

  absl::Status GiveOutputs(BodyState& state) const {
    state.outputs.resize(program_->outputs.size());
    state.capacities.resize(program_->outputs.size(), 0);
    for (size_t i = 0; i < program_->outputs.size(); ++i) {
      const auto slot = static_cast<size_t>(program_->outputs[i]);
      const SlotPlan& plan = state.run.binding()->slots[slot];
      if (plan.place != SlotPlan::Place::kOutput || plan.external != static_cast<int32_t>(i))
        continue;
      const int64_t bytes = state.run.binding()->values[slot].tensor.byte_size();
      if (state.outputs[i] == nullptr || bytes > state.capacities[i]) {
        ONWARD_ASSIGN_OR_RETURN(state.outputs[i],
                                AllocateOn(program_->provider_of(program_->outputs[i]), bytes));
        state.capacities[i] = bytes;
      }
      state.run.SetOutput(static_cast<int32_t>(i), state.outputs[i].get());
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const Program> program_;
};

}  // namespace

std::shared_ptr<const Body> MakeBody(std::shared_ptr<const Program> program) {
  return std::make_shared<CompiledBody>(std::move(program));
}

}  // namespace onward::executors

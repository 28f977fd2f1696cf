#include "executors/run_state.h"

#include <algorithm>
#include <chrono>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "executors/memory_timeline.h"
#include "graph/base/checked.h"
#include "onward/status.h"

namespace onward::executors {

RunState::RunState(const Program& program, ThreadPool* pool, Trace* trace, RunState* parent)
    : program_(program),
      pool_(pool),
      trace_(trace),
      parent_(parent),
      top_(parent == nullptr ? this : parent->top_) {
  slots_.resize(program.slots.size());
  owned_.resize(program.slots.size());
  owns_.resize(program.slots.size(), false);
  dies_.resize(program.steps.size());
  for (size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[i];
    if (slot.first >= 0 && slot.last >= 0 &&
        slot.last < static_cast<int32_t>(program.steps.size())) {
      dies_[static_cast<size_t>(slot.last)].push_back(static_cast<int32_t>(i));
    }
  }
  for (const ExecutionProvider* provider : program.providers) pools_.emplace_back(provider);
  arenas_.resize(program.providers.size());
  arena_capacity_.resize(program.providers.size(), 0);
  top_->parts_.push_back(this);
  first_step_ = top_->num_steps_;
  top_->num_steps_ += static_cast<int32_t>(program.steps.size());
  if (parent != nullptr) step_of_parent_ = parent->current_step_;
  input_slots_.resize(program.inputs.size());
  output_slots_.resize(program.outputs.size());
}

absl::Status RunState::ReserveArena(size_t device, int64_t bytes) {
  if (device == 0 && shared_arena_ != nullptr) {
    ONWARD_ASSIGN_OR_RETURN(void* data, shared_arena_->Reserve(bytes));
    arenas_[0] = std::shared_ptr<void>(std::shared_ptr<void>(), data);  // the shared arena owns it
    return absl::OkStatus();
  }
  if (bytes <= arena_capacity_[device]) return absl::OkStatus();
  // Room to grow: a decoder's next steps need a little more each time.
  const int64_t capacity = arenas_[device] == nullptr ? bytes : bytes + bytes / 4;
  arenas_[device].reset();
  arena_capacity_[device] = 0;
  ONWARD_ASSIGN_OR_RETURN(arenas_[device], AllocateOn(*program_.providers[device], capacity));
  arena_capacity_[device] = capacity;
  return absl::OkStatus();
}

absl::Status RunState::Prepare(std::shared_ptr<const Binding> binding) {
  for (size_t i = 0; i < owns_.size(); ++i) {
    if (owns_[i]) ReleaseSlot(static_cast<int32_t>(i));
  }
  const bool moved = shared_arena_ != nullptr && arenas_[0].get() != shared_arena_->data();
  if (binding == binding_ && !moved) return absl::OkStatus();
  binding_ = std::move(binding);
  live_bytes_.clear();
  captured_ = FindCapturableSteps(program_, *binding_, parent_ != nullptr);
  ran_ = false;
  for (size_t device = 0; device < arenas_.size(); ++device) {
    ONWARD_RETURN_IF_ERROR(ReserveArena(device, binding_->arena_bytes[device]));
    if (parent_ != nullptr) streams_ = parent_->streams_;
    if (streams_.size() <= device) {
      ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<Stream> stream,
                              program_.providers[device]->CreateStream());
      streams_.push_back(std::move(stream));
    }
  }
  ONWARD_RETURN_IF_ERROR(PrepareDeviceWork());
  FindRoomedOutputs();
  std::copy(binding_->values.begin(), binding_->values.end(), slots_.begin());
  for (auto& list : input_slots_) list.clear();
  for (auto& list : output_slots_) list.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    const SlotPlan& plan = binding_->slots[i];
    const auto index = static_cast<int32_t>(i);
    switch (plan.place) {
      case SlotPlan::Place::kArena:
        slots_[i].tensor.data =
            static_cast<std::byte*>(arenas_[program_.slots[i].device].get()) + plan.offset;
        break;
      case SlotPlan::Place::kInput:
        input_slots_[static_cast<size_t>(plan.external)].push_back(index);
        break;
      case SlotPlan::Place::kOutput:
        output_slots_[static_cast<size_t>(plan.external)].push_back(index);
        break;
      default:
        break;
    }
  }
  return absl::OkStatus();
}

void RunState::FindRoomedOutputs() {
  roomed_output_.assign(slots_.size(), -1);
  for (const int32_t output : binding_->copied_outputs) {
    const auto slot = static_cast<size_t>(program_.outputs[static_cast<size_t>(output)]);
    if (binding_->slots[slot].place == SlotPlan::Place::kUnknown &&
        program_.provider_of(static_cast<int32_t>(slot)).is_host())
      roomed_output_[slot] = output;
  }
}

void RunState::SetInput(int32_t index, const SlotValue& value) {
  for (int32_t slot : input_slots_[static_cast<size_t>(index)]) {
    slots_[static_cast<size_t>(slot)].tensor.data = value.tensor.data;
    slots_[static_cast<size_t>(slot)].object = value.object;
  }
}

void RunState::SetOutput(int32_t index, void* data) {
  for (int32_t slot : output_slots_[static_cast<size_t>(index)])
    slots_[static_cast<size_t>(slot)].tensor.data = data;
}

absl::Status RunState::CheckEnd() const {
  if (options_->cancel.stop_requested()) return absl::CancelledError("the run was cancelled");
  if (options_->deadline && std::chrono::steady_clock::now() >= *options_->deadline)
    return absl::DeadlineExceededError("the run is past its deadline (RunOptions::deadline)");
  return absl::OkStatus();
}

absl::Status RunState::Run(uint64_t run_index, const RunOptions* options) {
  run_index_ = run_index;
  ++serial_;
  if (top_ == this) {
    const bool may_end =
        options != nullptr && (options->deadline || options->cancel.stop_possible());
    options_ = may_end ? options : nullptr;
    SetBatchSlice(options == nullptr ? BatchSlice() : options->batch_slice);
  }
  const auto num_steps = static_cast<int32_t>(program_.steps.size());
  if (top_ == this) executed_nodes_ = 0;
  top_->executed_nodes_ += num_steps + 1;
  if (top_->executed_nodes_ > top_->max_executed_nodes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the run executes more nodes than the limit of ", top_->max_executed_nodes_,
                     " (SessionOptions::max_executed_nodes)"));
  }
  if (parent_ != nullptr && top_->options_ != nullptr)
    ONWARD_RETURN_IF_ERROR(top_->LetDeviceFollow());
  const absl::Status status = RunAll();
  if (status.ok()) return status;
  AbandonDeviceWork();
  // Later errors may follow from the fault.
  const bool was_ended = absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
  return top_ == this && !CheckFault().ok() && !was_ended ? FaultError() : status;
}

absl::Status RunState::RunAll() {
  if (top_ == this) ONWARD_RETURN_IF_ERROR(program_.providers.back()->MakeCurrent());
  BeginDeviceWork();
  int32_t next = 0;
  // A trace and a watch look at each step.
  if (ran_ && trace_ == nullptr && top_->watch_ == nullptr) {
    for (CapturedSteps& steps : captured_) {
      ONWARD_RETURN_IF_ERROR(RunSteps(next, steps.begin));
      ONWARD_ASSIGN_OR_RETURN(const bool launched, LaunchCaptured(steps));
      next = launched ? steps.end : steps.begin;
    }
  }
  ONWARD_RETURN_IF_ERROR(RunSteps(next, static_cast<int32_t>(program_.steps.size())));
  ran_ = true;
  return absl::OkStatus();
}

absl::Status RunState::RunSteps(int32_t begin, int32_t end) {
  for (int32_t s = begin; s < end; ++s) {
    const StepPlan& plan = binding_->steps[static_cast<size_t>(s)];
    if (top_->options_ != nullptr) ONWARD_RETURN_IF_ERROR(top_->CheckEnd());
    if (plan.mode != StepPlan::Mode::kSkip) {
      const absl::Status status = RunStep(s, plan);
      if (!status.ok())
        return Annotate(status,
                        program_.graph.Describe(program_.steps[static_cast<size_t>(s)].node));
    }
    if (top_->watch_ != nullptr) ONWARD_RETURN_IF_ERROR(ShowOutputs(s));
    ReleaseAfter(s);
  }
  return absl::OkStatus();
}

absl::Status RunState::ShowOutputs(int32_t s) const {
  const Step& step = program_.steps[static_cast<size_t>(s)];
  const absl::Span<const int32_t> results = program_.step_outputs(step);
  const Node& node = program_.graph.node(step.node);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] < 0) continue;
    const SlotValue& slot = slots_[static_cast<size_t>(results[i])];
    if (slot.object != nullptr || slot.tensor.data == nullptr || !slot.tensor.device.is_host())
      continue;
    ONWARD_RETURN_IF_ERROR(
        Annotate((*top_->watch_)(program_.graph.value(node.outputs[i]).name, slot.tensor),
                 program_.graph.Describe(step.node)));
  }
  return absl::OkStatus();
}

absl::Status RunState::RunStep(int32_t s, const StepPlan& plan) {
  const Step& step = program_.steps[static_cast<size_t>(s)];
  current_step_ = s;
  TraceScope scope(trace_, program_, step);
  if (plan.mode == StepPlan::Mode::kDynamic) {
    ONWARD_RETURN_IF_ERROR(RunDynamic(s));
  } else {
    void* scratch = plan.scratch < 0
                        ? nullptr
                        : static_cast<std::byte*>(arenas_[step.device].get()) + plan.scratch;
    RunContext context(slots_.data(), program_.step_inputs(step), program_.step_outputs(step),
                       plan.state, scratch, pool_, this);
    ONWARD_RETURN_IF_ERROR(step.kernel->Run(context));
  }
  if (trace_ != nullptr) {
    scope.set_live_bytes(LiveBytesNow());
    scope.set_inputs(InputTypes(step));
  }
  // The next run gets the blocks in the same order again.
  for (; !temporaries_.empty(); temporaries_.pop_back())
    pools_[temporaries_.back().first].Release(temporaries_.back().second);
  return absl::OkStatus();
}

std::vector<std::string> RunState::InputTypes(const Step& step) const {
  std::vector<std::string> types;
  for (const int32_t operand : program_.step_inputs(step)) {
    const TensorView tensor =
        operand < 0 ? TensorView() : slots_[static_cast<size_t>(operand)].tensor;
    types.push_back(
        tensor.dtype == DType::kUndefined
            ? "-"
            : absl::StrCat(std::string(DTypeName(tensor.dtype)), DimsString(tensor.dims)));
  }
  return types;
}

int64_t RunState::LiveBytesNow() {
  if (live_bytes_.empty()) live_bytes_ = LiveBytes(program_, *binding_);
  int64_t bytes = live_bytes_[static_cast<size_t>(current_step_)];
  for (const DynamicPool& pool : pools_) bytes += pool.held_bytes();
  return bytes + (parent_ == nullptr ? 0 : parent_->LiveBytesNow());
}

absl::Status RunState::RunDynamic(int32_t s) {
  const Step& step = program_.steps[static_cast<size_t>(s)];
  const absl::Span<const int32_t> operands = program_.step_inputs(step);
  const absl::Span<const int32_t> results = program_.step_outputs(step);
  absl::InlinedVector<SlotValue, 8> inputs;
  for (int32_t operand : operands) {
    inputs.push_back(operand < 0 ? SlotValue() : slots_[static_cast<size_t>(operand)]);
    inputs.back().present = operand >= 0;
  }
  absl::InlinedVector<OutputPlan, 4> outputs(results.size());
  step_arena_.Reset();
  BindContext context(inputs, absl::MakeSpan(outputs), &step_arena_,
                      pool_ == nullptr ? 1 : pool_->num_threads(), true);
  ONWARD_RETURN_IF_ERROR(BindKernel(*step.kernel, context));
  if (context.deferred())
    return absl::InternalError("the kernel postponed its binding although all values are known");
  ONWARD_RETURN_IF_ERROR(GiveOutputs(step, results, outputs, context));
  void* scratch = nullptr;
  if (context.scratch() > 0) {
    ONWARD_ASSIGN_OR_RETURN(scratch, AllocateTemporary(context.scratch()));
  }
  RunContext run(slots_.data(), operands, results, context.state(), scratch, pool_, this);
  return step.kernel->Run(run);
}

absl::Status RunState::GiveOutputs(const Step& step, absl::Span<const int32_t> results,
                                   absl::Span<const OutputPlan> outputs,
                                   const BindContext& context) {
  for (size_t i = 0; i < results.size(); ++i) {
    const int32_t result = results[i];
    if (result < 0 || outputs[i].kind != OutputPlan::Kind::kPlanned) continue;
    if (ShareBlock(step, result, outputs[i])) continue;
    ONWARD_RETURN_IF_ERROR(AllocateOutput(static_cast<int>(i),
                                          program_.slots[static_cast<size_t>(result)].dtype,
                                          outputs[i].dims)
                               .status());
    if (outputs[i].has_value)
      ONWARD_RETURN_IF_ERROR(CopyBoundValue(result, context.output_value(static_cast<int>(i))));
  }
  return absl::OkStatus();
}

absl::Status RunState::CopyBoundValue(int32_t result, const void* value) {
  const TensorView& to = slots_[static_cast<size_t>(result)].tensor;
  return program_.provider_of(result).Copy(to.data, value, to.byte_size(), CopyKind::kToDevice,
                                           stream());
}

// Lets the output of a dynamic step live in the block of an input: any later reader of an alias, or
// the last reader in place.
bool RunState::ShareBlock(const Step& step, int32_t result, const OutputPlan& output) {
  if (output.has_value || !program_.slots[static_cast<size_t>(result)].arena) return false;
  const absl::Span<const int32_t> operands = program_.step_inputs(step);
  const auto adopt = [&](int32_t operand) {
    Owned& from = owned_[static_cast<size_t>(operand)];
    ++from.block->references;
    Owned& to = owned_[static_cast<size_t>(result)];
    to.block = from.block;
    to.dims = output.dims;
    owns_[static_cast<size_t>(result)] = true;
    const Slot& slot = program_.slots[static_cast<size_t>(result)];
    slots_[static_cast<size_t>(result)] = {
        {slot.dtype, program_.device_of(result), from.block->memory.get(), to.dims}, nullptr, true};
  };
  if (output.alias >= 0) {
    const int32_t operand = operands[static_cast<size_t>(output.alias)];
    if (operand < 0 || owned_[static_cast<size_t>(operand)].block == nullptr) return false;
    adopt(operand);
    return true;
  }
  const int64_t bytes =
      ByteSize(program_.slots[static_cast<size_t>(result)].dtype, NumElements(output.dims));
  for (size_t i = 0; i < operands.size() && i < 32; ++i) {
    const int32_t operand = operands[i];
    if (!(output.in_place >> i & 1) || operand < 0) continue;
    const Owned& from = owned_[static_cast<size_t>(operand)];
    if (from.block == nullptr || from.block->references != 1) continue;
    if (program_.slots[static_cast<size_t>(operand)].last != current_step_) continue;
    if (slots_[static_cast<size_t>(operand)].tensor.byte_size() != bytes) continue;
    if (std::count(operands.begin(), operands.end(), operand) != 1) continue;
    adopt(operand);
    return true;
  }
  return false;
}

absl::Status RunState::CheckResult(int output, int32_t result, DType dtype) const {
  const Type& type = program_.graph.type({result});
  if (!type.is_tensor() || type.dtype == dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output ", output, " is ",
                   dtype == DType::kUndefined ? "not a tensor" : std::string(DTypeName(dtype)),
                   ", but the graph declares ", type.ToString()));
}

absl::StatusOr<TensorView> RunState::AllocateOutput(int output, DType dtype, DimsView dims) {
  const Step& step = program_.steps[static_cast<size_t>(current_step_)];
  const int32_t result = program_.step_outputs(step)[static_cast<size_t>(output)];
  if (dtype == DType::kString) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
    ONWARD_RETURN_IF_ERROR(SetOutput(output, Value(std::move(tensor))));
    return slots_[static_cast<size_t>(result)].tensor;
  }
  if (dtype == DType::kUndefined) {
    return absl::InternalError(absl::StrCat("the dtype of output ", output, " is not known"));
  }
  ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(dtype, dims));
  if (result < 0) return absl::InternalError(absl::StrCat("output ", output, " is omitted"));
  ONWARD_RETURN_IF_ERROR(CheckResult(output, result, dtype));
  if (owns_[static_cast<size_t>(result)]) ReleaseSlot(result);
  Owned& owned = owned_[static_cast<size_t>(result)];
  owned.dims.assign(dims.begin(), dims.end());
  const int32_t roomed = roomed_output_[static_cast<size_t>(result)];
  void* data = nullptr;
  if (room_ != nullptr && roomed >= 0) {
    ONWARD_ASSIGN_OR_RETURN(data, (*room_)(roomed, dtype, owned.dims));
  } else {
    ONWARD_ASSIGN_OR_RETURN(owned.block, pool_of(result).Acquire(bytes));
    data = owned.block->memory.get();
    owns_[static_cast<size_t>(result)] = true;
  }
  SlotValue& slot = slots_[static_cast<size_t>(result)];
  slot = {{dtype, program_.device_of(result), data, owned.dims}, nullptr, true};
  return slot.tensor;
}

absl::Status RunState::SetOutput(int output, Value value) {
  const Step& step = program_.steps[static_cast<size_t>(current_step_)];
  const int32_t result = program_.step_outputs(step)[static_cast<size_t>(output)];
  if (result < 0) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(
      CheckResult(output, result, value.is_tensor() ? value.tensor().dtype() : DType::kUndefined));
  if (owns_[static_cast<size_t>(result)]) ReleaseSlot(result);
  Owned& owned = owned_[static_cast<size_t>(result)];
  owned.value = std::move(value);
  owns_[static_cast<size_t>(result)] = true;
  SlotValue& slot = slots_[static_cast<size_t>(result)];
  const bool plain =
      owned.value.is_tensor() && program_.graph.type({result}).kind != Type::Kind::kOptional;
  slot.present = true;
  slot.object = plain ? nullptr : &owned.value;
  slot.tensor = owned.value.is_tensor() ? owned.value.tensor().view() : TensorView();
  return absl::OkStatus();
}

absl::StatusOr<void*> RunState::AllocateTemporary(int64_t bytes) {
  return AllocateTemporaryOn(program_.steps[static_cast<size_t>(current_step_)].device, bytes);
}

absl::StatusOr<void*> RunState::AllocateTemporaryOn(size_t device, int64_t bytes) {
  ONWARD_ASSIGN_OR_RETURN(DynamicPool::Block * block, pools_[device].Acquire(bytes));
  temporaries_.emplace_back(device, block);
  return block->memory.get();
}

void RunState::ReleaseSlot(int32_t slot) {
  Owned& owned = owned_[static_cast<size_t>(slot)];
  if (owned.block != nullptr) pool_of(slot).Release(owned.block);
  owned.block = nullptr;
  owned.value = Value();
  owns_[static_cast<size_t>(slot)] = false;
}

void RunState::ReleaseAfter(int32_t s) {
  for (int32_t slot : dies_[static_cast<size_t>(s)]) {
    if (owns_[static_cast<size_t>(slot)]) ReleaseSlot(slot);
  }
}

}  // namespace onward::executors

#include "executors/compiled_session.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/check_inputs.h"
#include "executors/create_session.h"
#include "executors/device_tensor.h"
#include "executors/output_blocks.h"
#include "executors/plan/bind_program.h"
#include "graph/base/checked.h"
#include "graph/infer/dim_names.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

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

// Smaller outputs come from pages that are touched already.
constexpr int64_t kLeastKept = int64_t{64} << 10;

absl::StatusOr<Tensor> NewOutput(const ExecutionProvider& provider, OutputBlocks& blocks,
                                 DType dtype, DimsView dims) {
  const absl::StatusOr<int64_t> bytes = CheckedByteSize(dtype, dims);
  if (!provider.is_host() || dtype == DType::kString || !bytes.ok() || *bytes < kLeastKept)
    return NewTensor(provider, dtype, dims);
  absl::StatusOr<std::shared_ptr<void>> memory = blocks.Take(*bytes);
  if (!memory.ok())
    return Annotate(memory.status(), absl::StrCat("a tensor of shape ", DimsString(dims), ":"));
  void* data = memory->get();
  return Tensor::Wrap(dtype, dims, data, *std::move(memory));
}

// Keeps the output's tensor if it fits and is nobody else's, else replaces it.
absl::Status MakeRoom(const ExecutionProvider& provider, OutputBlocks& blocks, DType dtype,
                      DimsView dims, absl::Span<const SlotValue> inputs, Value& output) {
  if (output.is_tensor()) {
    const Tensor& tensor = output.tensor();
    const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const SlotValue& input) {
      return input.tensor.data == tensor.raw_data();
    });
    if (tensor.dtype() == dtype && tensor.dims() == dims && tensor.unique() && !is_input &&
        tensor.device() == provider.device())
      return absl::OkStatus();
  }
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, NewOutput(provider, blocks, dtype, dims));
  output = Value(std::move(tensor));
  return absl::OkStatus();
}

// A number that depends on all bits of the seed in its lower half, too, and that no session counts
// to (SplitMix64).
uint64_t Scattered(uint64_t seed) {
  seed += 0x9E3779B97F4A7C15;
  seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9;
  seed = (seed ^ (seed >> 27)) * 0x94D049BB133111EB;
  return seed ^ (seed >> 31);
}

}  // namespace

absl::Status StatusOf(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::length_error*>(&error) != nullptr) {
    return absl::ResourceExhaustedError(error.what());
  }
  return absl::InternalError(error.what());
}

CompiledSession::CompiledSession(Compiled compiled, const SessionOptions& options,
                                 const KernelOptions& kernel_options, const CompileHooks& hooks,
                                 std::shared_ptr<ThreadPool> pool,
                                 std::shared_ptr<MemoryLimit> memory,
                                 std::vector<int32_t> updated_input, Metadata metadata,
                                 std::optional<Graph> source)
    : passes_(std::move(compiled.passes)),
      rows_(std::move(compiled.rows)),
      options_(options),
      kernel_options_(kernel_options),
      hooks_(hooks),
      memory_(std::move(memory)),
      inputs_(InputsOf(compiled.program->graph)),
      dim_names_(inputs_),
      updated_input_(std::move(updated_input)),
      metadata_(std::move(metadata)),
      pool_(std::move(pool)),
      source_(std::move(source)) {
  if (options_.counters != nullptr) counters_.emplace(*options_.counters);
  plan_.program = std::move(compiled.program);
  const Graph& graph = plan_.program->graph;
  for (ValueId id : graph.outputs())
    outputs_.push_back({graph.value(id).name, graph.type(id), false});
  on_shortage_ =
      memory_->OnShortage([this] { ReleaseIdle(std::chrono::steady_clock::time_point::max()); });
}

absl::StatusOr<std::unique_ptr<Session>> CompiledSession::Share(
    const SessionOptions& options) const {
  SessionOptions shared = options_;
  shared.num_threads = options.num_threads;
  shared.pool = options.pool;
  shared.max_memory = options.max_memory;
  shared.memory = options.memory;
  shared.max_bindings = options.max_bindings;
  shared.max_idle_runs = options.max_idle_runs;
  shared.max_executed_nodes = options.max_executed_nodes;
  shared.profile = options.profile;
  shared.profile_skip = options.profile_skip;
  shared.profile_runs = options.profile_runs;
  shared.watch = options.watch;
  shared.log = options.log;
  shared.counters = options.counters;
  CompileHooks hooks = hooks_;
  hooks.arena = nullptr;
  std::lock_guard lock(separate_mutex_);
  try {
    return std::make_unique<CompiledSession>(
        Compiled{plan_.program, passes_, rows_}, shared, kernel_options_, hooks, PoolOf(shared),
        onward::executors::MemoryOf(shared), updated_input_, metadata_, source_);
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

absl::Status CompiledSession::Run(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                                  const RunOptions& options) {
  const MemoryScope scope(memory_);
  const RunCount count(counters_);
  absl::Status status;
  try {
    status = RunChecked(inputs, outputs, options);
  } catch (const std::exception& error) {
    status = StatusOf(error);
  }
  if (!status.ok() && counters_) counters_->failed_runs.Add();
  return status;
}

absl::Status CompiledSession::RunChecked(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                                         const RunOptions& options) {
  if (options_.plan_only)
    return absl::FailedPreconditionError(
        "the session was made to explain itself (SessionOptions::plan_only), and does not run");
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", inputs_.size(), " inputs and ",
                                                   outputs_.size(), " outputs, got ", inputs.size(),
                                                   " and ", outputs.size()));
  }
  ONWARD_ASSIGN_OR_RETURN(InputSlots slots, CheckedSlots(inputs));
  std::vector<Tensor> moved;
  ONWARD_RETURN_IF_ERROR(MoveInputs(inputs, slots, moved));
  ONWARD_ASSIGN_OR_RETURN(Bound bound, FindBinding(slots));
  std::unique_ptr<RunState> state = TakeState(*bound.plan, options.priority);
  const absl::Status status = RunIn(*state, bound, slots, outputs, options);
  // Who ends a run, or has too little memory, gets back what it took.
  const bool gives_back = absl::IsCancelled(status) || absl::IsDeadlineExceeded(status) ||
                          absl::IsResourceExhausted(status);
  if (!gives_back) GiveState(*bound.plan, std::move(state));
  return status;
}

absl::StatusOr<PlannedMemory> CompiledSession::PlanMemory(const Inputs& named) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Value> inputs, OrderInputs(inputs_, named));
  ONWARD_ASSIGN_OR_RETURN(const InputSlots slots, CheckedSlots(inputs));
  const MemoryScope scope(memory_);
  try {
    ONWARD_ASSIGN_OR_RETURN(const Bound bound, FindBinding(slots));
    return MemoryOf(*bound.plan->program, *bound.binding);
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

absl::Status CompiledSession::WriteProfile(const std::string& path) const {
  if (!options_.profile)
    return absl::FailedPreconditionError("the session was made without SessionOptions::profile");
  return profile_.WriteChromeTrace(path);
}

std::optional<MemoryPeak> CompiledSession::RecordedPeak() const {
  const std::optional<TraceEvent> peak = profile_.Peak();
  if (!peak) return std::nullopt;
  return MemoryPeak{peak->live_bytes, peak->name};
}

absl::StatusOr<CompiledSession::InputSlots> CompiledSession::CheckedSlots(
    absl::Span<const Value> inputs) const {
  InputSlots slots;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Graph& graph = plan_.program->graph;
    const Tensor* preset = graph.constant(graph.inputs()[i]);
    const bool use_default = !inputs[i].has_value() && preset != nullptr;
    slots.push_back(use_default ? SlotValue{preset->view(), nullptr, true} : SlotOf(inputs[i]));
  }
  ONWARD_RETURN_IF_ERROR(CheckInputs(inputs_, slots));
  return slots;
}

absl::Status CompiledSession::MoveInputs(absl::Span<const Value> inputs, InputSlots& slots,
                                         std::vector<Tensor>& moved) const {
  const Program& program = *plan_.program;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].object != nullptr) continue;
    const int32_t slot = program.inputs[i];
    const ExecutionProvider& provider = program.provider_of(slot);
    const Tensor& given = inputs[i].is_tensor() ? inputs[i].tensor()
                                                : program.slots[static_cast<size_t>(slot)].constant;
    if (given.device() == provider.device()) continue;
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ToDevice(given, provider.name()));
    slots[i].tensor.data = tensor.raw_mutable_data();
    moved.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

PlannedMemory CompiledSession::MemoryOf(const Program& program, const Binding& bound) const {
  PlannedMemory memory;
  for (const int64_t arena : bound.arena_bytes) memory.arena += arena;
  for (const StepPlan& step : bound.steps)
    memory.sized_at_run += step.mode == StepPlan::Mode::kDynamic;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const auto slot = static_cast<size_t>(program.outputs[i]);
    if (bound.slots[slot].place == SlotPlan::Place::kUnknown) continue;
    // Memory is taken in multiples of the alignment, and for a tensor of nothing, too.
    constexpr auto kAlign = static_cast<int64_t>(kTensorAlignment);
    const int64_t blocks = (bound.values[slot].tensor.byte_size() + kAlign - 1) / kAlign;
    const int64_t bytes = std::max<int64_t>(1, blocks) * kAlign;
    if (updated_input_[i] < 0) {
      memory.outputs += bytes;
    } else {
      const bool over = bound.over_input[i] == updated_input_[i];
      (over ? memory.updates : memory.copied_updates) += bytes;
    }
  }
  return memory;
}

absl::Status CompiledSession::RunIn(RunState& state, const Bound& found,
                                    absl::Span<const SlotValue> slots, absl::Span<Value> outputs,
                                    const RunOptions& options) {
  const Program& program = *found.plan->program;
  const Binding& bound = *found.binding;
  ONWARD_RETURN_IF_ERROR(state.Prepare(found.binding));
  for (size_t i = 0; i < slots.size(); ++i) state.SetInput(static_cast<int32_t>(i), slots[i]);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto slot = static_cast<size_t>(program.outputs[i]);
    const SlotPlan& plan = bound.slots[slot];
    if (plan.place != SlotPlan::Place::kOutput || plan.external != static_cast<int32_t>(i))
      continue;
    const TensorView& view = bound.values[slot].tensor;
    if (!IsUpdatedInPlace(bound, i, slots, outputs[i]))
      ONWARD_RETURN_IF_ERROR(MakeRoom(program.provider_of(program.outputs[i]), *output_blocks_,
                                      view.dtype, view.dims, slots, outputs[i]));
    state.SetOutput(static_cast<int32_t>(i), const_cast<void*>(outputs[i].tensor().raw_data()));
  }
  const auto make_room = [&](int32_t i, DType dtype, DimsView dims) -> absl::StatusOr<void*> {
    Value& output = outputs[static_cast<size_t>(i)];
    ONWARD_RETURN_IF_ERROR(MakeRoom(program.provider_of(program.outputs[static_cast<size_t>(i)]),
                                    *output_blocks_, dtype, dims, slots, output));
    return output.tensor().view().data;
  };
  const RunState::Room room = make_room;
  state.SetRoom(&room);
  state.SetTrace(TraceOf(options));
  const absl::Status ran = state.Run(NumberOf(options), &options);
  state.SetRoom(nullptr);
  ONWARD_RETURN_IF_ERROR(ran);
  ONWARD_RETURN_IF_ERROR(CopyOutputs(state, found, slots, outputs));
  return state.Finish();
}

uint64_t CompiledSession::NumberOf(const RunOptions& options) {
  if (options.seed) return Scattered(*options.seed) + options.run_index.value_or(0);
  return options.run_index ? *options.run_index
                           : run_index_.fetch_add(1, std::memory_order_relaxed);
}

Trace* CompiledSession::TraceOf(const RunOptions& options) {
  if (options.trace != nullptr) return options.trace;
  if (!options_.profile) return nullptr;
  const int64_t run = begun_runs_.fetch_add(1, std::memory_order_relaxed) - options_.profile_skip;
  const bool recorded = run >= 0 && (options_.profile_runs == 0 || run < options_.profile_runs);
  return recorded ? &profile_ : nullptr;
}

absl::Status CompiledSession::CopyOutputs(RunState& state, const Bound& bound,
                                          absl::Span<const SlotValue> slots,
                                          absl::Span<Value> outputs) {
  const Program& program = *bound.plan->program;
  for (int32_t index : bound.binding->copied_outputs) {
    const SlotValue& result = state.result(index);
    Value& output = outputs[static_cast<size_t>(index)];
    if (result.object != nullptr) {
      output = *result.object;
      continue;
    }
    if (state.IsInRoom(index)) continue;
    const ExecutionProvider& provider =
        program.provider_of(program.outputs[static_cast<size_t>(index)]);
    ONWARD_RETURN_IF_ERROR(MakeRoom(provider, *output_blocks_, result.tensor.dtype,
                                    result.tensor.dims, slots, output));
    if (provider.is_host()) {
      CopyElements(result.tensor, output.tensor().view());
    } else {
      ONWARD_RETURN_IF_ERROR(state.CopyOnDevice(index, output.tensor().view().data));
    }
  }
  return absl::OkStatus();
}

bool CompiledSession::IsUpdatedInPlace(const Binding& bound, size_t output,
                                       absl::Span<const SlotValue> inputs,
                                       const Value& value) const {
  const int32_t input = updated_input_[output];
  return input >= 0 && bound.over_input[output] == input && value.is_tensor() &&
         value.tensor().raw_data() == inputs[static_cast<size_t>(input)].tensor.data;
}

absl::StatusOr<CompiledSession::Bound> CompiledSession::FindBinding(
    absl::Span<const SlotValue> slots) {
  thread_local std::vector<int64_t> key;
  key.clear();
  AppendBindingKey(slots, &key);
  {
    std::lock_guard lock(mutex_);
    for (auto it = bindings_.begin(); it != bindings_.end(); ++it) {
      if (it->binding->key != key) continue;
      bindings_.splice(bindings_.begin(), bindings_, it);
      return bindings_.front();
    }
  }
  ONWARD_ASSIGN_OR_RETURN(Plan * plan, PlanFor(slots));
  std::shared_ptr<const Binding> similar;
  {
    std::lock_guard lock(mutex_);
    for (auto it = bindings_.begin(); it != bindings_.end() && similar == nullptr; ++it)
      if (it->plan == plan) similar = it->binding;
  }
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<const Binding> binding,
                          BindProgram(*plan->program, slots, pool_->num_threads(), similar));
  if (counters_) counters_->bindings.Add();
  std::lock_guard lock(mutex_);
  bindings_.push_front({plan, std::move(binding)});
  Bound bound = bindings_.front();
  while (bindings_.size() > static_cast<size_t>(std::max(1, options_.max_bindings)))
    bindings_.pop_back();
  return bound;
}

absl::StatusOr<CompiledSession::Plan*> CompiledSession::PlanFor(absl::Span<const SlotValue> slots) {
  const absl::Status differ = dim_names_.Check(slots);
  if (differ.ok()) return &plan_;
  std::lock_guard lock(separate_mutex_);
  if (separate_.program != nullptr) return &separate_;
  const bool can_import = hooks_.import_again != nullptr;
  if (!options_.names_may_differ || (!can_import && !source_)) return differ;
  Warn(options_.log, "session",
       absl::StrCat(std::string(differ.message()),
                    "; the names of the model's dims are not relied upon"));
  Graph graph;
  if (can_import) {
    ONWARD_ASSIGN_OR_RETURN(Model model, hooks_.import_again());
    graph = std::move(model.graph);
  } else {
    graph = *std::exchange(source_, std::nullopt);
    SeparateInputNames(graph);
  }
  if (!SameInterface(graph))
    return absl::FailedPreconditionError("the model's file has changed since it was loaded");
  ONWARD_ASSIGN_OR_RETURN(Compiled compiled,
                          CompileModel(std::move(graph), options_, kernel_options_, hooks_));
  separate_.program = std::move(compiled.program);
  return &separate_;
}

bool CompiledSession::SameInterface(const Graph& graph) const {
  const auto same = [&](const std::vector<ValueId>& ids, const std::vector<ValueInfo>& infos) {
    return std::equal(
        ids.begin(), ids.end(), infos.begin(), infos.end(), [&](ValueId id, const ValueInfo& info) {
          return graph.value(id).name == info.name && graph.type(id).dtype == info.type.dtype;
        });
  };
  return same(graph.inputs(), inputs_) && same(graph.outputs(), outputs_);
}

std::unique_ptr<RunState> CompiledSession::TakeState(Plan& plan, RunPriority priority) {
  ThreadPool* const pool = priority == RunPriority::kNormal ? pool_.get() : nullptr;
  {
    std::lock_guard lock(mutex_);
    for (auto it = plan.idle.rbegin(); it != plan.idle.rend(); ++it) {
      if (it->state->pool() != pool) continue;
      std::unique_ptr<RunState> state = std::move(it->state);
      plan.idle.erase(std::next(it).base());
      return state;
    }
  }
  auto state = std::make_unique<RunState>(*plan.program, pool, nullptr);
  state->SetArena(hooks_.arena.get());
  if (options_.watch != nullptr) state->SetWatch(&options_.watch);
  if (options_.max_executed_nodes > 0) state->LimitExecutedNodes(options_.max_executed_nodes);
  return state;
}

void CompiledSession::GiveState(Plan& plan, std::unique_ptr<RunState> state) {
  std::unique_ptr<RunState> one_too_many;  // destroyed outside the lock
  const std::lock_guard lock(mutex_);
  plan.idle.push_back({std::move(state), std::chrono::steady_clock::now()});
  if (plan.idle.size() <= static_cast<size_t>(std::max(1, options_.max_idle_runs))) return;
  one_too_many = std::move(plan.idle.front().state);
  plan.idle.erase(plan.idle.begin());
}

void CompiledSession::ReleaseIdle(std::chrono::steady_clock::time_point unused_since) {
  output_blocks_->Release(unused_since);
  std::vector<IdleState> released;  // destroyed outside the lock
  const std::lock_guard lock(mutex_);
  for (Plan* plan : {&plan_, &separate_}) {
    const auto end = std::find_if(plan->idle.begin(), plan->idle.end(), [&](const IdleState& idle) {
      return idle.since >= unused_since;
    });
    std::move(plan->idle.begin(), end, std::back_inserter(released));
    plan->idle.erase(plan->idle.begin(), end);
  }
}

}  // namespace onward::executors

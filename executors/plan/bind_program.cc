#include "executors/plan/bind_program.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "executors/plan/placement.h"
#include "graph/base/checked.h"
#include "graph/ops/onward_schemas.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

// Larger values are computed while running even if shapes decide them.
constexpr int64_t kMaxBoundElements = 1024;

// For a kernel that computes more than binding keeps: its step runs with the others.
absl::Status TooMuchToBind() { return absl::CancelledError("not computed while binding"); }

// Services of a kernel that runs while binding: its outputs are small values of the binding.
class BindServices : public RunServices {
 public:
  BindServices(Binding& binding, absl::Span<const int32_t> results)
      : binding_(binding), results_(results) {}

  absl::StatusOr<TensorView> AllocateOutput(int output, DType dtype, DimsView dims) override {
    const int32_t result = results_[static_cast<size_t>(output)];
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(dtype, dims).status());
    if (result < 0 || NumElements(dims) > kMaxBoundElements) return TooMuchToBind();
    TensorView view = {dtype, Device(), nullptr, binding_.arena_dims(dims)};
    view.data = binding_.arena.Allocate(view.byte_size(), 1);
    binding_.values[static_cast<size_t>(result)] = {view, nullptr, true};
    return view;
  }
  absl::Status SetOutput(int, Value) override { return TooMuchToBind(); }
  absl::StatusOr<void*> AllocateTemporary(int64_t bytes) override {
    temporaries_.emplace_back(DType::kUint8, Dims{bytes});
    return temporaries_.back().raw_mutable_data();
  }
  uint64_t run_index() const override { return 0; }
  Stream* stream() const override { return nullptr; }
  std::shared_ptr<void>& body_state(const Body*) override { return state_; }

 private:
  Binding& binding_;
  absl::Span<const int32_t> results_;
  std::vector<Tensor> temporaries_;
  std::shared_ptr<void> state_;
};

// Larger blocks exist on no machine; below, sums over a plan do not overflow.
constexpr int64_t kLargestBlock = int64_t{1} << 42;

absl::Status CheckBlock(int64_t bytes) {
  if (bytes >= 0 && bytes <= kLargestBlock) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("out of memory: ", bytes, " bytes are needed"));
}

using Inputs = absl::InlinedVector<SlotValue, 8>;
using Outputs = absl::InlinedVector<OutputPlan, 4>;

class Binder {
 public:
  Binder(const Program& program, int num_workers, std::shared_ptr<const Binding> base)
      : program_(program),
        num_workers_(num_workers),
        binding_(std::make_shared<Binding>()),
        changed_(program.slots.size(), base == nullptr) {
    binding_->base = std::move(base);
  }

  absl::StatusOr<std::shared_ptr<const Binding>> Bind(absl::Span<const SlotValue> inputs) {
    AppendBindingKey(inputs, &binding_->key);
    if (base() != nullptr) {
      binding_->slots = base()->slots;
      binding_->values = base()->values;
      binding_->steps = base()->steps;
    } else {
      SetConstants();
    }
    SetInputs(inputs);
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      if (!AnyChanged(program_.step_inputs(program_.steps[s])) && base() != nullptr) continue;
      const absl::Status status = BindStep(static_cast<int32_t>(s));
      if (!status.ok()) return Annotate(status, program_.graph.Describe(program_.steps[s].node));
    }
    if (base() != nullptr && KeepsSharing(*base(), *binding_, changed_)) {
      binding_->last = base()->last;
      binding_->copied_outputs = base()->copied_outputs;
    } else {
      ShareMemory(program_, *binding_);
    }
    FindUpdatesInPlace(program_, *binding_);
    PlanArenas(program_, *binding_);
    return std::shared_ptr<const Binding>(std::move(binding_));
  }

 private:
  using Place = SlotPlan::Place;

  SlotPlan& plan(int32_t slot) { return binding_->slots[static_cast<size_t>(slot)]; }
  SlotValue& value(int32_t slot) { return binding_->values[static_cast<size_t>(slot)]; }
  const Slot& slot(int32_t index) const { return program_.slots[static_cast<size_t>(index)]; }
  const Binding* base() const { return binding_->base.get(); }

  void SetConstants() {
    binding_->slots.resize(program_.slots.size());
    binding_->values.resize(program_.slots.size());
    binding_->steps.resize(program_.steps.size());
    for (size_t i = 0; i < program_.slots.size(); ++i) {
      if (!program_.slots[i].is_constant) continue;
      binding_->slots[i].own = Place::kConstant;
      binding_->values[i] = {program_.slots[i].constant.view(), nullptr, true};
    }
  }

  void SetInputs(absl::Span<const SlotValue> inputs) {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const int32_t index = program_.inputs[i];
      plan(index).own = Place::kInput;
      plan(index).external = static_cast<int32_t>(i);
      SlotValue known = inputs[i];
      known.tensor.device = program_.device_of(index);
      known.tensor.data = nullptr;
      known.tensor.dims = binding_->arena_dims(known.tensor.dims);
      value(index) = known;
      CompareWithBase(index);
    }
  }

  // Notes whether a slot is the same as in the base: dims, and the elements as far as known.
  void CompareWithBase(int32_t index) {
    if (base() == nullptr) return;
    const SlotValue& now = value(index);
    const SlotValue& before = base()->values[static_cast<size_t>(index)];
    const TensorView& a = now.tensor;
    const TensorView& b = before.tensor;
    // Elements on a device cannot be compared.
    const bool on_device = !a.device.is_host() && a.data != nullptr;
    const bool same =
        !on_device && now.present == before.present && now.object == nullptr &&
        before.object == nullptr && a.dtype == b.dtype && a.dims == b.dims &&
        (a.data == nullptr) == (b.data == nullptr) &&
        (a.data == b.data || std::memcmp(a.data, b.data, static_cast<size_t>(a.byte_size())) == 0);
    changed_[static_cast<size_t>(index)] = !same;
  }

  bool AnyChanged(absl::Span<const int32_t> operands) const {
    return std::any_of(operands.begin(), operands.end(), [&](int32_t operand) {
      return operand >= 0 && changed_[static_cast<size_t>(operand)];
    });
  }

  // Returns whether the step can be bound now: every tensor input has dims.
  bool GatherInputs(absl::Span<const int32_t> operands, Inputs& inputs, bool& all_values) {
    all_values = true;
    for (int32_t operand : operands) {
      if (operand < 0) {
        inputs.push_back({});
        continue;
      }
      const SlotPlan& source = plan(operand);
      if (source.own == Place::kUnknown) return false;
      inputs.push_back(value(operand));
      inputs.back().present = true;
      all_values &= inputs.back().tensor.data != nullptr;
    }
    return true;
  }

  absl::Status BindStep(int32_t s) {
    const Step& step = program_.steps[static_cast<size_t>(s)];
    StepPlan& step_plan = binding_->steps[static_cast<size_t>(s)];
    const absl::Span<const int32_t> operands = program_.step_inputs(step);
    const absl::Span<const int32_t> results = program_.step_outputs(step);
    step_plan = StepPlan();
    bool in_arena = true;
    for (int32_t result : results) {
      if (result < 0) continue;
      SetUnknown(result);
      in_arena &= slot(result).arena;
    }
    if (!in_arena) return absl::OkStatus();  // dynamic
    Inputs inputs;
    bool all_values;
    if (!GatherInputs(operands, inputs, all_values)) return absl::OkStatus();
    Outputs outputs(results.size());
    BindContext context(inputs, absl::MakeSpan(outputs), &binding_->arena, num_workers_, false);
    ONWARD_RETURN_IF_ERROR(BindKernel(*step.kernel, context));
    if (context.deferred()) return absl::OkStatus();
    const bool computes = all_values && step.device == 0 && step.kernel->pure();
    bool all_planned = true;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] >= 0) all_planned &= outputs[i].kind == OutputPlan::Kind::kPlanned;
    }
    if (!all_planned) {  // dynamic, bound again with data, unless the data is known
      if (!computes) return absl::OkStatus();
      ONWARD_RETURN_IF_ERROR(ComputeSizes(step, step_plan, outputs, context));
      for (const int32_t result : results) {
        if (result >= 0) CompareWithBase(result);
      }
      return absl::OkStatus();
    }
    step_plan.mode = StepPlan::Mode::kRun;
    step_plan.state = context.state();
    step_plan.scratch_bytes = context.scratch();
    ONWARD_RETURN_IF_ERROR(CheckBlock(context.scratch()));
    ONWARD_RETURN_IF_ERROR(SetOutputs(s, results, outputs, context));
    if (step_plan.mode == StepPlan::Mode::kRun && computes) {
      ONWARD_RETURN_IF_ERROR(ComputeNow(step, step_plan, context.scratch()));
    }
    if (all_values && IsCopyToDevice(step)) SendNow(step, step_plan);
    for (const int32_t result : results) {
      if (result >= 0) CompareWithBase(result);
    }
    return absl::OkStatus();
  }

  void SetUnknown(int32_t result) {
    plan(result).own = Place::kUnknown;
    plan(result).alias = -1;
    plan(result).in_place = 0;
    value(result) = SlotValue();
    changed_[static_cast<size_t>(result)] = true;
  }

  absl::Status SetOutputs(int32_t s, absl::Span<const int32_t> results, const Outputs& outputs,
                          const BindContext& context) {
    bool all_known = true;
    for (size_t i = 0; i < results.size(); ++i) {
      const int32_t result = results[i];
      if (result < 0) continue;
      const OutputPlan& output = outputs[i];
      if (slot(result).dtype == DType::kUndefined) {
        return absl::InternalError(absl::StrCat("the dtype of output ", i, " is not known"));
      }
      ONWARD_ASSIGN_OR_RETURN(const int64_t bytes,
                              CheckedByteSize(slot(result).dtype, output.dims));
      ONWARD_RETURN_IF_ERROR(CheckBlock(bytes));
      SlotValue& known = value(result);
      known.present = true;
      known.tensor = {slot(result).dtype, program_.device_of(result), nullptr,
                      binding_->arena_dims(output.dims)};
      if (output.has_value) {
        known.tensor.data = const_cast<void*>(context.output_value(static_cast<int>(i)));
        plan(result).own = Place::kConstant;
        continue;
      }
      if (const int32_t same = KnownAlias(s, output); same >= 0 && !slot(result).is_output) {
        known.tensor.data = value(same).tensor.data;
        plan(result).own = Place::kConstant;
        all_known &= results.size() == 1;
        continue;
      }
      all_known = false;
      plan(result).own = Place::kArena;
      plan(result).alias = output.alias;
      plan(result).in_place = output.in_place;
    }
    if (all_known) binding_->steps[static_cast<size_t>(s)].mode = StepPlan::Mode::kSkip;
    return absl::OkStatus();
  }

  // The input with the same elements as `output` under other dims, if they are known; or -1.
  int32_t KnownAlias(int32_t s, const OutputPlan& output) {
    if (output.alias < 0) return -1;
    const Step& step = program_.steps[static_cast<size_t>(s)];
    const int32_t operand = program_.step_inputs(step)[static_cast<size_t>(output.alias)];
    const bool known = operand >= 0 && plan(operand).own == Place::kConstant &&
                       slot(operand).device == step.device;
    return known ? operand : -1;
  }

  absl::Status ComputeNow(const Step& step, StepPlan& step_plan, int64_t scratch) {
    const absl::Span<const int32_t> results = program_.step_outputs(step);
    for (int32_t result : results) {
      if (result >= 0 && value(result).tensor.num_elements() > kMaxBoundElements)
        return absl::OkStatus();
    }
    for (int32_t result : results) {
      if (result < 0) continue;
      SlotValue& known = value(result);
      if (known.tensor.data == nullptr)
        known.tensor.data = binding_->arena.Allocate(known.tensor.byte_size(), 1);
      plan(result).own = Place::kConstant;
    }
    ONWARD_RETURN_IF_ERROR(RunNow(step, step_plan.state, scratch));
    step_plan.mode = StepPlan::Mode::kSkip;
    return absl::OkStatus();
  }

  bool IsCopyToDevice(const Step& step) const {
    return step.device > 0 && step.kernel->host_inputs() == 1 &&
           program_.graph.node(step.node).Is("Copy", kOnwardDomain);
  }

  // Gives the device a value that is known already; where that fails, the step does it in each run.
  void SendNow(const Step& step, StepPlan& step_plan) {
    const int32_t operand = program_.step_inputs(step)[0], result = program_.step_outputs(step)[0];
    const TensorView& known = value(operand).tensor;
    const ExecutionProvider& provider = *program_.providers[step.device];
    if (slot(result).is_output || !provider.CheckDevice().ok()) return;
    absl::StatusOr<std::shared_ptr<void>> memory = AllocateOn(provider, known.byte_size());
    if (!memory.ok()) return;
    absl::Status sent;
    if (known.byte_size() > 0)
      sent =
          provider.Copy(memory->get(), known.data, known.byte_size(), CopyKind::kToDevice, nullptr);
    if (!sent.ok() || !provider.Synchronize(nullptr).ok()) return;
    value(result).tensor.data = memory->get();
    plan(result).own = Place::kConstant;
    step_plan.mode = StepPlan::Mode::kSkip;
    binding_->sent.push_back(*std::move(memory));
  }

  absl::Status RunNow(const Step& step, void* state, int64_t scratch) {
    const absl::Span<const int32_t> results = program_.step_outputs(step);
    BindServices services(*binding_, results);
    std::shared_ptr<void> memory;
    if (scratch > 0) {
      ONWARD_ASSIGN_OR_RETURN(memory, AllocateMemory(scratch));
    }
    RunContext context(binding_->values.data(), program_.step_inputs(step), results, state,
                       memory.get(), nullptr, &services);
    return step.kernel->Run(context);
  }

  // The outputs of a step whose inputs are known and whose sizes they decide (NonZero of small
  // values). What is too large stays unknown.
  absl::Status ComputeSizes(const Step& step, StepPlan& step_plan, const Outputs& outputs,
                            const BindContext& bound) {
    const absl::Span<const int32_t> results = program_.step_outputs(step);
    for (const int32_t operand : program_.step_inputs(step)) {
      if (operand >= 0 && value(operand).tensor.num_elements() > kMaxBoundElements)
        return absl::OkStatus();
    }
    BindServices memory(*binding_, results);
    absl::Status status;
    for (size_t i = 0; i < results.size() && status.ok(); ++i) {
      if (results[i] < 0 || outputs[i].kind != OutputPlan::Kind::kPlanned) continue;
      const auto view =
          memory.AllocateOutput(static_cast<int>(i), slot(results[i]).dtype, outputs[i].dims);
      status = view.status();
      const void* known = bound.output_value(static_cast<int>(i));
      if (view.ok() && outputs[i].has_value)
        std::memcpy(view->data, known, static_cast<size_t>(view->byte_size()));
    }
    if (status.ok()) status = RunNow(step, bound.state(), bound.scratch());
    for (const int32_t result : results) {
      if (result < 0) continue;
      const bool made = status.ok() && value(result).tensor.data != nullptr &&
                        value(result).tensor.dtype == slot(result).dtype;
      if (!made && status.ok()) status = TooMuchToBind();
    }
    for (const int32_t result : results) {
      if (result < 0) continue;
      if (!status.ok()) SetUnknown(result);
      if (status.ok()) plan(result).own = Place::kConstant;
    }
    if (status.ok()) step_plan.mode = StepPlan::Mode::kSkip;
    return absl::IsCancelled(status) ? absl::OkStatus() : status;
  }

  const Program& program_;
  int num_workers_;
  std::shared_ptr<Binding> binding_;
  std::vector<char> changed_;  // per slot: not as in the base
};

}  // namespace

void AppendBindingKey(absl::Span<const SlotValue> inputs, std::vector<int64_t>* key) {
  for (const SlotValue& input : inputs) {
    if (input.object != nullptr || !input.present) {
      key->push_back(-1);
      continue;
    }
    key->push_back(input.tensor.rank());
    key->insert(key->end(), input.tensor.dims.begin(), input.tensor.dims.end());
  }
}

absl::StatusOr<std::shared_ptr<const Binding>> BindProgram(
    const Program& program, absl::Span<const SlotValue> inputs, int num_workers,
    const std::shared_ptr<const Binding>& similar) {
  // Kernels of a device may ask its libraries.
  if (program.is_runnable) ONWARD_RETURN_IF_ERROR(program.providers.back()->MakeCurrent());
  const bool has_base = similar != nullptr && similar->base != nullptr;
  return Binder(program, num_workers, has_base ? similar->base : similar).Bind(inputs);
}

}  // namespace onward::executors

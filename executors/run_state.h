// The mutable side of one run: slots, arenas, and memory for what is sized while running. Reused
// from run to run; after a first run with equal shapes nothing is allocated. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "executors/captured_steps.h"
#include "executors/dynamic_pool.h"
#include "executors/plan/binding.h"
#include "executors/shared_arena.h"
#include "executors/trace_scope.h"
#include "onward/run_options.h"

namespace onward::executors {

class RunState : public RunServices {
 public:
  // `pool` may be null. The program must outlive the state. `parent`: the state that a body runs
  // within.
  RunState(const Program& program, ThreadPool* pool, Trace* trace, RunState* parent = nullptr);

  // Sets the trace that records the coming runs; null: none.
  void SetTrace(Trace* trace) { trace_ = trace; }
  // See SessionOptions::watch; must outlive the state.
  using Watch = std::function<absl::Status(std::string_view, const TensorView&)>;
  void SetWatch(const Watch* watch) { watch_ = watch; }
  // Sets the arena that host values use in place of the state's own; null: its own. Must
  // be called before the first Prepare.
  void SetArena(SharedArena* arena) { shared_arena_ = arena; }
  // Nodes that a run may execute, those of bodies included.
  void LimitExecutedNodes(int64_t limit) { max_executed_nodes_ = limit; }

  // Makes the state ready for the binding's shapes.
  absl::Status Prepare(std::shared_ptr<const Binding> binding);
  const Binding* binding() const { return binding_.get(); }

  // The caller's memory. Outputs that the binding does not place at kOutput are ignored here and
  // read with `result`.
  void SetInput(int32_t index, const SlotValue& value);
  void SetOutput(int32_t index, void* data);

  // Gives the caller's memory for an output whose size a step finds.
  using Room = absl::FunctionRef<absl::StatusOr<void*>(int32_t output, DType dtype, DimsView dims)>;
  // `room` must outlive the runs; null: such outputs lie in memory of the state.
  void SetRoom(const Room* room) { room_ = room; }
  // Returns whether the run wrote an output to the memory that `room` gave.
  bool IsInRoom(int32_t output) const {
    const auto slot = static_cast<size_t>(program_.outputs[static_cast<size_t>(output)]);
    return roomed_output_[slot] == output && !owns_[slot];
  }

  // Runs every step. Errors name the node. `options`: of the model's run, also while its bodies
  // run; must outlive the run. Null: of a body, or nobody ends it.
  absl::Status Run(uint64_t run_index, const RunOptions* options = nullptr);

  // Ends what Run left to the device, and fails where the device found a fault.
  absl::Status Finish();
  // Fails where the device found one so far. A loop may have no end without the value.
  absl::Status CheckFault() const;
  // Copies an output that lies on a device to `to` there, before Finish.
  absl::Status CopyOnDevice(int32_t output, void* to);

  // An output as it stands after Run; valid until the next Prepare or Run.
  const SlotValue& result(int32_t index) const {
    return slots_[static_cast<size_t>(program_.outputs[static_cast<size_t>(index)])];
  }
  ThreadPool* pool() const { return pool_; }
  Trace* trace() const { return trace_; }
  // Bytes that the step that runs needs in memory of this state and of those it runs within.
  int64_t LiveBytesNow();

  // --- RunServices, for the step that runs
  absl::StatusOr<TensorView> AllocateOutput(int output, DType dtype, DimsView dims) override;
  absl::Status SetOutput(int output, Value value) override;
  absl::StatusOr<void*> AllocateTemporary(int64_t bytes) override;
  absl::StatusOr<void*> AllocateTemporaryOn(size_t device, int64_t bytes);
  uint64_t run_index() const override { return run_index_; }
  BatchSlice batch_slice() const override { return top_->batch_slice_; }
  // Counts this state's runs: what runs within one can tell it from another of equal index.
  uint64_t serial() const { return serial_; }
  Stream* stream() const override { return streams_.empty() ? nullptr : streams_.back().get(); }
  DeviceFaultSite device_fault() const override {
    return {device_run_.get(), first_step_ + current_step_ + 1};
  }
  std::shared_ptr<void>& body_state(const Body* body) override { return bodies_[body]; }

 private:
  // Owned by a slot besides its place in the binding.
  struct Owned {
    Dims dims;
    DynamicPool::Block* block = nullptr;
    Value value;  // strings, sequences, optionals, maps
  };

  void SetBatchSlice(const BatchSlice& slice);
  absl::Status RunAll();
  absl::Status CheckEnd() const;  // whether the options end the run now
  absl::Status RunSteps(int32_t begin, int32_t end);
  absl::Status RunStep(int32_t s, const StepPlan& plan);
  // Puts the recorded work of the steps on the stream, and records it first where that was not
  // done. False: it is not recorded, and the steps have to run.
  absl::StatusOr<bool> LaunchCaptured(CapturedSteps& steps);
  absl::StatusOr<std::unique_ptr<RecordedWork>> Capture(const CapturedSteps& steps);
  // The callers' memory that the steps use.
  std::vector<const void*> AddressesOf(const CapturedSteps& steps) const;
  void FindRoomedOutputs();          // of the binding
  absl::Status PrepareDeviceWork();  // for the binding
  absl::Status FaultError() const;   // of top_, which has one
  void BeginDeviceWork();            // of a run
  void AbandonDeviceWork();          // of a run that failed
  absl::Status WaitForDevice();
  absl::Status LetDeviceFollow();  // before a turn of a body in a run that may end
  absl::Status ShowOutputs(int32_t s) const;
  std::vector<std::string> InputTypes(const Step& step) const;  // as TraceEvent has them
  absl::Status RunDynamic(int32_t s);
  absl::Status GiveOutputs(const Step& step, absl::Span<const int32_t> results,
                           absl::Span<const OutputPlan> outputs, const BindContext& context);
  // Checks that a kernel's result is what the readers of its slot expect.
  absl::Status CheckResult(int output, int32_t result, DType dtype) const;
  bool ShareBlock(const Step& step, int32_t result, const OutputPlan& output);
  absl::Status CopyBoundValue(int32_t result, const void* value);
  void ReleaseSlot(int32_t slot);
  void ReleaseAfter(int32_t s);
  DynamicPool& pool_of(int32_t slot) {
    return pools_[program_.slots[static_cast<size_t>(slot)].device];
  }

  const Program& program_;
  ThreadPool* pool_;
  Trace* trace_;
  RunState* const parent_;                  // that this body runs within; null: the model's
  RunState* const top_;                     // the model's state; `this` when not running a body
  int64_t max_executed_nodes_ = INT64_MAX;  // of top_ alone, as what follows
  int64_t executed_nodes_ = 0;
  BatchSlice batch_slice_;               // of top_
  const RunOptions* options_ = nullptr;  // of top_, while it runs; null: nothing may end the run
  int turns_ahead_ = 0;                  // of bodies of top_, which the device may not have done
  int turns_allowed_ = 1;                // so many
  std::shared_ptr<const Binding> binding_;
  std::vector<SlotValue> slots_;
  std::vector<Owned> owned_;
  std::vector<bool> owns_;                  // whether owned_[slot] holds anything
  std::vector<std::vector<int32_t>> dies_;  // per step: computed slots whose last use it is
  absl::Status ReserveArena(size_t device, int64_t bytes);

  SharedArena* shared_arena_ = nullptr;
  std::vector<std::shared_ptr<void>> arenas_;
  std::vector<int64_t> arena_capacity_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<std::vector<int32_t>> input_slots_;   // per external input: slots in its memory
  std::vector<std::vector<int32_t>> output_slots_;  // per external output
  const Room* room_ = nullptr;
  std::vector<int32_t> roomed_output_;   // per slot: the external output that room_ serves, or -1
  std::vector<CapturedSteps> captured_;  // of the binding
  std::shared_ptr<kernels::DeviceRun> device_run_;  // null: no device
  std::vector<const RunState*> parts_;              // of top_: itself and the states of bodies
  int32_t num_steps_ = 0;                           // of top_: of all parts
  int32_t first_step_ = 0;                          // among those
  int32_t step_of_parent_ = -1;                     // whose body this is
  bool ends_on_device_ = false;  // no step waits for the device's last work in this binding
  bool unfinished_ = false;      // nor did the run
  bool ran_ = false;  // with this binding: kernels are loaded, handles made, and it may be recorded
  std::vector<DynamicPool> pools_;
  StateArena step_arena_;  // state of the dynamic step that runs
  std::vector<std::pair<size_t, DynamicPool::Block*>> temporaries_;  // with the device
  std::unordered_map<const Body*, std::shared_ptr<void>> bodies_;
  int32_t current_step_ = -1;
  uint64_t run_index_ = 0;
  uint64_t serial_ = 0;
  const Watch* watch_ = nullptr;     // of the top state
  std::vector<int64_t> live_bytes_;  // per step of the binding, once a trace asked
};

}  // namespace onward::executors

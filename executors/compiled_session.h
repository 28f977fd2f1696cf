// The Session that runs on a compiled program: cached bindings, idle run states, a thread pool.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "executors/compile.h"
#include "executors/dim_names.h"
#include "executors/output_blocks.h"
#include "executors/run_state.h"
#include "executors/session_counters.h"
#include "onward/session.h"
#include "onward/trace.h"

namespace onward::executors {

class CompiledSession : public Session {
 public:
  // `updated_input`: per output, the position of the input that it updates, or -1. `source`: what
  // the program is made of again where names of dims do not hold (SourceWithoutNames).
  CompiledSession(Compiled compiled, const SessionOptions& options,
                  const KernelOptions& kernel_options, const CompileHooks& hooks,
                  std::shared_ptr<ThreadPool> pool, std::shared_ptr<MemoryLimit> memory,
                  std::vector<int32_t> updated_input, Metadata metadata,
                  std::optional<Graph> source);

  absl::StatusOr<std::unique_ptr<Session>> Share(const SessionOptions& options) const override;

  const std::vector<ValueInfo>& inputs() const override { return inputs_; }
  const std::vector<ValueInfo>& outputs() const override { return outputs_; }
  const Metadata& metadata() const override { return metadata_; }
  Precision precision() const override { return kernel_options_.precision; }
  absl::Status RowsAreIndependent() const override { return rows_; }
  void set_run_index(uint64_t index) override { run_index_ = index; }
  void ReleaseIdle(std::chrono::steady_clock::time_point unused_since) override;

  using Session::Run;
  absl::Status Run(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                   const RunOptions& options) override;

  const Graph& graph() const override { return plan_.program->graph; }
  const std::vector<PassReport>& passes() const override { return passes_; }
  std::vector<NodeExplanation> Explain() const override { return plan_.program->explanations; }
  absl::StatusOr<PlannedMemory> PlanMemory(const Inputs& named) override;
  MemoryLimit& memory() const override { return *memory_; }
  absl::Status WriteProfile(const std::string& path) const override;
  std::optional<MemoryPeak> RecordedPeak() const override;
  std::vector<TraceEvent> RecordedSteps() const override { return profile_.events(); }

 private:
  using InputSlots = absl::InlinedVector<SlotValue, 16>;

  struct IdleState {
    std::unique_ptr<RunState> state;
    std::chrono::steady_clock::time_point since;
  };
  // A program with the run states that nobody uses now.
  struct Plan {
    std::shared_ptr<const Program> program;
    std::vector<IdleState> idle;  // the longest unused first
  };
  // A program for inputs of some sizes.
  struct Bound {
    Plan* plan;
    std::shared_ptr<const Binding> binding;
  };

  absl::Status RunChecked(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                          const RunOptions& options);
  // The inputs by position, with their defaults where none is given, checked against the model.
  absl::StatusOr<InputSlots> CheckedSlots(absl::Span<const Value> inputs) const;
  // Copies inputs that are not where the program reads them to tensors of `moved`.
  absl::Status MoveInputs(absl::Span<const Value> inputs, InputSlots& slots,
                          std::vector<Tensor>& moved) const;
  PlannedMemory MemoryOf(const Program& program, const Binding& bound) const;
  absl::Status RunIn(RunState& state, const Bound& found, absl::Span<const SlotValue> slots,
                     absl::Span<Value> outputs, const RunOptions& options);
  // The number by which random ops of the run draw.
  uint64_t NumberOf(const RunOptions& options);
  // The trace that records a run with these options; null: none does.
  Trace* TraceOf(const RunOptions& options);
  // Outputs that no step wrote into the caller's memory.
  absl::Status CopyOutputs(RunState& state, const Bound& bound, absl::Span<const SlotValue> slots,
                           absl::Span<Value> outputs);
  // Returns whether the caller gives one tensor as the state and as the output that updates it, and
  // the program may write the one over the other.
  bool IsUpdatedInPlace(const Binding& bound, size_t output, absl::Span<const SlotValue> inputs,
                        const Value& value) const;
  absl::StatusOr<Bound> FindBinding(absl::Span<const SlotValue> slots);
  // The program whose assumptions the inputs' sizes keep.
  absl::StatusOr<Plan*> PlanFor(absl::Span<const SlotValue> slots);
  bool SameInterface(const Graph& graph) const;
  std::unique_ptr<RunState> TakeState(Plan& plan, RunPriority priority);
  void GiveState(Plan& plan, std::unique_ptr<RunState> state);

  std::vector<PassReport> passes_;
  absl::Status rows_;
  SessionOptions options_;
  KernelOptions kernel_options_;
  CompileHooks hooks_;
  std::shared_ptr<MemoryLimit> memory_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> outputs_;
  DimNames dim_names_;
  std::vector<int32_t> updated_input_;
  Metadata metadata_;
  std::shared_ptr<ThreadPool> pool_;
  std::optional<SessionCounters> counters_;
  Trace profile_;
  std::atomic<uint64_t> run_index_{0};
  std::atomic<int64_t> begun_runs_{0};  // of which some are recorded
  // The plan that runs where the dims' names hold, and the one, made on demand, that runs
  // elsewhere.
  Plan plan_, separate_;
  std::optional<Graph> source_;  // what separate_ is made of where the model is not imported again
  mutable std::mutex separate_mutex_;  // guards the making of separate_
  std::mutex mutex_;                   // guards the plans' idle states and the bindings
  std::list<Bound> bindings_;          // most recently used first
  std::shared_ptr<OutputBlocks> output_blocks_ = std::make_shared<OutputBlocks>();
  std::shared_ptr<void> on_shortage_;  // the last member: ends before the states do
};

// Exceptions of libraries, and of constructors that find no memory, as statuses.
absl::Status StatusOf(const std::exception& error);

}  // namespace onward::executors

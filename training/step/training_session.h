// Graphs that share state: what one of them updates in a run, all of them read in the next. A
// training has a phase that makes a step, perhaps one that adds up gradients, one that evaluates.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executors/shared_arena.h"
#include "graph/passes/pass.h"
#include "onward/import.h"
#include "onward/session.h"
#include "training/step/phase.h"

namespace onward::training {

// Not thread-safe. State lies on the device of the sessions' provider, where steps write over it.
class TrainingSession {
 public:
  // The state is what any phase updates (AddOptimizer, or an imported TrainingInfoProto), by the
  // names of the inputs. Each has a value to start with, from the first phase that has it, and one
  // dtype and shape in all phases.
  // `options`: by phase; the last ones are the default's where there are fewer. Their
  // stop_after_patches is of all phases together. `late_passes`: of the first phase's graph, once
  // it is optimised (CompileHooks::late_passes). `arena`: where all phases compute; null: each has
  // memory of its own.
  static absl::StatusOr<std::unique_ptr<TrainingSession>> Create(
      std::vector<Phase> phases, absl::Span<const SessionOptions> options,
      const std::vector<Pass>& late_passes = {},
      std::shared_ptr<executors::SharedArena> arena = nullptr);
  static absl::StatusOr<std::unique_ptr<TrainingSession>> Create(
      Phase step, const SessionOptions& options = {}, const std::vector<Pass>& late_passes = {});
  static absl::StatusOr<std::unique_ptr<TrainingSession>> Create(
      Model step, const SessionOptions& options = {}, const std::vector<Pass>& late_passes = {}) {
    return Create(Phase{std::move(step)}, options, late_passes);
  }

  // By position in the phase's graph; those that are state are empty.
  using Outputs = std::vector<Value>;
  // True if the state may take what a run computed.
  using Accept = std::function<bool(const Outputs& outputs)>;

  // Runs a phase once. With `accept` state keeps its value when the run fails or `accept` refuses
  // it; without, state is written in place where the program can do that and nobody else holds it,
  // and is lost when the run fails. Inputs with a default that are not given have their default
  // (see Set). Where `outputs` come from the step before, their memory is used again, and once
  // shapes repeat a step allocates nothing.
  absl::Status Step(const Session::Inputs& inputs, Outputs& outputs, size_t phase = 0,
                    const Accept& accept = nullptr);
  // The same with the outputs that are not state by name.
  absl::StatusOr<Session::Outputs> Step(const Session::Inputs& inputs, size_t phase = 0);

  // The inputs of Step; those that have a value already, as state has, are optional.
  const std::vector<ValueInfo>& inputs(size_t phase = 0) const { return phases_[phase].inputs; }
  // Those that are neither state nor Phase::inputs: what a batch may feed.
  const std::vector<ValueInfo>& data_inputs(size_t phase = 0) const {
    return phases_[phase].data_inputs;
  }
  // The places of the outputs.
  const StepOutputs& outputs(size_t phase = 0) const { return phases_[phase].outputs; }
  // The memory that a step with inputs of these shapes needs beside its state. Reads no data.
  absl::StatusOr<PlannedMemory> PlanMemory(const Session::Inputs& inputs, size_t phase = 0);
  // PlannedMemory::arena.
  absl::StatusOr<int64_t> PlannedBytes(const Session::Inputs& inputs, size_t phase = 0);
  // Runs a phase without keeping what it computes: the bytes that it took at its peak beside what
  // was taken before.
  absl::StatusOr<int64_t> MeasureMemory(const Session::Inputs& inputs, size_t phase = 0);

  std::vector<std::string> state_names() const;
  // The names of the state that a run of a phase changes.
  std::vector<std::string> updated_names(size_t phase = 0) const;
  // On the host.
  absl::StatusOr<Tensor> State(const std::string& name) const;
  // The tensor itself, which may lie on the device.
  absl::StatusOr<Tensor> HeldState(const std::string& name) const;
  // Sets state, or the value that an input without one in Step has from now on (settings of an
  // optimizer), in all phases that have it. InvalidArgument: no such input, or another dtype or
  // shape.
  absl::Status Set(const std::string& name, Tensor value);
  // The same of an input of Phase::inputs, in all phases that have it.
  absl::Status Set(std::optional<size_t> StepInputs::*input, const Tensor& value);

  // Sets what a model's initialization graphs compute, with the session options' seed: state and
  // values of inputs. Errors as Set and Session::Run.
  absl::Status Initialize(const TrainingInitialization& initialization,
                          const SessionOptions& options = {});

  // The rows of a batch that the coming runs of a phase are given, where other ranks have the rest.
  void set_batch_slice(const BatchSlice& slice, size_t phase = 0) {
    phases_[phase].run_options.batch_slice = slice;
  }

  const Session& session(size_t phase = 0) const { return *phases_[phase].session; }
  Session& session(size_t phase = 0) { return *phases_[phase].session; }

 private:
  // One update: positions in state_ and among the session's outputs.
  struct Update {
    size_t state;
    size_t output;
    bool in_place = true;  // until a run showed that it is not
    bool over = false;     // in the run under way
  };
  struct CompiledPhase {
    std::unique_ptr<Session> session;
    StepOutputs outputs;
    StepInputs settings;
    std::vector<ValueInfo> inputs;  // the session's; state is optional
    std::vector<ValueInfo> data_inputs;
    std::map<std::string, size_t> input_index;
    std::vector<std::pair<size_t, size_t>> reads;  // position in state_, input
    std::vector<Update> updates;
    std::vector<bool> is_state;  // per output
    std::vector<Value> set;      // per input; empty: given in Step, state or default
    std::vector<Value> given;    // per input, in a run
    RunOptions run_options;
    std::vector<Value> results;  // per output; those of state change places with state_
  };

  TrainingSession() = default;
  // State that begins with the value of other state (averages of weights) gets memory of its own.
  void SeparateState();
  absl::Status AddPhase(Phase phase, const SessionOptions& options,
                        const std::vector<Pass>& late_passes,
                        std::shared_ptr<executors::SharedArena> arena);
  int patches() const;  // that the passes of all phases made
  // phase.given: what is in `inputs`, else what the input has in Step. InvalidArgument: no such
  // input.
  absl::Status Give(const Session::Inputs& inputs, CompiledPhase& phase) const;

  std::vector<CompiledPhase> phases_;
  std::map<std::string, size_t> state_index_;
  std::vector<Value> state_;
  std::string provider_;
};

}  // namespace onward::training

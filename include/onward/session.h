// Session: a compiled model that runs. The C++ entry point of Onward.
//
//   ONWARD_ASSIGN_OR_RETURN(auto session, onward::Session::Load("model.onnx"));
//   ONWARD_ASSIGN_OR_RETURN(auto outputs, session->Run({{"image", image}}));
//   const onward::Tensor& scores = outputs.at("scores").tensor();
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/explanation.h"
#include "onward/graph.h"
#include "onward/interface.h"
#include "onward/memory_limit.h"
#include "onward/run_options.h"
#include "onward/session_options.h"
#include "onward/trace.h"
#include "onward/value.h"

namespace onward {

// The memory that a run takes besides what the session holds already (packed weights, what is
// bound): see MemoryLimit::used.
struct PlannedMemory {
  int64_t arena = 0;           // values and scratch
  int64_t outputs = 0;         // that are not updates of state
  int64_t updates = 0;         // outputs that may be written over the state that they update
  int64_t copied_updates = 0;  // outputs that update state and may not
  // Steps whose sizes data decides, and bodies of control flow: they take memory while they run,
  // which no other figure here has.
  int sized_at_run = 0;
};

// The step of the recorded ones that needs the most memory.
struct MemoryPeak {
  int64_t bytes =
      0;  // values and scratch that the session holds; inputs, outputs and weights are not
  std::string node;  // "[Conv 'conv1']"
};

class Session {
 public:
  using Inputs = std::map<std::string, Value>;
  using Outputs = std::map<std::string, Value>;

  virtual ~Session() = default;

  // Imports, optimises and compiles; Gradient nodes of ai.onnx.preview.training become the nodes
  // that compute them. Errors list everything that is unsupported, each with node name and op.
  static absl::StatusOr<std::unique_ptr<Session>> Load(const std::string& path,
                                                       const SessionOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Session>> Create(Model model,
                                                         const SessionOptions& options = {});

  // Another session of the same compiled model: kernels and packed weights are there once. Threads,
  // memory limit, arena, the limits of runs, watch, log, counters and profile are those of
  // `options`; how a model is compiled (provider, precision, seed, ...) stays as it is. Neither
  // session needs the other to live on.
  virtual absl::StatusOr<std::unique_ptr<Session>> Share(const SessionOptions& options) const = 0;

  virtual const std::vector<ValueInfo>& inputs() const = 0;
  virtual const std::vector<ValueInfo>& outputs() const = 0;
  virtual const Metadata& metadata() const = 0;  // of the model
  // The arithmetic is in SessionOptions::precision, but in kFast where that is kDefault and all
  // products of the model multiply bfloat16, which kFast does not round further.
  virtual Precision precision() const = 0;
  // OK: runs may be joined. All inputs and outputs have one symbol as their first dim, and a row of
  // the outputs depends on the same row of the inputs alone. FailedPrecondition: names the first
  // input, output or node of which this is not known, or says that SessionOptions::check_rows was
  // not set.
  virtual absl::Status RowsAreIndependent() const = 0;

  // Runs once; safe from many threads at once. InvalidArgument: a missing or unknown input (with
  // the closest name), a dtype or shape that does not fit (expected, got, symbols).
  // Cancelled, DeadlineExceeded: what `options` asked for; the run's memory is given back.
  absl::StatusOr<Outputs> Run(const Inputs& inputs, const RunOptions& options);
  absl::StatusOr<Outputs> Run(const Inputs& inputs) { return Run(inputs, RunOptions()); }

  // By position. An element of `outputs` is written in place where it holds a tensor that fits and
  // that nobody shares, or the state that it updates (Model::updates), if the program can do that;
  // others are replaced. After a first run with equal shapes this allocates nothing.
  virtual absl::Status Run(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                           const RunOptions& options) = 0;
  absl::Status Run(absl::Span<const Value> inputs, absl::Span<Value> outputs) {
    return Run(inputs, outputs, RunOptions());
  }

  // The coming run is number `index`, the next one `index` + 1: random ops draw by seed and number.
  // Runs are numbered from 0 on.
  virtual void set_run_index(uint64_t index) = 0;
  // Gives back the memory of runs that is kept for coming ones and that none has used since; the
  // limit does the same with all of it before it refuses a run. Thread-safe.
  virtual void ReleaseIdle(std::chrono::steady_clock::time_point unused_since) = 0;

  // --- seeing inside
  virtual const Graph& graph() const = 0;  // as optimised
  virtual const std::vector<PassReport>& passes() const = 0;
  virtual std::vector<NodeExplanation> Explain() const = 0;
  // For inputs of these shapes; their data is not read. Errors as Run.
  virtual absl::StatusOr<PlannedMemory> PlanMemory(const Inputs& inputs) = 0;
  // PlannedMemory::arena.
  absl::StatusOr<int64_t> PlannedBytes(const Inputs& inputs);
  virtual MemoryLimit& memory() const = 0;  // what the session's memory counts against
  // Writes what was recorded as a Chrome trace. FailedPrecondition without options.profile.
  virtual absl::Status WriteProfile(const std::string& path) const = 0;
  virtual std::optional<MemoryPeak> RecordedPeak() const = 0;  // none: no step was recorded
  // The steps that were recorded, in the order of their ends; see OpTimesOf.
  virtual std::vector<TraceEvent> RecordedSteps() const = 0;
};

}  // namespace onward

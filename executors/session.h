// Session: a compiled model that runs. The C++ entry point of Onward.
//
//   ONWARD_ASSIGN_OR_RETURN(auto session, onward::Session::Load("model.onnx"));
//   ONWARD_ASSIGN_OR_RETURN(auto outputs, session->Run({{"image", image}}));
//   const onward::Tensor& scores = outputs.at("scores").tensor();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/memory_limit.h"
#include "graph/base/value.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass.h"
#include "kernels/kernel.h"

namespace onward {

class SharedArena;  // executors/shared_arena.h

struct SessionOptions {
  std::string provider = "cpu";  // "cpu" or "cuda"
  int num_threads = 0;           // 0: the physical cores
  Precision precision = Precision::kDefault;
  bool deterministic = false;
  uint64_t seed = 0;
  bool optimize = true;            // false: no passes but the ones that make the model runnable
  bool reference_kernels = false;  // only the portable reference kernels
  int stop_after_patches = -1;     // see PassOptions
  int max_bindings = 16;           // cached sets of input shapes; the least recently used goes
  // Bytes of tensors that the session may hold at a time, outputs that callers keep included; 0:
  // the machine's memory. What needs more is refused with ResourceExhausted. Counts host memory.
  int64_t max_memory = 0;
  // Nodes that one run may execute, bodies of loops counted each time; 0: no limit.
  int64_t max_executed_nodes = 0;
  // What memory counts against, where sessions share a limit; null: a limit of its own, max_memory.
  std::shared_ptr<MemoryLimit> memory = nullptr;
  // Where runs compute, for sessions of which one runs at a time; null: memory of its own.
  std::shared_ptr<SharedArena> arena = nullptr;
  bool profile = false;  // record every step; see WriteProfile
  int profile_runs = 0;  // of the first so many runs; 0: of all
  // Sees every host tensor that a node makes, of bodies too, under the names of the optimised
  // graph; an error of it ends the run. Called by the thread that runs the session.
  std::function<absl::Status(std::string_view name, const TensorView& value)> watch = nullptr;
  // Dims of inputs that share a name may have different sizes, as in ONNX Runtime: such inputs run
  // by a second program, compiled when the first of them come, that takes nothing from names.
  // False: they are InvalidArgument.
  bool names_may_differ = true;
  // Imports the model again for that program, with ImportOptions::separate_dim_names. Null: a copy
  // of the model is kept where its weights are small, and else names may not differ.
  std::function<absl::StatusOr<Model>()> import_again = nullptr;
  // Is told of what a run does otherwise than the model's file suggests.
  std::function<void(const std::string& warning)> warn = nullptr;
  // Run on the graph once it is optimised, before it is planned.
  std::function<absl::Status(Graph& graph)> rewrite = nullptr;
};

// A model's input or output as its user sees it.
struct ValueInfo {
  std::string name;
  Type type;
  bool optional = false;  // an input with a default value
};

// What a run takes besides what the session holds already (weights as they are packed, what is
// bound): see MemoryLimit::used.
struct PlannedMemory {
  int64_t arena = 0;           // values and scratch
  int64_t outputs = 0;         // that are no updates of state
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

// Why a node runs as it does, for `onward explain`.
struct NodeExplanation {
  std::string node;  // "[Conv 'conv1']"
  std::string provider;
  std::string kernel;
  std::vector<std::string> refusals;  // "conv_avx512: group > 1"
  std::string origin;                 // the patches that made it
};

class Session {
 public:
  using Inputs = std::map<std::string, Value>;
  using Outputs = std::map<std::string, Value>;

  virtual ~Session() = default;

  // Imports, optimises and compiles. Errors list everything that is unsupported, each with node
  // name and op.
  static absl::StatusOr<std::unique_ptr<Session>> Load(const std::string& path,
                                                       const SessionOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Session>> Create(Model model,
                                                         const SessionOptions& options = {});

  virtual const std::vector<ValueInfo>& inputs() const = 0;
  virtual const std::vector<ValueInfo>& outputs() const = 0;

  // Runs once; safe from many threads at once. InvalidArgument: a missing or unknown input (with
  // the closest name), a dtype or shape that does not fit (expected, got, symbols).
  virtual absl::StatusOr<Outputs> Run(const Inputs& inputs) = 0;

  // By position. An element of `outputs` is written in place where it holds a tensor that fits and
  // that nobody shares, or the state that it updates (Model::updates), if the program can do that;
  // others are replaced. After a first run with equal shapes this allocates nothing.
  virtual absl::Status Run(absl::Span<const Value> inputs, absl::Span<Value> outputs) = 0;

  // The coming run is number `index`, the next one `index` + 1: random ops draw by seed and number.
  // Runs are numbered from 0 on.
  virtual void set_run_index(uint64_t index) = 0;

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
};

// The closest of `candidates` to `name` by edit distance, "" when none is near.
std::string ClosestName(std::string_view name, absl::Span<const std::string> candidates);

}  // namespace onward

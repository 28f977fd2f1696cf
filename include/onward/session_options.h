// Options for compiling and running a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/counters.h"
#include "onward/graph.h"
#include "onward/log.h"
#include "onward/memory_limit.h"
#include "onward/precision.h"
#include "onward/thread_pool.h"

namespace onward {

class Communicator;  // onward/communicator.h

struct SessionOptions {
  std::string provider = "cpu";  // or "cuda", which is "cuda:0", a device by its number
  int num_threads = 0;           // 0: the physical cores; `pool` has its own number
  Precision precision = Precision::kDefault;
  bool deterministic = false;
  uint64_t seed = 0;
  bool optimize = true;            // false: no passes but the ones that make the model runnable
  bool reference_kernels = false;  // only the portable reference kernels
  // Only the first so many rewrites of the graph are made, so that a wrong one can be found by
  // bisection; negative: no limit.
  int stop_after_patches = -1;
  // The session only explains what it would do: it needs no device of its provider, and Run is
  // FailedPrecondition.
  bool plan_only = false;
  // The values that are computed, in place of the model's outputs: some of these, or others of its
  // graph by their names in the file. What only the rest needs is left out. Empty: all outputs.
  std::vector<std::string> outputs = {};
  // Inputs and outputs, by name, that lie on the provider's device: these outputs stay there, and
  // these inputs may be given there (one on the host is copied). What a caller passes from run to
  // run, as caches of keys and values, then crosses in none. See device_tensor.h. "*": all tensors
  // of numbers.
  std::vector<std::string> device_values = {};
  int max_bindings = 16;  // cached sets of input shapes; the least recently used goes
  // The number of runs whose memory is kept for later ones; the longest unused goes.
  int max_idle_runs = 16;
  // Bytes of tensors that the session may hold at a time, on host and device together, outputs that
  // callers keep included; 0: the machine's memory. More is refused with ResourceExhausted.
  int64_t max_memory = 0;
  // Nodes that one run may execute, bodies of loops counted each time; 0: no limit.
  int64_t max_executed_nodes = 0;
  // The threads that compute, where sessions share them: a loop that finds them busy runs in its
  // caller alone. Null: threads of the session's own.
  std::shared_ptr<ThreadPool> pool = nullptr;
  // The limit that memory counts against, shared by sessions; null: its own limit, max_memory.
  std::shared_ptr<MemoryLimit> memory = nullptr;
  // By which AllReduce nodes add up; null: there is one rank.
  std::shared_ptr<Communicator> communicator = nullptr;
  bool profile = false;  // record every step; see WriteProfile
  int profile_skip = 0;  // but those of the first so many runs, which warm up
  int profile_runs = 0;  // of so many runs then; 0: of all
  // Sees every host tensor that a node makes, of bodies too, under the names of the optimised
  // graph; an error of it ends the run. Called by the thread that runs the session.
  std::function<absl::Status(std::string_view name, const TensorView& value)> watch = nullptr;
  // Finds out Session::RowsAreIndependent, which takes time while the session is made.
  bool check_rows = false;
  // Session::Load reads the model's files instead of mapping them: they may be overwritten or cut
  // off while the session lives. Dims of inputs that share a name must then have equal sizes where
  // the weights are large.
  bool copy_weights = false;
  // Dims of inputs that share a name may have different sizes, as in ONNX Runtime: such inputs run
  // by a second program, compiled when the first of them come, that takes nothing from names.
  // False: they are InvalidArgument.
  bool names_may_differ = true;
  // Is told of what a run does otherwise than the model's file suggests.
  LogSink log = nullptr;
  // Count runs ("session/runs", "session/failed_runs"), the time that they took
  // ("session/run_nanoseconds") and the sets of input shapes that were planned
  // ("session/bindings"), of all sessions that have them.
  std::shared_ptr<Counters> counters = nullptr;
};

}  // namespace onward

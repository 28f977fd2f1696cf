// The memory that a run of a model takes, for the commands that print it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/inputs.h"
#include "onward/session.h"

namespace onward::cli {

// Bytes of tensors; see MemoryLimit.
struct RunMemory {
  int64_t weights = 0;  // as kernels hold them, with what is bound
  int64_t inputs = 0;
  int64_t values = 0;  // the arena: values between the nodes, and scratch
  int64_t outputs = 0;
  int64_t measured = 0;    // what nodes took whose sizes data decides, in a run
  int64_t creation = 0;    // the peak while the model was loaded
  int sized_at_run = 0;    // the number of those nodes
  std::string unmeasured;  // why no run measured them

  int64_t total() const;
  nlohmann::json json() const;
  std::string text() const;   // "12.5 MB: 8.1 MB of weights, ..."
  std::string parts() const;  // the same without the sum
};

// Returns what a run with inputs of these shapes takes. Where the plan does not have all, the model
// is run once if `may_run`.
absl::StatusOr<RunMemory> MemoryOfRun(Session& session, const Session::Inputs& inputs,
                                      bool may_run = true);

// The memory that a run with the given shapes needs.
struct PlannedRun {
  RunMemory memory;
  std::vector<std::string> taken_as_one;  // symbols without a size
  std::string unknown;                    // why there is no plan; "": there is one
};

// The same with inputs that are drawn, of the shapes that `inputs` gives. Errors as MemoryOfRun.
absl::StatusOr<PlannedRun> PlanRun(Session& session, InputOptions inputs, bool may_run = true);

}  // namespace onward::cli

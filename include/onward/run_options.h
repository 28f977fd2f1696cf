// Options of one run: its limits, and who may end it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "onward/batch_slice.h"

namespace onward {

class Trace;  // onward/trace.h

enum class RunPriority : uint8_t {
  kNormal,
  kBackground,  // computes in the calling thread alone: other runs have the shared threads
};

struct RunOptions {
  RunPriority priority = RunPriority::kNormal;
  // The run ends with DeadlineExceeded before the first step that would begin after it.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
  // Once another thread has asked its std::stop_source to stop, the run ends with Cancelled before
  // its next step, also within bodies of loops.
  std::stop_token cancel = {};
  // The number of the run, by which random ops draw (see Session::set_run_index); nothing: the
  // session's next one.
  std::optional<uint64_t> run_index = std::nullopt;
  // Random ops draw by it in place of the number that the session would give the run: runs of equal
  // seeds draw the same, whatever ran before, in all sessions of one model whose
  // SessionOptions::seed is the same. A run_index beside it tells runs of one seed apart.
  std::optional<uint64_t> seed = std::nullopt;
  // The rows of a batch that other ranks have parts of too.
  BatchSlice batch_slice = {};
  // Gets an event per step of this run, in place of what SessionOptions::profile records; must
  // outlive the run. Null: none.
  Trace* trace = nullptr;
};

}  // namespace onward

// A step of a program as an event of a trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "executors/plan/program.h"
#include "onward/trace.h"

namespace onward::executors {

// Times a step from construction to destruction; does nothing without a trace.
class TraceScope {
 public:
  TraceScope(Trace* trace, const Program& program, const Step& step)
      : trace_(trace), program_(program), step_(step) {
    if (trace_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  ~TraceScope() {
    if (trace_ != nullptr) Record();
  }
  // The bytes that the step needs.
  void set_live_bytes(int64_t bytes) { live_bytes_ = bytes; }
  void set_inputs(std::vector<std::string> inputs) { inputs_ = std::move(inputs); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  void Record();

  Trace* trace_;
  const Program& program_;
  const Step& step_;
  int64_t live_bytes_ = 0;
  std::vector<std::string> inputs_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace onward::executors

// The machine's peaks as `onward bench` shows them, and a run's share of them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "graph/infer/least_cost.h"
#include "kernels/cpu/machine_peak.h"
#include "onward/kernel.h"

namespace onward::cli {

nlohmann::json PeakJson(const kernels::cpu::MachinePeak& peak, int threads);
std::string PeakText(const kernels::cpu::MachinePeak& peak, int threads);

// The least time that a run can take on this machine: its arithmetic at the peak of its data types,
// its bytes at the bandwidth of data as large as all that it touches, but for the part that a
// faster cache can hold meanwhile.
class Ceiling {
 public:
  // `arena_bytes`: of values between the nodes.
  Ceiling(const LeastCost& cost, int64_t arena_bytes, int threads, Precision precision);

  // Some 0.3 s. Again: the best of all measurements counts.
  void Measure();

  // The share of the peak, from 0 to 1, that a run which took so long reached.
  double ArithmeticShare(double seconds) const;
  double MemoryShare(double seconds) const;

  nlohmann::json json(double seconds) const;
  // ", 101 GFLOP/s (87 % of the float32 peak), 3.2 GB/s (4 % of L2)"
  std::string text(double seconds, double gflops, double gbytes) const;

 private:
  double PeakOf(DType dtype) const;

  LeastCost cost_;
  int64_t working_set_;
  int threads_;
  Precision precision_;
  kernels::cpu::ArithmeticPeak arithmetic_;
  kernels::cpu::Bandwidth bandwidth_;
  int64_t faster_bytes_ = 0;        // of the largest cache that does not hold all; 0: there is none
  kernels::cpu::Bandwidth faster_;  // of that cache
};

}  // namespace onward::cli

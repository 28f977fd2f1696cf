// What this machine can do at most, measured.
#pragma once

#include <nlohmann/json.hpp>

namespace onward::cli {

struct MachinePeak {
  double gflops = 0;  // float32 multiply-adds of independent register chains, 2 FLOP each
  double gbytes = 0;  // GB/s of reading memory larger than the caches
  nlohmann::json json() const { return {{"gflops", gflops}, {"gbytes_per_s", gbytes}}; }
};

// The best of a few short measurements, about 0.1 s.
MachinePeak MeasurePeak(int threads);

}  // namespace onward::cli

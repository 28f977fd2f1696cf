// Products of float32 and float64 matrices for Muon's iterations.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_shared.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// C (m x n) = A B, each row by row without gaps; A, or B, may lie transposed.
struct MuonProduct {
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  bool symmetric = false;  // C is: chunks below its diagonal are copied

  // Plans the product for floats; returns the floats of scratch.
  int64_t Plan(const GemmTileKernels& float_tiles, int num_workers);

  bool Skips(int64_t chunk) const;  // as it lies below the diagonal

  void Run(const RunContext& context, const float* a, const float* b, float* c,
           float* scratch) const;
  void Run(const RunContext& context, const double* a, const double* b, double* c,
           double* scratch) const;

  // Decided by Plan.
  const GemmTileKernels* tiles = nullptr;
  GemmPlan plan = {};
  SharedPlan shared = {};
  bool packs_once = false, mirrors = false;
};

}  // namespace onward::kernels::cpu

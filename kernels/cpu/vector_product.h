// Products of float32 where one operand is a vector: they take the time of reading the other one.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

struct VectorPlan {
  enum class Kind : uint8_t {
    kNone,
    kColumn,  // B is a column: dot products with the rows of A
    kRow,     // A is a row: a sum of the rows of B
  };
  Kind kind = Kind::kNone;
  int64_t m = 0, n = 0, k = 0;
  int64_t steps = 0, parts = 0;  // of K, each of so many steps, added up in their order
  int64_t scratch = 0;           // floats
};

// The plan for B in `layout`; of kind kNone where the tiles of gemm.h are faster. `a_k`: as in
// GemmArguments.
VectorPlan PlanVector(ColumnsLayout layout, int64_t a_k, int64_t m, int64_t n, int64_t k);

// Computes the product; C is computed by `activate` of the tiles in the end.
void RunVector(const GemmTileKernels& tiles, const VectorPlan& plan, const GemmArguments& args,
               float* scratch, RunContext& context);

}  // namespace onward::kernels::cpu

#include "kernels/cpu/vector_product.h"

#include <algorithm>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/simd/matrix_vector.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 32 * 1024;       // floats that one thread reads at a time
constexpr int64_t kMinColumns = 64;         // of rows that are read one after another
constexpr int64_t kMinFloats = 256 * 1024;  // of B: its rows do not lie in a core's own cache
constexpr int64_t kMaxParts = 16;

// C[r, c] for r = row, c = column .. column + count from the products, which `values` holds.
void Finish(const GemmTileKernels& tiles, const GemmArguments& args, int64_t row, int64_t column,
            int64_t count, const float* values) {
  float* to = args.c + row * args.c_row + column;
  const float of_row = args.bias_of_row == nullptr ? 0 : args.bias_of_row[row];
  const float* of_column = args.bias_of_column == nullptr ? nullptr : args.bias_of_column + column;
  const float* residual =
      args.residual == nullptr ? nullptr : args.residual + row * args.residual_row + column;
  for (int64_t i = 0; i < count; ++i) {
    float value = args.alpha * values[i];
    if (args.bias_of_row != nullptr) value += of_row;
    if (of_column != nullptr) value += of_column[i];
    if (residual != nullptr) value += residual[i];
    to[i] = value;
  }
  tiles.activate(args.activation, to, count);
}

void RunColumn(const GemmTileKernels& tiles, const MatrixVector& loops, const VectorPlan& plan,
               const GemmArguments& args, RunContext& context) {
  constexpr int64_t kRows = 64;
  const int64_t grain = std::max<int64_t>(4, kGrain / (plan.k + 1));
  context.ParallelFor(plan.m, grain, [&](int64_t begin, int64_t end) {
    float sums[kRows];
    for (; begin < end; begin += kRows) {
      const int64_t rows = std::min(kRows, end - begin);
      loops.dots(args.a + begin * args.a_row, args.a_row, rows, args.b, plan.k, sums);
      for (int64_t r = 0; r < rows; ++r) Finish(tiles, args, begin + r, 0, 1, sums + r);
    }
  });
}

void RunRow(const GemmTileKernels& tiles, const MatrixVector& loops, const VectorPlan& plan,
            const GemmArguments& args, float* scratch, RunContext& context) {
  context.ParallelFor(plan.parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      float* sums = scratch + part * plan.n;
      const int64_t k0 = part * plan.steps;
      std::fill_n(sums, plan.n, 0.0f);
      loops.add_rows(args.b + k0 * args.b_stride, args.b_stride, plan.n, args.a + k0,
                     std::min(plan.steps, plan.k - k0), sums);
    }
  });
  for (int64_t part = 1; part < plan.parts; ++part)
    for (int64_t i = 0; i < plan.n; ++i) scratch[i] += scratch[part * plan.n + i];
  Finish(tiles, args, 0, 0, plan.n, scratch);
}

}  // namespace

VectorPlan PlanVector(ColumnsLayout layout, int64_t a_k, int64_t m, int64_t n, int64_t k) {
  VectorPlan plan;
  plan.m = m, plan.n = n, plan.k = k;
  if (layout == ColumnsLayout::kPanels || a_k != 1) return plan;
  if (n == 1) {
    plan.kind = VectorPlan::Kind::kColumn;
  } else if (m == 1 && layout == ColumnsLayout::kRows && n >= kMinColumns && k * n >= kMinFloats) {
    plan.kind = VectorPlan::Kind::kRow;
    plan.steps = CeilDiv(CeilDiv(k, std::min(kMaxParts, k * n / (kMinFloats / 4))), 4) * 4;
    plan.parts = CeilDiv(k, plan.steps);
    plan.scratch = plan.parts * n;
  }
  return plan;
}

void RunVector(const GemmTileKernels& tiles, const VectorPlan& plan, const GemmArguments& args,
               float* scratch, RunContext& context) {
  const MatrixVector& loops = kMatrixVectorsPerTarget.For(tiles.target)();
  if (plan.kind == VectorPlan::Kind::kColumn) return RunColumn(tiles, loops, plan, args, context);
  RunRow(tiles, loops, plan, args, scratch, context);
}

}  // namespace onward::kernels::cpu

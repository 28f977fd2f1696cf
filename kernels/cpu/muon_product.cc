#include "kernels/cpu/muon_product.h"

#include <algorithm>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

// Few rows do not pay for rounding and packing the other operand.
constexpr int64_t kMinRowsOfPairs = 8;
constexpr int64_t kMirrorBlock = 32;

// What lies below the diagonal becomes what lies above it.
void Mirror(const RunContext& context, int64_t size, float* c) {
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 15) / (size * kMirrorBlock));
  context.ParallelFor(CeilDiv(size, kMirrorBlock), grain, [&](int64_t block, int64_t end) {
    for (; block < end; ++block) {
      const int64_t last = std::min(size, (block + 1) * kMirrorBlock);
      for (int64_t from = 0; from < last; from += kMirrorBlock) {
        for (int64_t row = block * kMirrorBlock; row < last; ++row) {
          const int64_t columns = std::min(row, from + kMirrorBlock);
          for (int64_t column = from; column < columns; ++column)
            c[row * size + column] = c[column * size + row];
        }
      }
    }
  });
}

}  // namespace

int64_t MuonProduct::Plan(const GemmTileKernels& float_tiles, int num_workers) {
  tiles = m >= kMinRowsOfPairs ? &float_tiles : &kGemmTilesPerTarget.For(float_tiles.target)();
  const ColumnsLayout layout = b_transposed ? ColumnsLayout::kTransposed : ColumnsLayout::kRows;
  plan = PlanGemm(*tiles, layout, m, n, k, 1, false);
  // Chunks of float32 skip what the other triangle has.
  packs_once =
      (!symmetric || tiles->k_per_word > 1) && PacksOnce(*tiles, layout, a_transposed, m, n, k);
  for (int64_t chunk = 0; symmetric && chunk < plan.chunks(); ++chunk) mirrors |= Skips(chunk);
  if (!packs_once) return plan.scratch * num_workers;
  shared = PlanShared(*tiles, layout, a_transposed, m, n, k);
  return shared.scratch;
}

bool MuonProduct::Skips(int64_t chunk) const {
  const GemmChunk at = GemmChunkAt(*tiles, plan, chunk);
  return symmetric && at.column_end <= at.row_begin;
}

void MuonProduct::Run(const RunContext& context, const float* a, const float* b, float* c,
                      float* scratch) const {
  GemmArguments args;
  args.a = a;
  args.a_row = a_transposed ? 1 : k;
  args.a_k = a_transposed ? m : 1;
  args.b = b;
  args.b_stride = b_transposed ? k : n;
  args.c = c;
  args.c_row = n;
  if (packs_once) return RunShared(*tiles, shared, args, scratch, context);
  context.ParallelForWorkers(
      plan.chunks(), plan.grain, [&](int worker, int64_t chunk, int64_t end) {
        for (; chunk < end; ++chunk) {
          if (Skips(chunk)) continue;
          RunGemmChunk(*tiles, plan, args, chunk, scratch + worker * plan.scratch);
        }
      });
  if (mirrors) Mirror(context, m, c);
}

void MuonProduct::Run(const RunContext& context, const double* a, const double* b, double* c,
                      double*) const {
  const int64_t a_row = a_transposed ? 1 : k, a_k = a_transposed ? m : 1;
  const int64_t b_k = b_transposed ? 1 : n, b_column = b_transposed ? k : 1;
  TiledProduct<double>(
      context, 1, m, n, k,
      [&](int64_t, int64_t row, int64_t rows, int64_t p, int64_t depth, double* to) {
        PackRows(a + row * a_row + p * a_k, a_row, a_k, rows, depth, kTileDepth, to);
      },
      [&](int64_t, int64_t p, int64_t depth, int64_t column, int64_t columns, double* to) {
        PackRows(b + p * b_k + column * b_column, b_k, b_column, depth, columns, kTileColumns, to);
      },
      [&](int64_t, int64_t row, int64_t column, int64_t columns, const double* sums) {
        std::copy_n(sums, columns, c + row * n + column);
      });
}

}  // namespace onward::kernels::cpu

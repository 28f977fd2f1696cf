// MatMul and Gemm in double on the tiles of one instruction set.
#include <algorithm>
#include <memory>

#include "kernels/bind/matmul.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/double_tile.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kBlockOfK = 192;  // a panel fits a first-level cache
constexpr int64_t kMostRows = 240;  // of a chunk
constexpr int64_t kWantedChunks = 16;
constexpr int64_t kMinProducts = 200 * 1000;  // below, another thread costs more than it saves
// Fewer rows do not pay for copying columns that lie side by side.
constexpr int64_t kMinRowsToPack = 24;

// What Bind keeps. Chunks depend on the sizes alone.
struct DoubleProduct {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  int64_t a_row = 0, a_k = 0, b_k = 0, b_column = 0;
  int64_t tile_rows = 0, rows = 0, panels = 0;  // of a chunk
  int64_t row_chunks = 0, column_chunks = 0, grain = 1;
  int64_t scratch = 0;  // of a worker
  absl::Span<const int64_t> batch, a_strides, b_strides;
};

void Plan(const DoubleTiles& tiles, DoubleProduct& p) {
  p.tile_rows = MostRowsOfTile(tiles.rows, 2 * p.a_row);
  p.rows = EvenPiece(CeilDiv(p.m, p.tile_rows), kMostRows / p.tile_rows) * p.tile_rows;
  p.row_chunks = CeilDiv(p.m, p.rows);
  const int64_t panels = CeilDiv(p.n, tiles.cols);
  const int64_t products = std::max<int64_t>(1, std::min(p.m, p.rows) * tiles.cols * p.k);
  const int64_t least = CeilDiv(kMinProducts, products);
  p.panels = EvenPiece(panels, std::max(least, panels * p.row_chunks * p.batches / kWantedChunks));
  p.column_chunks = CeilDiv(panels, p.panels);
  p.grain = std::max<int64_t>(1, least / p.panels);
  p.scratch = kBlockOfK * tiles.cols;
}

struct DoubleOperands {
  const double* a = nullptr;
  const double* b = nullptr;
  double* y = nullptr;
};

// The part of C that a chunk computes.
struct Part {
  int64_t row, row_end, column, column_end;
};
Part PartAt(const DoubleTiles& tiles, const DoubleProduct& p, int64_t chunk) {
  const int64_t row = chunk / p.column_chunks * p.rows;
  const int64_t column = chunk % p.column_chunks * p.panels * tiles.cols;
  return {row, std::min(p.m, row + p.rows), column, std::min(p.n, column + p.panels * tiles.cols)};
}

// Points the tile at B[k0 .., column ..], packed unless it is read as it lies.
void SetColumns(const DoubleTiles& tiles, const DoubleProduct& p, const double* b, int64_t rows,
                double* scratch, DoubleTile& tile) {
  if (p.b_column == 1) {
    tile.b_k = p.b_k;
    tile.b = b;
    if (tile.cols == tiles.cols && rows < kMinRowsToPack) return;
    tiles.pack(b, p.b_k, tile.cols, tile.k, scratch);
  } else {
    for (int64_t k = 0; k < tile.k; ++k) {
      double* to = scratch + k * tiles.cols;
      for (int c = 0; c < tiles.cols; ++c) to[c] = c < tile.cols ? b[c * p.b_column + k] : 0;
    }
  }
  tile.b = scratch;
  tile.b_k = tiles.cols;
}

void RunPart(const DoubleTiles& tiles, const DoubleProduct& p, const DoubleOperands& operands,
             const Part& part, double* scratch) {
  DoubleTile tile;
  tile.a_row = p.a_row;
  tile.a_k = p.a_k;
  tile.c_row = p.n;
  int64_t k0 = 0;
  do {  // once even for k = 0
    tile.k = std::min(kBlockOfK, p.k - k0);
    tile.accumulate = k0 > 0;
    for (int64_t column = part.column; column < part.column_end; column += tiles.cols) {
      tile.cols = static_cast<int>(std::min<int64_t>(tiles.cols, part.column_end - column));
      SetColumns(tiles, p, operands.b + k0 * p.b_k + column * p.b_column, part.row_end - part.row,
                 scratch, tile);
      for (int64_t row = part.row; row < part.row_end; row += p.tile_rows) {
        tile.rows = static_cast<int>(std::min(p.tile_rows, part.row_end - row));
        tile.a = operands.a + row * p.a_row + k0 * p.a_k;
        tile.c = operands.y + row * p.n + column;
        tiles.tile(tile);
      }
    }
    k0 += kBlockOfK;
  } while (k0 < p.k);
}

// Calls finish(part) when a part of the only product is done.
template <typename Finish>
void RunProduct(RunContext& context, const DoubleTiles& tiles, const DoubleProduct& p,
                const DoubleOperands& operands, const Finish& finish) {
  const int64_t per_batch = p.row_chunks * p.column_chunks;
  context.ParallelForWorkers(
      p.batches * per_batch, p.grain, [&](int worker, int64_t begin, int64_t end) {
        double* scratch = context.scratch<double>() + worker * p.scratch;
        for (int64_t chunk = begin; chunk < end; ++chunk) {
          const int64_t index = chunk / per_batch;
          const DoubleOperands one = {operands.a + BatchOffset(p.batch, p.a_strides, index),
                                      operands.b + BatchOffset(p.batch, p.b_strides, index),
                                      operands.y + index * p.m * p.n};
          const Part part = PartAt(tiles, p, chunk % per_batch);
          RunPart(tiles, p, one, part, scratch);
          finish(part);
        }
      });
}

class DoubleMatMul : public Kernel {
 public:
  explicit DoubleMatMul(const DoubleTiles& tiles) : tiles_(tiles) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g,
                            MatMulDims(context.input_dims(0), context.input_dims(1)));
    context.SetOutput(0, g.output);
    auto& p = *context.NewState<DoubleProduct>();
    p.m = g.m, p.n = g.n, p.k = g.k, p.batches = g.num_batches();
    p.a_row = g.k, p.a_k = 1, p.b_k = g.n, p.b_column = 1;
    p.batch = context.Keep<int64_t>(g.batch);
    p.a_strides = context.Keep<int64_t>(g.a_strides);
    p.b_strides = context.Keep<int64_t>(g.b_strides);
    Plan(tiles_, p);
    context.SetScratch(context.num_workers() * p.scratch * static_cast<int64_t>(sizeof(double)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    RunProduct(context, tiles_, context.state<DoubleProduct>(),
               {context.in<double>(0), context.in<double>(1), context.out<double>(0)},
               [](const Part&) {});
    return absl::OkStatus();
  }

 private:
  const DoubleTiles& tiles_;
};

struct DoubleGemmState {
  DoubleProduct product;
  int64_t c_row = 0, c_column = 0;
};

class DoubleGemm : public Kernel {
 public:
  DoubleGemm(const DoubleTiles& tiles, const GemmAttributes& attributes)
      : tiles_(tiles), attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const GemmGeometry g, GemmDims(attributes_, context));
    context.SetOutput(0, {g.m, g.n});
    auto& state = *context.NewState<DoubleGemmState>();
    state.c_row = g.c_row_stride;
    state.c_column = g.c_column_stride;
    DoubleProduct& p = state.product;
    p.m = g.m, p.n = g.n, p.k = g.k;
    p.a_row = attributes_.trans_a ? 1 : g.k, p.a_k = attributes_.trans_a ? g.m : 1;
    p.b_k = attributes_.trans_b ? 1 : g.n, p.b_column = attributes_.trans_b ? g.k : 1;
    Plan(tiles_, p);
    context.SetScratch(context.num_workers() * p.scratch * static_cast<int64_t>(sizeof(double)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<DoubleGemmState>();
    const DoubleProduct& p = state.product;
    const double* c = context.has_input(2) ? context.in<double>(2) : nullptr;
    double* y = context.out<double>(0);
    const double alpha = static_cast<double>(attributes_.alpha);
    const double beta = static_cast<double>(attributes_.beta);
    RunProduct(context, tiles_, p, {context.in<double>(0), context.in<double>(1), y},
               [&](const Part& part) {
                 for (int64_t i = part.row; i < part.row_end; ++i) {
                   Finish(y + i * p.n, alpha, c == nullptr ? nullptr : c + i * state.c_row,
                          state.c_column, beta, part);
                 }
               });
    return absl::OkStatus();
  }

 private:
  static void Finish(double* y, double alpha, const double* c, int64_t c_column, double beta,
                     const Part& part) {
    if (c == nullptr) {
      if (alpha == 1) return;
      for (int64_t j = part.column; j < part.column_end; ++j) y[j] *= alpha;
    } else if (c_column == 1) {
      for (int64_t j = part.column; j < part.column_end; ++j) y[j] = alpha * y[j] + beta * c[j];
    } else {
      const double addend = beta * *c;  // one of the row
      for (int64_t j = part.column; j < part.column_end; ++j) y[j] = alpha * y[j] + addend;
    }
  }

  const DoubleTiles& tiles_;
  GemmAttributes attributes_;
};

absl::Status CheckDoubles(const NodeSpec& spec) {
  if (spec.input_dtype(0) == DType::kFloat64) return absl::OkStatus();
  return absl::UnimplementedError("double only");
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckDoubles(spec));
  return std::make_unique<DoubleMatMul>(kTilesOfDoublePerTarget.For(TargetOf(spec))());
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGemm(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckDoubles(spec));
  return std::make_unique<DoubleGemm>(kTilesOfDoublePerTarget.For(TargetOf(spec))(),
                                      GemmAttributes::Parse(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "MatMul", "matmul_double", MakeMatMul, kVectorTargets},
    {"", "Gemm", "gemm_double", MakeGemm, kVectorTargets},
};

}  // namespace

KernelList DoubleMatMulKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

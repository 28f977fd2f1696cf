// com.microsoft.MatMulNBits in float32. Few rows are multiplied by the packed codes as they are
// read; more rows by panels that are dequantized a block of K at a time.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/gemm_tile.h"
#include "kernels/cpu/simd/nbits_rows.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kFewRows = 4;
constexpr int64_t kBlockOfK = 512;
constexpr int64_t kChunkBytes = 16 * 1024;  // of codes: about 5 us
constexpr int64_t kRowsPerChunk = 240;

struct NBitsState {
  int64_t m, n, k, padded, arranged;
  NBitsMatrix w;  // sizes; Run fills in the data
  int64_t k_step, panel_floats;
};

class MatMulNBits : public Kernel {
 public:
  MatMulNBits(Target target, int64_t k, int64_t n, int bits, int64_t block, bool float_zeros)
      : loops_(kNBitsPerTarget.For(target)()),
        tiles_(kGemmTilesPerTarget.For(target)()),
        k_(k),
        n_(n),
        bits_(bits),
        block_(block),
        float_zeros_(float_zeros) {}

  absl::Status Bind(BindContext& context) const override;
  absl::Status Run(RunContext& context) const override;

 private:
  absl::Status CheckCount(const BindContext& context, int i, const char* name, int64_t count) const;
  void RunFew(RunContext& context, const NBitsState& s, const NBitsMatrix& w) const;
  void RunPanels(RunContext& context, const NBitsState& s, const NBitsMatrix& w) const;
  void RunPanel(const RunContext& context, const NBitsState& s, const NBitsMatrix& w,
                int64_t column, int64_t row, int64_t row_end, float* lines) const;

  const NBitsKernels& loops_;
  const GemmTileKernels& tiles_;
  int64_t k_, n_;
  int bits_;
  int64_t block_;
  bool float_zeros_;
};

absl::Status MatMulNBits::CheckCount(const BindContext& context, int i, const char* name,
                                     int64_t count) const {
  if (!context.has_input(i) || NumElements(context.input_dims(i)) == count) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " has shape ", DimsString(context.input_dims(i)), ", must have ", count, " elements"));
}

absl::Status MatMulNBits::Bind(BindContext& context) const {
  const DimsView a = context.input_dims(0);
  if (a.empty() || a.back() != k_) {
    return absl::InvalidArgumentError(
        absl::StrCat("A has shape ", DimsString(a), ", its last dim must be ", k_));
  }
  NBitsState* s = context.NewState<NBitsState>();
  s->m = NumElements(a) / k_;
  s->n = n_;
  s->k = k_;
  s->w.bits = bits_;
  s->w.block = block_;
  s->w.blocks = CeilDiv(k_, block_);
  s->padded = s->w.blocks * block_;
  s->arranged = CeilDiv(s->padded, loops_.step) * loops_.step;
  ONWARD_RETURN_IF_ERROR(CheckCount(context, 1, "B", n_ * s->w.row_bytes()));
  ONWARD_RETURN_IF_ERROR(CheckCount(context, 2, "scales", n_ * s->w.blocks));
  ONWARD_RETURN_IF_ERROR(
      CheckCount(context, 3, "zero_points", n_ * (float_zeros_ ? s->w.blocks : s->w.zero_bytes())));
  ONWARD_RETURN_IF_ERROR(CheckCount(context, 5, "bias", n_));
  Dims output(a.begin(), a.end());
  output.back() = n_;
  context.SetOutput(0, output);
  s->k_step = std::max(block_, kBlockOfK / block_ * block_);
  s->panel_floats = s->k_step * tiles_.tile_cols;
  const int64_t floats = s->m <= kFewRows ? s->m * (s->arranged + s->w.blocks) + s->padded
                                          : 2 * s->panel_floats * context.num_workers();
  context.SetScratch(floats * static_cast<int64_t>(sizeof(float)));
  return absl::OkStatus();
}

void MatMulNBits::RunFew(RunContext& context, const NBitsState& s, const NBitsMatrix& w) const {
  float* arranged = context.scratch<float>();
  float* sums = arranged + s.m * s.arranged;
  float* padded = sums + s.m * w.blocks;
  for (int64_t i = 0; i < s.m; ++i) {
    const float* a = context.in<float>(0) + i * s.k;
    if (s.padded != s.k) {
      std::memcpy(padded, a, static_cast<size_t>(s.k) * sizeof(float));
      std::fill(padded + s.k, padded + s.padded, 0.0f);
      a = padded;
    }
    loops_.arrange(w, a, arranged + i * s.arranged, sums + i * w.blocks);
  }
  const float* bias = context.has_input(5) ? context.in<float>(5) : nullptr;
  context.ParallelFor(
      s.n, std::max<int64_t>(1, kChunkBytes / w.row_bytes()), [&](int64_t begin, int64_t end) {
        for (int64_t i = 0; i < s.m; ++i) {
          float* y = context.out<float>(0) + i * s.n;
          loops_.dot(w, arranged + i * s.arranged, sums + i * w.blocks, begin, end, y + begin);
          for (int64_t j = begin; bias != nullptr && j < end; ++j) y[j] += bias[j];
        }
      });
}

void MatMulNBits::RunPanel(const RunContext& context, const NBitsState& s, const NBitsMatrix& w,
                           int64_t column, int64_t row, int64_t row_end, float* lines) const {
  float* panel = lines + s.panel_floats;
  GemmTile tile;
  tile.cols = static_cast<int>(std::min<int64_t>(tiles_.tile_cols, s.n - column));
  tile.a_row = s.k;
  tile.a_k = 1;
  tile.b = panel;
  tile.b_k = tiles_.tile_cols;
  tile.b_padded = true;
  tile.c_row = s.n;
  if (context.has_input(5)) tile.bias_of_column = context.in<float>(5) + column;
  const int64_t most_rows = MostRowsOfTile(tiles_.tile_rows, s.k);
  for (int64_t k0 = 0; k0 < s.k; k0 += s.k_step) {
    tile.k = std::min(s.k_step, s.k - k0);
    tile.accumulate = k0 > 0;
    const int64_t first = k0 / w.block, last = std::min(w.blocks, (k0 + s.k_step) / w.block);
    for (int c = 0; c < tile.cols; ++c)
      loops_.dequantize(w, column + c, first, last, lines + c * s.k_step);
    tiles_.pack_columns_transposed(lines, s.k_step, tile.cols, tile.k, 1.0f, panel);
    for (int64_t i = row; i < row_end; i += tile.rows) {
      tile.rows = static_cast<int>(std::min(most_rows, row_end - i));
      tile.a = context.in<float>(0) + i * s.k + k0;
      tile.c = context.out<float>(0) + i * s.n + column;
      tiles_.tile(tile);
    }
  }
}

void MatMulNBits::RunPanels(RunContext& context, const NBitsState& s, const NBitsMatrix& w) const {
  const int64_t panels = CeilDiv(s.n, tiles_.tile_cols), row_chunks = CeilDiv(s.m, kRowsPerChunk);
  const int64_t rows = EvenPiece(s.m, kRowsPerChunk);
  const int64_t grain = std::max<int64_t>(1, kChunkBytes / (w.row_bytes() * tiles_.tile_cols));
  context.ParallelForWorkers(
      panels * row_chunks, grain, [&](int worker, int64_t begin, int64_t end) {
        float* lines = context.scratch<float>() + worker * 2 * s.panel_floats;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = i / panels * rows;
          RunPanel(context, s, w, i % panels * tiles_.tile_cols, row, std::min(s.m, row + rows),
                   lines);
        }
      });
}

absl::Status MatMulNBits::Run(RunContext& context) const {
  const NBitsState& s = context.state<NBitsState>();
  NBitsMatrix w = s.w;
  w.codes = context.in<uint8_t>(1);
  w.scales = context.in<float>(2);
  w.zero = static_cast<float>(1 << (bits_ - 1));
  if (context.has_input(3)) {
    if (float_zeros_) {
      w.float_zeros = context.in<float>(3);
    } else {
      w.packed_zeros = context.in<uint8_t>(3);
    }
  }
  if (s.m <= kFewRows) {
    RunFew(context, s, w);
  } else {
    RunPanels(context, s, w);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMulNBits(const NodeSpec& spec) {
  if (spec.input_dtype(0) != DType::kFloat32) return absl::UnimplementedError("float32 only");
  if (spec.has_input(4)) return absl::UnimplementedError("g_idx");
  const Attributes& attributes = spec.attributes();
  const int64_t k = attributes.Int("K", 0), n = attributes.Int("N", 0);
  const int64_t bits = attributes.Int("bits", 4), block = attributes.Int("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8) return absl::UnimplementedError("2, 4 or 8 bits only");
  if (k < 1 || n < 1 || block < 16 || block > kBlockOfK || (block & (block - 1)) != 0)
    return absl::UnimplementedError("blocks of 16 to 512 only");
  const DType zeros = spec.input_dtype(3);
  if (spec.has_input(3) && zeros != DType::kUint8 && zeros != DType::kFloat32)
    return absl::UnimplementedError("zero points of uint8 or float32 only");
  return std::make_unique<MatMulNBits>(TargetOf(spec), k, n, static_cast<int>(bits), block,
                                       zeros == DType::kFloat32);
}

constexpr KernelEntry kKernels[] = {
    {"com.microsoft", "MatMulNBits", "matmul_nbits", MakeMatMulNBits, kVectorTargets},
};

}  // namespace

KernelList MatMulNBitsKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

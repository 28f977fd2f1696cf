// onward.LstmGradient in float32: the cells are computed again from the gates, then the steps are
// gone through from the last to the first, each of which is the elementwise part over blocks of
// units and the product of the gates' gradients with R, which is packed once. Tiles of pairs round
// both to bfloat16.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/gates.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kMinParallelStep = 128 * 1024;  // products; less is done by one thread
constexpr int64_t kLine = 16;                     // words; packed rows begin in different sets

struct LstmGradientState {
  const GemmTileKernels* tiles;
  int64_t steps, batch, hidden;
  int64_t blocks;     // of as many units as a tile has columns
  int64_t parts;      // of a step
  int64_t words;      // of a column of R
  int64_t row_words;  // of the packed gradients of a sequence's gates; 0: they are read as they lie
  int64_t weights, cells;  // floats: R packed; cells before each step

  int64_t step() const { return batch * hidden; }
  int64_t packed_rows() const { return batch * row_words; }
};

enum Input { kGates, kR, kC0, kDh, kDc, kDy };

class LstmGradient : public Kernel {
 public:
  LstmGradient(const GemmTileKernels& tiles, bool reversed)
      : tiles_(tiles), gates_(kGatesPerTarget.For(tiles.target)()), reversed_(reversed) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(CheckDims(context));
    const DimsView gates = context.input_dims(kGates), c0 = context.input_dims(kC0);
    context.SetOutput(0, gates);
    context.SetOutput(1, c0);
    context.SetOutput(2, c0);
    auto* s = context.NewState<LstmGradientState>();
    s->steps = gates[0], s->batch = c0[0], s->hidden = c0[1];
    // A pair must not reach from one gate into the next.
    const bool pairs = tiles_.k_per_word > 1 && s->hidden % 2 == 0;
    s->tiles =
        pairs || tiles_.k_per_word == 1 ? &tiles_ : &kGemmTilesPerTarget.For(tiles_.target)();
    s->blocks = CeilDiv(s->hidden, s->tiles->tile_cols);
    const bool parallel = 4 * s->hidden * s->step() >= kMinParallelStep;
    s->parts = parallel ? std::min<int64_t>(context.num_workers(), s->blocks) : 1;
    s->words = CeilDiv(4 * s->hidden, s->tiles->k_per_word);
    s->row_words = pairs ? CeilDiv(s->words, kLine) * kLine + kLine : 0;
    ONWARD_ASSIGN_OR_RETURN(
        const int64_t weights,
        CheckedByteSize(DType::kFloat32, Dims{s->blocks, s->words, s->tiles->tile_cols}));
    s->weights = weights / static_cast<int64_t>(sizeof(float));
    s->cells = s->steps * s->step();
    context.SetScratch((s->weights + s->cells + s->packed_rows()) *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<LstmGradientState>();
    CopyState(context, s, kDh, 1);
    CopyState(context, s, kDc, 2);
    if (s.steps == 0 || s.step() == 0) return absl::OkStatus();
    PackWeights(context, s);
    FindCells(context, s);
    for (int64_t i = s.steps - 1; i >= 0; --i) {
      ForEachBlock(context, s, [&](int64_t block) { Elementwise(context, s, i, block); });
      ForEachBlock(context, s, [&](int64_t block) { Multiply(context, s, i, block); });
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckDims(const BindContext& context) {
    const DimsView gates = context.input_dims(kGates), r = context.input_dims(kR),
                   c0 = context.input_dims(kC0);
    bool fits = gates.size() == 3 && c0.size() == 2 && gates[1] == c0[0] && gates[2] == 4 * c0[1] &&
                r == DimsView({4 * c0[1], c0[1]}) && context.input_dims(kDh) == c0 &&
                context.input_dims(kDc) == c0;
    if (fits && context.has_input(kDy))
      fits = context.input_dims(kDy) == DimsView({gates[0], c0[0], c0[1]});
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("gates ", DimsString(gates), ", R ",
                                                   DimsString(r), ", C0 ", DimsString(c0),
                                                   " and the gradients do not fit"));
  }

  static void CopyState(const RunContext& context, const LstmGradientState& s, int input,
                        int output) {
    std::copy_n(context.in<float>(input), s.step(), context.out<float>(output));
  }

  // The place of the i-th step of the recurrence.
  int64_t TimeOf(const LstmGradientState& s, int64_t i) const {
    return reversed_ ? s.steps - 1 - i : i;
  }

  void PackWeights(const RunContext& context, const LstmGradientState& s) const {
    const int64_t width = s.tiles->tile_cols;
    context.ParallelFor(s.blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        s.tiles->pack_columns(context.in<float>(kR) + block * width, s.hidden, UnitsOf(s, block),
                              4 * s.hidden, 1.0f,
                              context.scratch<float>() + block * s.words * width);
      }
    });
  }

  static int UnitsOf(const LstmGradientState& s, int64_t block) {
    const int64_t width = s.tiles->tile_cols;
    return static_cast<int>(std::min(width, s.hidden - block * width));
  }
  static float* CellsOf(const RunContext& context, const LstmGradientState& s, int64_t i) {
    return context.scratch<float>() + s.weights + i * s.step();
  }

  // The cells before each step, by sequence.
  void FindCells(const RunContext& context, const LstmGradientState& s) const {
    const int64_t grain = CeilDiv(2048, s.steps * s.hidden);
    context.ParallelFor(s.batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        std::copy_n(context.in<float>(kC0) + row * s.hidden, s.hidden,
                    CellsOf(context, s, 0) + row * s.hidden);
        for (int64_t i = 0; i + 1 < s.steps; ++i) {
          const float* gates =
              context.in<float>(kGates) + (TimeOf(s, i) * s.batch + row) * 4 * s.hidden;
          const float* c = CellsOf(context, s, i) + row * s.hidden;
          gates_.lstm_cells(gates, s.hidden, c, s.hidden,
                            CellsOf(context, s, i + 1) + row * s.hidden);
        }
      }
    });
  }

  // The parts are as many as the threads, so that a thread meets the same weights at every step;
  // what a block computes does not depend on its part.
  template <typename F>
  static void ForEachBlock(const RunContext& context, const LstmGradientState& s, const F& body) {
    context.ParallelFor(s.parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * s.blocks / s.parts; i < end * s.blocks / s.parts; ++i) body(i);
    });
  }

  void Elementwise(const RunContext& context, const LstmGradientState& s, int64_t i,
                   int64_t block) const {
    const int64_t unit = block * s.tiles->tile_cols, at = TimeOf(s, i) * s.batch;
    float* dgates = context.out<float>(0) + at * 4 * s.hidden + unit;
    LstmGradientRow row;
    row.units = UnitsOf(s, block);
    row.gate = s.hidden;
    for (int64_t n = 0; n < s.batch; ++n) {
      const int64_t state = n * s.hidden + unit;
      row.gates = context.in<float>(kGates) + (at + n) * 4 * s.hidden + unit;
      row.c = CellsOf(context, s, i) + state;
      row.dh = context.out<float>(1) + state;
      if (context.has_input(kDy)) row.dy = context.in<float>(kDy) + at * s.hidden + state;
      row.dc = context.out<float>(2) + state;
      row.dgates = dgates + n * 4 * s.hidden;
      gates_.lstm_gradient(row);
    }
    for (int64_t gate = 0; s.row_words > 0 && gate < 4; ++gate) {
      s.tiles->pack_pairs_of_rows(dgates + gate * s.hidden, 4 * s.hidden, s.batch, row.units,
                                  s.row_words,
                                  PackedRows(context, s) + (gate * s.hidden + unit) / 2);
    }
  }
  static float* PackedRows(const RunContext& context, const LstmGradientState& s) {
    return context.scratch<float>() + s.weights + s.cells;
  }

  // dH before the step, of one block of units.
  void Multiply(const RunContext& context, const LstmGradientState& s, int64_t i,
                int64_t block) const {
    const GemmTileKernels& tiles = *s.tiles;
    const float* rows = s.row_words > 0
                            ? PackedRows(context, s)
                            : context.out<float>(0) + TimeOf(s, i) * s.batch * 4 * s.hidden;
    GemmTile tile;
    tile.cols = UnitsOf(s, block);
    tile.k = s.words;
    tile.a_row = s.row_words > 0 ? s.row_words : 4 * s.hidden;
    tile.a_k = 1;
    tile.b = context.scratch<float>() + block * s.words * tiles.tile_cols;
    tile.b_k = tiles.tile_cols;
    tile.b_padded = true;
    tile.c_row = s.hidden;
    const int64_t row_tiles = CeilDiv(s.batch, MostRowsOfTile(tiles.tile_rows, tile.a_row));
    for (int64_t t = 0; t < row_tiles; ++t) {
      const int64_t begin = s.batch * t / row_tiles, end = s.batch * (t + 1) / row_tiles;
      tile.rows = static_cast<int>(end - begin);
      tile.a = rows + begin * tile.a_row;
      tile.c = context.out<float>(1) + begin * s.hidden + block * tiles.tile_cols;
      tiles.tile(tile);
    }
  }

  const GemmTileKernels& tiles_;
  const GateKernels& gates_;
  bool reversed_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithTiles(const NodeSpec& spec,
                                                      const GemmTileKernels& tiles) {
  return std::make_unique<LstmGradient>(tiles, spec.attributes().Int("reversed", 0) != 0);
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, TilesOf(spec));
  return MakeWithTiles(spec, *tiles);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "LstmGradient", "lstm_gradient_bf16", Make, kBf16Targets},
    {"onward", "LstmGradient", "lstm_gradient", Make, kVectorTargets},
};

}  // namespace

KernelList RecurrentGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

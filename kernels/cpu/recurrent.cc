// RNN, GRU and LSTM in float32 with the default activations, RNN also with Relu. X is projected by
// one product for all steps and directions; a step is one loop over blocks of hidden units, each of
// which multiplies the state by its gates' columns of R and applies the cell. Weights are packed so
// that the gates of a block stand side by side: [direction][block][gate][unit]; constant ones once,
// others in each run. Tiles of pairs round weights, X and the states that they multiply to
// bfloat16.
#include "kernels/bind/recurrent.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_shared.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/recurrent_states.h"
#include "kernels/cpu/recurrent_weights.h"
#include "kernels/cpu/simd/gates.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kLine = 16;         // words; packed rows begin in different sets of the cache
constexpr int64_t kPackedPanels = 4;  // of each weight, that one thread packs at a time
constexpr int kMaxTileRows = 16, kMaxGates = 4, kMaxTileCols = 64;
constexpr int kGates = 3;  // the output of LstmWithGates
// Below this many products a step is done by one thread.
constexpr int64_t kMinParallelStep = 128 * 1024;

struct RecurrentState {
  RecurrentGeometry g;
  GemmPlan projection;
  bool packs_once;  // X's product, by `shared`
  SharedPlan shared;
  int64_t state_words;  // of a state's row as pairs; 0: tiles read floats
  int64_t blocks;       // of one direction
  int64_t width;        // floats of a projected row: directions * blocks * gates * tile_cols
  int64_t parts;        // of a step
  int64_t padded;       // blocks * tile_cols: floats of a state's row
  int64_t states;       // floats of one state of all sequences
  WeightSizes sizes;
  int64_t order_offset;  // of the order of the sequences in scratch

  int64_t state_pairs() const { return state_words * (states / std::max<int64_t>(1, padded)); }
};

// Pointers into scratch, and the step that runs.
struct Step {
  PackedWeights weights;
  const float* projected;
  float* h;  // [direction][batch][padded], as the others
  float* h_next;
  float* h_pairs;       // [direction][batch][state_words], as the other
  float* h_pairs_next;  // of a GRU that multiplies its reset state, that one's
  float* c;
  float* reset;
  float* update;
  int64_t index;
  RecurrentStates states;  // which rows they have
  int64_t active;          // rows that have not ended
};

class Recurrent : public Kernel {
 public:
  // `constant`: the packed weights, or empty.
  Recurrent(RecurrentAttributes attributes, const GemmTileKernels& tiles, Tensor constant)
      : a_(std::move(attributes)),
        tiles_(tiles),
        gates_(kGatesPerTarget.For(tiles.target)()),
        constant_(std::move(constant)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const RecurrentGeometry g, BindRecurrent(a_, context));
    if (context.has_output(kGates))
      context.SetOutput(kGates, {a_.directions, g.steps, g.batch, a_.gates() * g.hidden});
    auto* s = context.NewState<RecurrentState>();
    s->g = g;
    s->blocks = (g.hidden + tiles_.tile_cols - 1) / tiles_.tile_cols;
    s->padded = s->blocks * tiles_.tile_cols;
    s->width = a_.directions * a_.gates() * s->padded;
    const int64_t rows = g.steps * g.batch;
    s->projection = PlanGemm(tiles_, ColumnsLayout::kPanels, rows, s->width, g.input, 1, false);
    s->packs_once = PacksOnce(tiles_, ColumnsLayout::kPanels, false, rows, s->width, g.input);
    if (s->packs_once)
      s->shared = PlanShared(tiles_, ColumnsLayout::kPanels, false, rows, s->width, g.input);
    s->state_words = tiles_.k_per_word > 1 ? s->padded / 2 + kLine : 0;
    const bool parallel = s->width * g.hidden * g.batch >= kMinParallelStep;
    s->parts = parallel ? std::min<int64_t>(context.num_workers(), a_.directions * s->blocks) : 1;
    const int64_t states = a_.directions * g.batch * s->padded;
    s->sizes = SizesOf(a_, tiles_, g.hidden, g.input, context.has_input(3));
    s->states = states;
    const int64_t packed = constant_.empty() ? s->sizes.all() : 0;
    const int64_t projecting =
        s->packs_once ? s->shared.scratch : s->projection.scratch * context.num_workers();
    const int64_t floats =
        packed + rows * s->width + 5 * states + s->state_pairs() * 2 + projecting;
    s->order_offset = floats;
    context.SetScratch((floats + (context.has_input(4) ? g.batch : 0)) *
                       static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<RecurrentState>();
    const int64_t states = s.states;
    float* projected = context.scratch<float>();
    float* h = projected + s.g.steps * s.g.batch * s.width;
    float* pairs = h + 5 * states;
    Step step = {};
    step.states = {.g = s.g, .directions = a_.directions, .padded = s.padded};
    ONWARD_RETURN_IF_ERROR(step.states.Order(context, context.scratch<int32_t>() + s.order_offset));
    if (step.states.has_lens() && context.has_output(0))  // Y is zero beyond the lengths
      std::fill_n(context.out<float>(0), NumElements(context.output(0).dims), 0.0f);
    step.projected = projected;
    step.h = h, step.h_next = h + states, step.c = h + 2 * states;
    step.reset = h + 3 * states, step.update = h + 4 * states;
    step.h_pairs = pairs, step.h_pairs_next = pairs + s.state_pairs();
    float* weights = pairs + 2 * s.state_pairs();
    step.weights = WeightsFor(context, s, weights);
    Project(context, s, step.weights, projected, weights + (constant_.empty() ? s.sizes.all() : 0));
    step.states.Load(context, 5, step.h);
    if (s.state_words > 0)
      PackState(s, step.h, 0, s.padded, 0, a_.directions * s.g.batch, step.h_pairs);
    if (a_.op == RecurrentOp::kLstm) step.states.Load(context, 6, step.c);
    const bool two_phases = a_.op == RecurrentOp::kGru && !a_.linear_before_reset;
    const int64_t running = step.states.Active(0);
    step.states.Store(context, 1, step.h, running);
    step.states.Store(context, 2, step.c, running);
    for (; step.index < s.g.steps; ++step.index) {
      step.active = step.states.Active(step.index);
      if (step.active == 0) break;
      if (two_phases) {
        ForEachBlock(context, s, step, [&](int64_t block) { ResetBlock(s, step, block); });
        ForEachBlock(context, s, step,
                     [&](int64_t block) { CandidateBlock(context, s, step, block); });
      } else {
        ForEachBlock(context, s, step, [&](int64_t block) { CellBlock(context, s, step, block); });
      }
      std::swap(step.h, step.h_next);
      if (!two_phases) std::swap(step.h_pairs, step.h_pairs_next);
    }
    return absl::OkStatus();
  }

 private:
  PackedWeights WeightsFor(RunContext& context, const RecurrentState& s, float* scratch) const {
    if (!constant_.empty())
      return s.sizes.In(const_cast<float*>(constant_.data<float>()));  // only read
    const PackedWeights weights = s.sizes.In(scratch);
    context.ParallelFor(s.width / tiles_.tile_cols, kPackedPanels, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        PackPanel(tiles_, s.sizes, context.in<float>(1), s.g.input, i, weights.w);
        PackPanel(tiles_, s.sizes, context.in<float>(2), s.g.hidden, i, weights.r);
      }
    });
    if (s.sizes.has_bias) PackBias(tiles_, s.sizes, context.in<float>(3), weights);
    return weights;
  }

  // Units [unit, unit + units) of the states of rows [begin, end) as pairs.
  void PackState(const RecurrentState& s, const float* h, int64_t unit, int64_t units,
                 int64_t begin, int64_t end, float* pairs) const {
    tiles_.pack_pairs_of_rows(h + begin * s.padded + unit, s.padded, end - begin, units,
                              s.state_words, pairs + begin * s.state_words + unit / 2);
  }

  // What a block wrote to the states `h` of sequences [row, row + rows).
  void PackBlock(const RecurrentState& s, const float* h, int64_t block, int64_t row, int rows,
                 float* pairs) const {
    if (s.state_words == 0) return;
    const int64_t first = block / s.blocks * s.g.batch + row;
    PackState(s, h, block % s.blocks * tiles_.tile_cols, tiles_.tile_cols, first, first + rows,
              pairs);
  }

  void Project(RunContext& context, const RecurrentState& s, const PackedWeights& weights,
               float* projected, float* scratch) const {
    GemmArguments args;
    args.a = context.in<float>(0);
    args.a_row = s.g.input;
    args.b = weights.w;
    args.c = projected;
    args.c_row = s.width;
    args.bias_of_column = weights.bias;
    if (s.packs_once) return RunShared(tiles_, s.shared, args, scratch, context);
    context.ParallelForWorkers(s.projection.chunks(), s.projection.grain,
                               [&](int worker, int64_t begin, int64_t end) {
                                 for (int64_t chunk = begin; chunk < end; ++chunk)
                                   RunGemmChunk(tiles_, s.projection, args, chunk,
                                                scratch + worker * s.projection.scratch);
                               });
  }

  // The parts are as many as the threads, so that a thread meets the same weights at every step;
  // what a block computes does not depend on its part. Every other step goes through them
  // backwards: it begins with those that the last one left in the cache.
  template <typename F>
  void ForEachBlock(RunContext& context, const RecurrentState& s, const Step& step,
                    const F& body) const {
    const int64_t blocks = a_.directions * s.blocks;
    context.ParallelFor(s.parts, 1, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * blocks / s.parts, last = end * blocks / s.parts - 1;
      for (int64_t i = first; i <= last; ++i) body(step.index % 2 == 0 ? i : first + last - i);
    });
  }

  int64_t TimeOf(const Step& step, int64_t direction, int64_t row) const {
    return a_.reversed(static_cast<int>(direction)) ? step.states.Length(row) - 1 - step.index
                                                    : step.index;
  }

  // The projected row of row `row` at this step; without lengths, those of further rows are
  // ProjectedStride apart.
  const float* ProjectedRow(const RecurrentState& s, const Step& step, int64_t direction,
                            int64_t row) const {
    const int64_t time = TimeOf(step, direction, row), n = step.states.Sequence(row);
    const int64_t index = a_.batch_first ? n * s.g.steps + time : time * s.g.batch + n;
    return step.projected + index * s.width;
  }
  int64_t ProjectedStride(const RecurrentState& s) const {
    return (a_.batch_first ? s.g.steps : 1) * s.width;
  }

  // sums = gates [first, last) of one block for sequences [row, row + rows): what X gave, or the
  // candidate's bias of a GRU that is linear before reset, plus the state `h`, or `pairs`, times R.
  void Multiply(const RecurrentState& s, const Step& step, int64_t block, int first, int last,
                const float* h, const float* pairs, int64_t row, int rows, float* sums) const {
    const int64_t cols = tiles_.tile_cols, direction = block / s.blocks;
    const float* projected = ProjectedRow(s, step, direction, row);
    const int64_t first_panel = block * a_.gates() + first;
    for (int r = 0; step.states.has_lens() && r < rows; ++r) {
      std::copy_n(ProjectedRow(s, step, direction, row + r) + first_panel * cols,
                  (last - first) * cols, sums + r * (last - first) * cols);
    }
    GemmTile tile;
    tile.rows = rows;
    tile.cols = static_cast<int>(cols);
    tile.k = s.sizes.words(s.g.hidden);
    const int64_t first_row = direction * s.g.batch + row;
    tile.a = s.state_words > 0 ? pairs + first_row * s.state_words : h + first_row * s.padded;
    tile.a_row = s.state_words > 0 ? s.state_words : s.padded;
    tile.a_k = 1;
    tile.b_k = cols;
    tile.b_padded = true;
    tile.c_row = (last - first) * cols;
    for (int gate = first; gate < last; ++gate) {
      const int64_t panel = block * a_.gates() + gate;
      tile.b = step.weights.r + panel * tile.k * cols;
      tile.c = sums + (gate - first) * cols;
      tile.bias_of_column = nullptr;
      tile.residual = nullptr;
      tile.accumulate = false;
      if (a_.op == RecurrentOp::kGru && a_.linear_before_reset && gate == 2) {
        if (step.weights.candidate_bias != nullptr)
          tile.bias_of_column = step.weights.candidate_bias + block * cols;
      } else if (step.states.has_lens()) {
        tile.accumulate = true;
      } else {
        tile.residual = projected + panel * cols;
        tile.residual_row = ProjectedStride(s);
      }
      tiles_.tile(tile);
    }
  }

  // Calls body(row, rows) for groups of sequences as high as a tile.
  template <typename F>
  void ForEachRows(const RecurrentState& s, const Step& step, const F& body) const {
    const int64_t most =
        s.state_words > 0 ? tiles_.tile_rows : MostRowsOfTile(tiles_.tile_rows, s.padded);
    for (int64_t row = 0; row < step.active; row += most)
      body(row, static_cast<int>(std::min(most, step.active - row)));
  }

  GateBlock BlockOf(const RecurrentState& s, const Step& step, int64_t block, int64_t row, int rows,
                    int gates, const float* sums) const {
    const int64_t cols = tiles_.tile_cols, direction = block / s.blocks;
    const int64_t at =
        (direction * s.g.batch + row) * s.padded + block % s.blocks * tiles_.tile_cols;
    GateBlock b;
    b.rows = rows;
    b.units = tiles_.tile_cols;
    b.sums = sums;
    b.sums_row = gates * cols;
    b.h = step.h + at;
    b.h_next = step.h_next + at;
    b.c = step.c + at;
    b.update = step.update + at;
    b.h_row = s.padded;
    if (a_.op == RecurrentOp::kGru && a_.linear_before_reset) {
      b.x = ProjectedRow(s, step, direction, row) + (block * a_.gates() + 2) * cols;
      b.x_row = ProjectedStride(s);
    }
    return b;
  }

  // RNN, LSTM and the GRU that is linear before reset.
  void CellBlock(const RunContext& context, const RecurrentState& s, const Step& step,
                 int64_t block) const {
    ForEachRows(s, step, [&](int64_t row, int rows) {
      alignas(64) float sums[kMaxTileRows * kMaxGates * kMaxTileCols];
      Multiply(s, step, block, 0, a_.gates(), step.h, step.h_pairs, row, rows, sums);
      if (context.has_output(kGates)) StoreGates(context, s, step, block, row, rows, sums);
      GateBlock b = BlockOf(s, step, block, row, rows, a_.gates(), sums);
      const auto direction = static_cast<size_t>(block / s.blocks);
      alignas(64) float x[kMaxTileRows * kMaxTileCols];
      if (b.x != nullptr && step.states.has_lens()) GatherCandidates(s, step, block, row, x, b);
      CellLoop(direction)(b);
      PackBlock(s, step.h_next, block, row, rows, step.h_pairs_next);
      StoreOutput(context, s, step, block, row, rows);
    });
  }

  void (*CellLoop(size_t direction) const)(const GateBlock&) {
    if (a_.op == RecurrentOp::kLstm) return gates_.lstm;
    if (a_.op == RecurrentOp::kGru) return gates_.gru_linear;
    return a_.activations[direction].kind == GateFunction::kRelu ? gates_.rnn_relu : gates_.rnn;
  }

  void StoreGates(const RunContext& context, const RecurrentState& s, const Step& step,
                  int64_t block, int64_t row, int rows, const float* sums) const {
    const int64_t cols = tiles_.tile_cols, gates = a_.gates(), hidden = s.g.hidden;
    const int64_t direction = block / s.blocks, unit = block % s.blocks * cols;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t time = direction * s.g.steps + TimeOf(step, direction, row + r);
      float* to = context.out<float>(kGates) + (time * s.g.batch + row + r) * gates * hidden + unit;
      for (int64_t gate = 0; gate < gates; ++gate)
        std::copy_n(sums + (r * gates + gate) * cols, std::min(cols, hidden - unit),
                    to + gate * hidden);
    }
  }

  // Copies the candidates' part of X, whose rows lie apart by lengths, to `x`.
  void GatherCandidates(const RecurrentState& s, const Step& step, int64_t block, int64_t row,
                        float* x, GateBlock& b) const {
    const int64_t cols = tiles_.tile_cols;
    for (int r = 0; r < b.rows; ++r)
      std::copy_n(
          ProjectedRow(s, step, block / s.blocks, row + r) + (block * a_.gates() + 2) * cols, cols,
          x + r * cols);
    b.x = x;
    b.x_row = cols;
  }

  void ResetBlock(const RecurrentState& s, const Step& step, int64_t block) const {
    ForEachRows(s, step, [&](int64_t row, int rows) {
      alignas(64) float sums[kMaxTileRows * kMaxGates * kMaxTileCols];
      Multiply(s, step, block, 0, 2, step.h, step.h_pairs, row, rows, sums);
      GateBlock b = BlockOf(s, step, block, row, rows, 2, sums);
      b.h_next = step.reset + (b.h - step.h);
      gates_.gru_reset(b);
      PackBlock(s, step.reset, block, row, rows, step.h_pairs_next);
    });
  }

  void CandidateBlock(const RunContext& context, const RecurrentState& s, const Step& step,
                      int64_t block) const {
    ForEachRows(s, step, [&](int64_t row, int rows) {
      alignas(64) float sums[kMaxTileRows * kMaxGates * kMaxTileCols];
      Multiply(s, step, block, 2, 3, step.reset, step.h_pairs_next, row, rows, sums);
      gates_.gru_candidate(BlockOf(s, step, block, row, rows, 1, sums));
      PackBlock(s, step.h_next, block, row, rows, step.h_pairs);
      StoreOutput(context, s, step, block, row, rows);
    });
  }

  void StoreOutput(const RunContext& context, const RecurrentState& s, const Step& step,
                   int64_t block, int64_t row, int rows) const {
    const int64_t direction = block / s.blocks;
    const int64_t unit = block % s.blocks * tiles_.tile_cols;
    const int64_t count = std::min<int64_t>(tiles_.tile_cols, s.g.hidden - unit);
    const int64_t first = direction * s.g.batch * s.padded + unit;
    for (int64_t r = row; r < row + rows; ++r) {
      const int64_t at = first + r * s.padded;
      if (context.has_output(0)) {
        std::copy_n(step.h_next + at, count,
                    context.out<float>(0) + TimeOf(step, direction, r) * s.g.y_step +
                        direction * s.g.y_direction + unit + step.states.Sequence(r) * s.g.y_batch);
      }
      if (step.states.Length(r) == step.index + 1) {
        step.states.StoreUnits(context, 1, direction, r, unit, count, step.h_next + at);
        step.states.StoreUnits(context, 2, direction, r, unit, count, step.c + at);
      }
    }
  }

  RecurrentAttributes a_;
  const GemmTileKernels& tiles_;
  const GateKernels& gates_;
  Tensor constant_;
};

bool HasLoops(const RecurrentAttributes& a) {
  for (size_t i = 0; i < a.activations.size(); ++i) {
    const bool first = i % static_cast<size_t>(a.functions()) == 0;
    const GateFunction expected =
        first && a.op != RecurrentOp::kRnn ? GateFunction::kSigmoid : GateFunction::kTanh;
    const bool relu = a.op == RecurrentOp::kRnn && a.activations[i].kind == GateFunction::kRelu;
    if (a.activations[i].kind != expected && !relu) return false;
  }
  return a.clip == std::numeric_limits<float>::infinity() && !a.input_forget;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithTiles(const NodeSpec& spec, RecurrentOp op,
                                                      const GemmTileKernels& tiles) {
  if (spec.input_dtype(0) != DType::kFloat32) return absl::UnimplementedError("float32 only");
  ONWARD_ASSIGN_OR_RETURN(RecurrentAttributes attributes, RecurrentAttributes::Parse(spec, op));
  if (!HasLoops(attributes) || spec.has_input(7)) {
    return absl::UnimplementedError(
        "default activations and an RNN's Relu only, without clip, input_forget and peepholes");
  }
  if (spec.only_asks()) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, PackConstants(spec, attributes, tiles));
  return std::make_unique<Recurrent>(std::move(attributes), tiles, std::move(packed));
}

template <RecurrentOp kOp>
absl::StatusOr<std::unique_ptr<Kernel>> MakeRecurrent(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const GemmTileKernels* tiles, TilesOf(spec));
  return MakeWithTiles(spec, kOp, *tiles);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLstmWithGates(const NodeSpec& spec) {
  if (spec.has_input(4)) return absl::UnimplementedError("gates only without sequence_lens");
  return MakeRecurrent<RecurrentOp::kLstm>(spec);
}

constexpr RecurrentOp kRnn = RecurrentOp::kRnn, kGru = RecurrentOp::kGru,
                      kLstm = RecurrentOp::kLstm;
constexpr KernelEntry kKernels[] = {
    {"", "RNN", "rnn_bf16", MakeRecurrent<kRnn>, kBf16Targets},
    {"", "RNN", "rnn", MakeRecurrent<kRnn>, kVectorTargets},
    {"", "GRU", "gru_bf16", MakeRecurrent<kGru>, kBf16Targets},
    {"", "GRU", "gru", MakeRecurrent<kGru>, kVectorTargets},
    {"", "LSTM", "lstm_bf16", MakeRecurrent<kLstm>, kBf16Targets},
    {"", "LSTM", "lstm", MakeRecurrent<kLstm>, kVectorTargets},
    {"onward", "LstmWithGates", "lstm_with_gates_bf16", MakeLstmWithGates, kBf16Targets},
    {"onward", "LstmWithGates", "lstm_with_gates", MakeLstmWithGates, kVectorTargets},
};

}  // namespace

KernelList RecurrentKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

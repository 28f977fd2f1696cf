// RNN, GRU and LSTM with the default activations, an RNN with Relu too. One product projects X for
// all steps and directions; a step multiplies the states of all directions by R in one product and
// applies the gates in one kernel. A GRU that resets before it multiplies takes two of each. A
// sequence that has ended keeps its states while others have steps.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/bind/recurrent.h"
#include "kernels/cuda/cublaslt_product.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/unary_functors.h"

namespace onward::kernels::cuda {
namespace {

// The operands of the kernels of one step; a row is one sequence in one direction.
template <typename T>
struct Step {
  RecurrentGeometry g;
  int directions;
  bool first_reversed;
  int64_t index;
  const int32_t* lengths;   // steps of each sequence; null: all have all
  int64_t x_step, x_batch;  // rows of `projected` from step to step and from sequence to sequence
  const T* projected;       // [steps and sequences][direction][gate][hidden]: X W^T
  const T* bias;            // [direction][Wb and Rb][gate][hidden], or null
  const T* recurrent;       // [direction][batch][gates of one product][hidden]: h R^T
  int64_t recurrent_gates;
  const T* candidate;     // of a GRU, the part of the product for its last gate
  int64_t candidate_row;  // elements from row to row
  T* h;                   // [direction][batch][hidden], as the next two: what the products read
  T* reset;
  // The state that is added up from step to step, not rounded: h of a GRU, c of an LSTM; an RNN has
  // none.
  ComputeType<T>* carried;
  T *y, *y_h, *y_c;  // null where they are not written
};

// One hidden unit of one sequence in one direction.
struct Unit {
  int64_t direction, n, j;
  int64_t row;  // direction * batch + n
};

// A thread has one j and every gridDim.y-th row.
template <typename T, typename F>
__device__ inline void ForEachUnit(const Step<T>& s, const F& body) {
  const int64_t j = GlobalIndex(), rows = s.directions * s.g.batch;
  if (j >= s.g.hidden) return;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const int64_t direction = row < s.g.batch ? 0 : 1;
    body(Unit{direction, row - direction * s.g.batch, j, row});
  }
}

// The steps of the unit's sequence; never more than there are, whatever `lengths` holds.
template <typename T>
__device__ inline int64_t LengthOf(const Step<T>& s, const Unit& u) {
  if (s.lengths == nullptr || s.lengths[u.n] > s.g.steps) return s.g.steps;
  return s.lengths[u.n];
}

// The time that a sequence which has not ended reads and writes at this step.
template <typename T>
__device__ inline int64_t TimeOf(const Step<T>& s, const Unit& u) {
  return u.direction == 1 || s.first_reversed ? LengthOf(s, u) - 1 - s.index : s.index;
}

// The part of X and, with a bias, Wb.
template <int kGates, typename T>
__device__ inline ComputeType<T> InputPart(const Step<T>& s, const Unit& u, int gate) {
  const int64_t width = kGates * s.g.hidden, j = gate * s.g.hidden + u.j;
  const int64_t row = TimeOf(s, u) * s.x_step + u.n * s.x_batch;
  const auto x = Load(s.projected[(row * s.directions + u.direction) * width + j]);
  return s.bias == nullptr ? x : x + Load(s.bias[u.direction * 2 * width + j]);
}

template <int kGates, typename T>
__device__ inline ComputeType<T> RecurrentBias(const Step<T>& s, const Unit& u, int gate) {
  if (s.bias == nullptr) return 0;
  return Load(s.bias[((u.direction * 2 + 1) * kGates + gate) * s.g.hidden + u.j]);
}

template <int kGates, typename T>
__device__ inline ComputeType<T> GateSum(const Step<T>& s, const Unit& u, int gate) {
  const auto product = Load(s.recurrent[(u.row * s.recurrent_gates + gate) * s.g.hidden + u.j]);
  return InputPart<kGates>(s, u, gate) + (product + RecurrentBias<kGates>(s, u, gate));
}

template <typename T>
__device__ inline void StoreState(const Step<T>& s, const Unit& u, ComputeType<T> value, T* to) {
  if (to != nullptr)
    to[u.direction * s.g.h_direction + u.n * s.g.h_batch + u.j] = Rounded<T>(value);
}

template <typename T>
__device__ inline void StoreResult(const Step<T>& s, const Unit& u, int64_t time, T h) {
  if (s.y != nullptr)
    s.y[time * s.g.y_step + u.direction * s.g.y_direction + u.n * s.g.y_batch + u.j] = h;
}

template <typename T>
__device__ inline void StoreHidden(const Step<T>& s, const Unit& u, ComputeType<T> h) {
  s.h[u.row * s.g.hidden + u.j] = Rounded<T>(h);
  StoreResult(s, u, TimeOf(s, u), Rounded<T>(h));
  StoreState(s, u, h, s.y_h);
}

// Calls cell(unit) for the units of sequences that have not ended; Y is 0 beyond the others' ends.
template <typename T, typename F>
__device__ inline void ForEachCell(const Step<T>& s, const F& cell) {
  ForEachUnit(s, [&](const Unit& u) {
    if (s.index < LengthOf(s, u)) {
      cell(u);
      return;
    }
    const int64_t at = u.row * s.g.hidden + u.j;
    StoreResult(s, u, s.index, Rounded<T>(ComputeType<T>(0)));
    StoreState(s, u, Load(s.h[at]), s.y_h);
    StoreState(s, u, s.carried[at], s.y_c);
  });
}

// `carried`: initial_c of an LSTM, initial_h of others. Null ones are 0. Notes a length that is
// out of range.
template <typename T>
__global__ void LoadStates(Step<T> s, const T* h, const T* carried, DeviceFaultSite fault) {
  ForEachUnit(s, [&](const Unit& u) {
    const int64_t length = s.lengths == nullptr ? 0 : s.lengths[u.n];
    if (length < 0 || length > s.g.steps) ReportBadIndex(fault, u.n, length, s.g.steps + 1);
    const int64_t from = u.direction * s.g.h_direction + u.n * s.g.h_batch + u.j;
    const int64_t to = u.row * s.g.hidden + u.j;
    const ComputeType<T> first = h == nullptr ? 0 : Load(h[from]);
    const ComputeType<T> second = carried == nullptr ? 0 : Load(carried[from]);
    s.h[to] = Rounded<T>(first);
    s.carried[to] = second;
    StoreState(s, u, first, s.y_h);
    StoreState(s, u, second, s.y_c);
  });
}

template <typename F, typename T>
__global__ void RnnCell(Step<T> s) {
  ForEachCell(s, [&](const Unit& u) { StoreHidden(s, u, F()(GateSum<1>(s, u, 0))); });
}

// Gates: i, o, f, c.
template <typename T>
__global__ void LstmCell(Step<T> s) {
  ForEachCell(s, [&](const Unit& u) {
    const functors::Sigmoid sigmoid;
    ComputeType<T>& c = s.carried[u.row * s.g.hidden + u.j];
    const auto input = sigmoid(GateSum<4>(s, u, 0)), output = sigmoid(GateSum<4>(s, u, 1)),
               forget = sigmoid(GateSum<4>(s, u, 2)), cell = std::tanh(GateSum<4>(s, u, 3));
    const ComputeType<T> next = forget * c + input * cell;
    c = next;
    StoreState(s, u, next, s.y_c);
    StoreHidden(s, u, output * std::tanh(next));
  });
}

// Gates of a GRU: z, r, h.
template <typename T>
__global__ void GruReset(Step<T> s) {
  ForEachUnit(s, [&](const Unit& u) {
    if (s.index >= LengthOf(s, u)) return;
    const int64_t at = u.row * s.g.hidden + u.j;
    s.reset[at] = Rounded<T>(functors::Sigmoid()(GateSum<3>(s, u, 1)) * s.carried[at]);
  });
}

template <bool kLinearBeforeReset, typename T>
__global__ void GruCell(Step<T> s) {
  ForEachCell(s, [&](const Unit& u) {
    const functors::Sigmoid sigmoid;
    ComputeType<T> recurrent = Load(s.candidate[u.row * s.candidate_row + u.j]);
    recurrent += RecurrentBias<3>(s, u, 2);
    if (kLinearBeforeReset) recurrent *= sigmoid(GateSum<3>(s, u, 1));
    const auto candidate = std::tanh(InputPart<3>(s, u, 2) + recurrent);
    const auto update = sigmoid(GateSum<3>(s, u, 0));
    ComputeType<T>& h = s.carried[u.row * s.g.hidden + u.j];
    const ComputeType<T> next = (1 - update) * candidate + update * h;
    h = next;
    StoreHidden(s, u, next);
  });
}

struct ChosenProduct {
  Product product;
  cublasLtMatmulAlgo_t algorithm;
};

// Offsets are bytes of scratch, behind what the products take.
struct State {
  RecurrentGeometry g;
  ChosenProduct projection, recurrence, candidate;
  int64_t projected, recurrent, candidates, h, reset, carried;
};

constexpr int64_t kBufferAlignment = 256;

template <typename T>
class Recurrent : public Kernel {
 public:
  Recurrent(RecurrentAttributes attributes, DType dtype, Precision precision)
      : a_(std::move(attributes)),
        product_(dtype, precision),
        resets_first_(a_.op == RecurrentOp::kGru && !a_.linear_before_reset) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const RecurrentGeometry g, BindRecurrent(a_, context));
    auto* s = context.NewState<State>();
    s->g = g;
    if (Units(g) == 0) return absl::OkStatus();
    const int64_t states = Units(g), gates = a_.gates(), rows = g.steps * g.batch;
    int64_t bytes = 0;
    const auto place = [&bytes](int64_t count, size_t size) {
      const int64_t at = bytes;
      bytes += count * static_cast<int64_t>(size);
      bytes = (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
      return at;
    };
    place(LtProduct::scratch_bytes(), 1);
    s->h = place(states, sizeof(T));
    s->carried = place(states, sizeof(ComputeType<T>));
    s->recurrent = place(states * RecurrentGates(), sizeof(T));
    s->projected = place(rows * a_.directions * gates * g.hidden, sizeof(T));
    if (resets_first_) {
      s->reset = place(states, sizeof(T));
      s->candidates = place(states, sizeof(T));
    }
    context.SetScratch(bytes);
    return g.steps == 0 ? absl::OkStatus() : ChooseProducts(s);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<State>();
    if (Units(state.g) == 0) return absl::OkStatus();
    Step<T> step = FirstStep(context, state);
    if (state.g.steps > 0) ONWARD_RETURN_IF_ERROR(Project(context, state));
    SetFinalOutputs(context, state.g.steps == 0, step);
    const int carried = a_.op == RecurrentOp::kLstm ? 6 : 5;
    ONWARD_RETURN_IF_ERROR(LaunchUnits(context, LoadStates<T>, step, Optional(context, 5),
                                       Optional(context, carried),
                                       context.services()->device_fault()));
    for (int64_t i = 0; i < state.g.steps; ++i) {
      step.index = i;
      SetFinalOutputs(context, i + 1 == state.g.steps, step);
      ONWARD_RETURN_IF_ERROR(RunStep(context, state, step));
    }
    return absl::OkStatus();
  }

 private:
  int64_t Units(const RecurrentGeometry& g) const { return a_.directions * g.batch * g.hidden; }
  // The gates of the product of h and R.
  int64_t RecurrentGates() const { return resets_first_ ? 2 : a_.gates(); }
  static const T* Optional(const RunContext& context, int i) {
    return context.has_input(i) ? context.in<T>(i) : nullptr;
  }

  absl::Status ChooseProducts(State* s) const {
    const RecurrentGeometry& g = s->g;
    Product& p = s->projection.product;
    p.m = g.steps * g.batch;
    p.n = a_.directions * a_.gates() * g.hidden;
    p.k = g.input;
    p.trans_b = true;
    if (p.k > 0) ONWARD_RETURN_IF_ERROR(product_.Choose(p, &s->projection.algorithm));
    ONWARD_RETURN_IF_ERROR(ChooseRecurrent(g, 0, RecurrentGates(), &s->recurrence));
    return resets_first_ ? ChooseRecurrent(g, 2, 1, &s->candidate) : absl::OkStatus();
  }

  // The states of each direction times its rows of R for the gates from `first` on.
  absl::Status ChooseRecurrent(const RecurrentGeometry& g, int64_t first, int64_t gates,
                               ChosenProduct* chosen) const {
    Product& p = chosen->product;
    p.m = g.batch;
    p.n = gates * g.hidden;
    p.k = g.hidden;
    p.trans_b = true;
    p.batches = a_.directions;
    p.a_stride = p.m * p.k;
    p.b_stride = a_.gates() * g.hidden * g.hidden;
    if (p.batches > 1) {
      p.a_alignment = AlignmentOfElements(p.a_stride);
      p.b_alignment = AlignmentOfElements(p.b_stride);
      p.d_alignment = AlignmentOfElements(p.m * p.n);
    }
    p.b_alignment = std::min(p.b_alignment, AlignmentOfElements(first * g.hidden * g.hidden));
    return product_.Choose(p, &chosen->algorithm);
  }

  static uint32_t AlignmentOfElements(int64_t count) {
    return AlignmentOfSteps(count * static_cast<int64_t>(sizeof(T)));
  }

  Step<T> FirstStep(const RunContext& context, const State& s) const {
    char* scratch = context.scratch<char>();
    Step<T> step = {};
    step.g = s.g;
    step.directions = a_.directions;
    step.first_reversed = a_.first_reversed;
    step.lengths = context.has_input(4) ? context.in<int32_t>(4) : nullptr;
    step.x_step = a_.batch_first ? 1 : s.g.batch;
    step.x_batch = a_.batch_first ? s.g.steps : 1;
    step.projected = reinterpret_cast<T*>(scratch + s.projected);
    step.bias = Optional(context, 3);
    step.recurrent = reinterpret_cast<T*>(scratch + s.recurrent);
    step.recurrent_gates = RecurrentGates();
    step.candidate = resets_first_ ? reinterpret_cast<T*>(scratch + s.candidates)
                                   : step.recurrent + 2 * s.g.hidden;
    step.candidate_row = resets_first_ ? s.g.hidden : a_.gates() * s.g.hidden;
    step.h = reinterpret_cast<T*>(scratch + s.h);
    step.reset = reinterpret_cast<T*>(scratch + s.reset);
    step.carried = reinterpret_cast<ComputeType<T>*>(scratch + s.carried);
    step.y = context.has_output(0) ? context.out<T>(0) : nullptr;
    return step;
  }

  // Y_h and Y_c are what the last kernel leaves.
  void SetFinalOutputs(const RunContext& context, bool is_last, Step<T>& step) const {
    step.y_h = is_last && context.has_output(1) ? context.out<T>(1) : nullptr;
    step.y_c = is_last && context.has_output(2) ? context.out<T>(2) : nullptr;
  }

  absl::Status Project(const RunContext& context, const State& s) const {
    const ChosenProduct& chosen = s.projection;
    T* to = reinterpret_cast<T*>(context.scratch<char>() + s.projected);
    if (chosen.product.k > 0)
      return RunProduct(context, chosen, context.in<T>(0), context.in<T>(1), to);
    const int64_t count = chosen.product.m * chosen.product.n;
    return ToStatus(
        cudaMemsetAsync(to, 0, static_cast<size_t>(count) * sizeof(T), StreamOf(context)));
  }

  absl::Status RunProduct(const RunContext& context, const ChosenProduct& chosen, const T* a,
                          const T* b, T* d) const {
    ProductOperands operands;
    operands.a = a;
    operands.b = b;
    operands.d = d;
    return product_.Run(chosen.product, chosen.algorithm, 1, operands, context.scratch<void>(),
                        StreamOf(context));
  }

  absl::Status RunStep(const RunContext& context, const State& s, const Step<T>& step) const {
    char* scratch = context.scratch<char>();
    const T* r = context.in<T>(2);
    ONWARD_RETURN_IF_ERROR(
        RunProduct(context, s.recurrence, step.h, r, reinterpret_cast<T*>(scratch + s.recurrent)));
    if (a_.op == RecurrentOp::kRnn) {
      return LaunchUnits(context,
                         a_.activations[0].kind == GateFunction::kRelu ? RnnCell<functors::Relu, T>
                                                                       : RnnCell<functors::Tanh, T>,
                         step);
    }
    if (a_.op == RecurrentOp::kLstm) return LaunchUnits(context, LstmCell<T>, step);
    if (!resets_first_) return LaunchUnits(context, GruCell<true, T>, step);
    ONWARD_RETURN_IF_ERROR(LaunchUnits(context, GruReset<T>, step));
    ONWARD_RETURN_IF_ERROR(RunProduct(context, s.candidate, step.reset,
                                      r + 2 * s.g.hidden * s.g.hidden,
                                      reinterpret_cast<T*>(scratch + s.candidates)));
    return LaunchUnits(context, GruCell<false, T>, step);
  }

  template <typename... Parameters, typename... Arguments>
  absl::Status LaunchUnits(const RunContext& context, void (*kernel)(Step<T>, Parameters...),
                           const Step<T>& step, Arguments... arguments) const {
    constexpr int64_t kWarp = 32, kMostRows = 65535;  // the grid's limit in y
    const int64_t hidden = step.g.hidden;
    const int64_t threads = std::min<int64_t>(kThreads, (hidden + kWarp - 1) / kWarp * kWarp);
    const dim3 grid(static_cast<unsigned>((hidden + threads - 1) / threads),
                    static_cast<unsigned>(std::min(kMostRows, step.directions * step.g.batch)));
    return Launch(kernel, grid, static_cast<unsigned>(threads), 0, StreamOf(context), step,
                  arguments...);
  }

  RecurrentAttributes a_;
  LtProduct product_;
  bool resets_first_;  // a GRU whose reset state is multiplied by R
};

bool TakesActivations(const RecurrentAttributes& a) {
  if (a.op == RecurrentOp::kRnn) {
    const GateFunction first = a.activations[0].kind;
    for (const RecurrentActivation& activation : a.activations)
      if (activation.kind != first) return false;
    return first == GateFunction::kTanh || first == GateFunction::kRelu;
  }
  for (size_t i = 0; i < a.activations.size(); ++i) {
    const bool is_gate = i % static_cast<size_t>(a.functions()) == 0;
    if (a.activations[i].kind != (is_gate ? GateFunction::kSigmoid : GateFunction::kTanh))
      return false;
  }
  return true;
}

template <RecurrentOp kOp>
absl::StatusOr<std::unique_ptr<Kernel>> MakeRecurrent(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const RecurrentAttributes attributes,
                          RecurrentAttributes::Parse(spec, kOp));
  if (!TakesActivations(attributes))
    return absl::UnimplementedError("only the default activations");
  if (attributes.clip != std::numeric_limits<float>::infinity())
    return absl::UnimplementedError("clip is set");
  if (attributes.input_forget) return absl::UnimplementedError("input_forget is set");
  if (spec.has_input(7)) return absl::UnimplementedError("peepholes are given");
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<Recurrent<typename decltype(tag)::type>>(
        attributes, spec.input_dtype(0), spec.options().precision);
  });
  if (kernel == nullptr) return NoLoopFor(spec.input_dtype(0));
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "GRU", "gru_cuda", MakeRecurrent<RecurrentOp::kGru>},
    {"", "LSTM", "lstm_cuda", MakeRecurrent<RecurrentOp::kLstm>},
    {"", "RNN", "rnn_cuda", MakeRecurrent<RecurrentOp::kRnn>},
};

}  // namespace

KernelList RecurrentKernels() { return kKernels; }

}  // namespace onward::kernels::cuda

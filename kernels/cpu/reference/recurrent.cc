// RNN, GRU and LSTM. States are kept in the accumulator's type; only outputs are rounded.
#include "kernels/bind/recurrent.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

template <typename A>
A Activate(const RecurrentActivation& f, A x) {
  const A alpha = f.alpha, beta = f.beta;
  switch (f.kind) {
    case GateFunction::kRelu:
      return x > 0 ? x : A(0);
    case GateFunction::kTanh:
      return std::tanh(x);
    case GateFunction::kSigmoid:
      return A(1) / (A(1) + std::exp(-x));
    case GateFunction::kAffine:
      return alpha * x + beta;
    case GateFunction::kLeakyRelu:
      return x >= 0 ? x : alpha * x;
    case GateFunction::kThresholdedRelu:
      return x >= alpha ? x : A(0);
    case GateFunction::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case GateFunction::kHardSigmoid:
      return std::clamp(alpha * x + beta, A(0), A(1));
    case GateFunction::kElu:
      return x >= 0 ? x : alpha * std::expm1(x);
    case GateFunction::kSoftsign:
      return x / (A(1) + std::fabs(x));
    case GateFunction::kSoftplus:
      return std::max(x, A(0)) + std::log1p(std::exp(-std::fabs(x)));
  }
  return x;
}

// One direction's view of a run.
template <typename T>
struct Pass {
  using Acc = Accumulator<T>;
  int direction = 0;
  const T* x = nullptr;
  const T* w = nullptr;
  const T* r = nullptr;
  const T* bias = nullptr;       // Wb then Rb, or null
  const T* peepholes = nullptr;  // i, o, f, or null
  const int32_t* lens = nullptr;
  T* y = nullptr;
  Acc* projected = nullptr;  // [steps * batch, gates * hidden]: X W^T and the biases
  Acc* recurrent = nullptr;  // [batch, gates * hidden]: H R^T
  Acc* h = nullptr;          // [batch, hidden]
  Acc* c = nullptr;
  Acc* reset = nullptr;  // GRU: r * h
};

template <typename T>
class Recurrent : public Kernel {
  using Acc = Accumulator<T>;

 public:
  explicit Recurrent(RecurrentAttributes attributes) : a_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const RecurrentGeometry g, BindRecurrent(a_, context));
    *context.NewState<RecurrentGeometry>() = g;
    const int64_t width = a_.gates() * g.hidden;
    const int64_t count = (g.steps + 1) * g.batch * width + 3 * g.batch * g.hidden;
    context.SetScratch(count * static_cast<int64_t>(sizeof(Acc)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& g = context.state<RecurrentGeometry>();
    if (context.has_input(4)) {
      ONWARD_RETURN_IF_ERROR(
          CheckSequenceLens({context.in<int32_t>(4), static_cast<size_t>(g.batch)}, g.steps));
    }
    if (context.has_output(0)) {
      const TensorView& y = context.output(0);
      std::fill_n(y.as<T>(), y.num_elements(), T());
    }
    for (int direction = 0; direction < a_.directions; ++direction) {
      Pass<T> pass = Prepare(context, g, direction);
      Project(context, g, pass);
      for (int64_t step = 0; step < g.steps; ++step) {
        if (a_.op == RecurrentOp::kGru) {
          GruStep(context, g, pass, step);
        } else {
          Multiply(context, g, pass, pass.h, 0, a_.gates() * g.hidden);
          ForEachState(context, g, pass, step, [&](int64_t n, int64_t row, int64_t j) {
            a_.op == RecurrentOp::kRnn ? RnnCell(g, pass, n, row, j) : LstmCell(g, pass, n, row, j);
          });
        }
        StoreStep(g, pass, step);
      }
      StoreState(context, g, pass, 1, pass.h);
      StoreState(context, g, pass, 2, pass.c);
    }
    return absl::OkStatus();
  }

 private:
  Pass<T> Prepare(const RunContext& context, const RecurrentGeometry& g, int direction) const {
    const int64_t width = a_.gates() * g.hidden, d = direction;
    Pass<T> pass;
    pass.direction = direction;
    pass.x = context.in<T>(0);
    pass.w = context.in<T>(1) + d * width * g.input;
    pass.r = context.in<T>(2) + d * width * g.hidden;
    if (context.has_input(3)) pass.bias = context.in<T>(3) + d * 2 * width;
    if (context.has_input(4)) pass.lens = context.in<int32_t>(4);
    if (context.has_input(7)) pass.peepholes = context.in<T>(7) + d * 3 * g.hidden;
    if (context.has_output(0)) pass.y = context.out<T>(0) + d * g.y_direction;
    pass.projected = context.scratch<Acc>();
    pass.recurrent = pass.projected + g.steps * g.batch * width;
    pass.h = pass.recurrent + g.batch * width;
    pass.c = pass.h + g.batch * g.hidden;
    pass.reset = pass.c + g.batch * g.hidden;
    for (int which = 0; which < 2; ++which) {
      Acc* state = which == 0 ? pass.h : pass.c;
      const T* from = context.has_input(5 + which) ? context.in<T>(5 + which) : nullptr;
      for (int64_t n = 0; n < g.batch; ++n) {
        for (int64_t j = 0; j < g.hidden; ++j) {
          state[n * g.hidden + j] =
              from == nullptr ? Acc(0)
                              : static_cast<Acc>(from[d * g.h_direction + n * g.h_batch + j]);
        }
      }
    }
    return pass;
  }

  // The bias added before the recurrent product; a GRU that is linear before reset adds Rb of its
  // third gate later.
  Acc InputBias(const RecurrentGeometry& g, const Pass<T>& pass, int64_t j) const {
    if (pass.bias == nullptr) return Acc(0);
    const Acc own = static_cast<Acc>(pass.bias[j]);
    if (a_.op == RecurrentOp::kGru && a_.linear_before_reset && j >= 2 * g.hidden) return own;
    return own + static_cast<Acc>(pass.bias[a_.gates() * g.hidden + j]);
  }

  void Project(RunContext& context, const RecurrentGeometry& g, const Pass<T>& pass) const {
    const int64_t width = a_.gates() * g.hidden;
    TiledProduct<Acc>(
        context, 1, g.steps * g.batch, width, g.input,
        [&](int64_t, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          for (int64_t i = 0; i < rows; ++i, to += kTileDepth) {
            const T* from =
                pass.x + (row + i) / g.batch * g.x_step + (row + i) % g.batch * g.x_batch + p;
            for (int64_t q = 0; q < depth; ++q) to[q] = static_cast<Acc>(from[q]);
          }
        },
        [&](int64_t, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          PackRows(pass.w + column * g.input + p, 1, g.input, depth, columns, kTileColumns, to);
        },
        [&](int64_t, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
          Acc* to = pass.projected + row * width + column;
          for (int64_t j = 0; j < columns; ++j) to[j] = sums[j] + InputBias(g, pass, column + j);
        });
  }

  // recurrent[:, begin:end] = state R[begin:end]^T, as R times state^T so that R is read in order.
  void Multiply(RunContext& context, const RecurrentGeometry& g, const Pass<T>& pass,
                const Acc* state, int64_t begin, int64_t end) const {
    const int64_t width = a_.gates() * g.hidden;
    TiledProduct<Acc>(
        context, 1, end - begin, g.batch, g.hidden,
        [&](int64_t, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          PackRows(pass.r + (begin + row) * g.hidden + p, g.hidden, 1, rows, depth, kTileDepth, to);
        },
        [&](int64_t, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          PackRows(state + column * g.hidden + p, 1, g.hidden, depth, columns, kTileColumns, to);
        },
        [&](int64_t, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
          for (int64_t j = 0; j < columns; ++j)
            pass.recurrent[(column + j) * width + begin + row] = sums[j];
        });
  }

  // The time that sequence n reads and writes at `step`; -1 when it has ended.
  int64_t TimeOf(const RecurrentGeometry& g, const Pass<T>& pass, int64_t step, int64_t n) const {
    const int64_t length = pass.lens == nullptr ? g.steps : pass.lens[n];
    if (step >= length) return -1;
    return a_.reversed(pass.direction) ? length - 1 - step : step;
  }

  // Calls cell(n, row, j) for unit j of every sequence n that has not ended; `row` is its row of
  // `projected`.
  template <typename F>
  void ForEachState(RunContext& context, const RecurrentGeometry& g, const Pass<T>& pass,
                    int64_t step, const F& cell) const {
    context.ParallelFor(g.batch * g.hidden, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / g.hidden, time = TimeOf(g, pass, step, n);
        if (time >= 0) cell(n, time * g.batch + n, i % g.hidden);
      }
    });
  }

  Acc Apply(const Pass<T>& pass, int function, Acc x) const {
    const size_t index = static_cast<size_t>(pass.direction * a_.functions() + function);
    const Acc clip = a_.clip;
    return Activate(a_.activations[index], std::min(std::max(x, -clip), clip));
  }

  void RnnCell(const RecurrentGeometry& g, const Pass<T>& pass, int64_t n, int64_t row,
               int64_t j) const {
    const int64_t i = n * g.hidden + j;
    pass.h[i] = Apply(pass, 0, pass.projected[row * g.hidden + j] + pass.recurrent[i]);
  }

  void LstmCell(const RecurrentGeometry& g, const Pass<T>& pass, int64_t n, int64_t row,
                int64_t j) const {
    const Acc* x = pass.projected + row * 4 * g.hidden + j;
    const Acc* r = pass.recurrent + n * 4 * g.hidden + j;
    Acc& c = pass.c[n * g.hidden + j];
    const auto gate = [&](int64_t k) { return x[k * g.hidden] + r[k * g.hidden]; };
    const auto peephole = [&](int64_t k) {
      return pass.peepholes == nullptr ? Acc(0)
                                       : static_cast<Acc>(pass.peepholes[k * g.hidden + j]);
    };
    const Acc input = Apply(pass, 0, gate(0) + peephole(0) * c);
    const Acc forget = a_.input_forget ? Acc(1) - input : Apply(pass, 0, gate(2) + peephole(2) * c);
    c = forget * c + input * Apply(pass, 1, gate(3));
    const Acc output = Apply(pass, 0, gate(1) + peephole(1) * c);
    pass.h[n * g.hidden + j] = output * Apply(pass, 2, c);
  }

  void GruStep(RunContext& context, const RecurrentGeometry& g, const Pass<T>& pass,
               int64_t step) const {
    const int64_t hidden = g.hidden, width = 3 * hidden;
    const bool linear = a_.linear_before_reset;
    Multiply(context, g, pass, pass.h, 0, linear ? width : 2 * hidden);
    if (!linear) {
      std::fill_n(pass.reset, g.batch * hidden, Acc(0));
      ForEachState(context, g, pass, step, [&](int64_t n, int64_t row, int64_t j) {
        const int64_t k = hidden + j;
        const Acc r =
            Apply(pass, 0, pass.projected[row * width + k] + pass.recurrent[n * width + k]);
        pass.reset[n * hidden + j] = r * pass.h[n * hidden + j];
      });
      Multiply(context, g, pass, pass.reset, 2 * hidden, width);
    }
    ForEachState(context, g, pass, step, [&](int64_t n, int64_t row, int64_t j) {
      const Acc* x = pass.projected + row * width + j;
      const Acc* r = pass.recurrent + n * width + j;
      Acc candidate = r[2 * hidden];
      if (linear) {
        if (pass.bias != nullptr) candidate += static_cast<Acc>(pass.bias[5 * hidden + j]);
        candidate *= Apply(pass, 0, x[hidden] + r[hidden]);
      }
      const Acc update = Apply(pass, 0, x[0] + r[0]);
      Acc& h = pass.h[n * hidden + j];
      h = (Acc(1) - update) * Apply(pass, 1, x[2 * hidden] + candidate) + update * h;
    });
  }

  void StoreStep(const RecurrentGeometry& g, const Pass<T>& pass, int64_t step) const {
    if (pass.y == nullptr) return;
    for (int64_t n = 0; n < g.batch; ++n) {
      const int64_t time = TimeOf(g, pass, step, n);
      if (time < 0) continue;
      T* to = pass.y + time * g.y_step + n * g.y_batch;
      for (int64_t j = 0; j < g.hidden; ++j) to[j] = static_cast<T>(pass.h[n * g.hidden + j]);
    }
  }

  void StoreState(const RunContext& context, const RecurrentGeometry& g, const Pass<T>& pass,
                  int output, const Acc* state) const {
    if (!context.has_output(output)) return;
    T* to = context.out<T>(output) + pass.direction * g.h_direction;
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t j = 0; j < g.hidden; ++j)
        to[n * g.h_batch + j] = static_cast<T>(state[n * g.hidden + j]);
    }
  }

  RecurrentAttributes a_;
};

template <RecurrentOp kOp>
absl::StatusOr<std::unique_ptr<Kernel>> MakeRecurrent(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const RecurrentAttributes attributes,
                          RecurrentAttributes::Parse(spec, kOp));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<Recurrent<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr) return absl::UnimplementedError("recurrences take floating-point tensors");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "RNN", "rnn_reference", MakeRecurrent<RecurrentOp::kRnn>},
    {"", "GRU", "gru_reference", MakeRecurrent<RecurrentOp::kGru>},
    {"", "LSTM", "lstm_reference", MakeRecurrent<RecurrentOp::kLstm>},
};

}  // namespace

KernelList ReferenceRecurrent() { return kKernels; }

}  // namespace onward::kernels::cpu

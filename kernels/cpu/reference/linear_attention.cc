// LinearAttention: a recurrence over a state of d_k x d_v per key/value head, kept in float32.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/check_dims.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

struct LinearAttentionAttributes {
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  float scale = 0.0f;  // 0: 1 / sqrt(d_k)
  bool gated = false;
  bool delta = false;
};

struct LinearAttentionState {
  int64_t batch, steps, d_k, d_v;
  int64_t decay_width;  // elements of decay per step
  int64_t beta_width;
};

using LoadRow = void (*)(const void* data, int64_t offset, int64_t count, float* to);
using StoreRow = void (*)(const float* from, int64_t offset, int64_t count, void* data);

template <typename T>
void Load(const void* data, int64_t offset, int64_t count, float* to) {
  const T* from = static_cast<const T*>(data) + offset;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
template <typename T>
void Store(const float* from, int64_t offset, int64_t count, void* data) {
  T* to = static_cast<T*>(data) + offset;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

struct Element {
  LoadRow load = nullptr;
  StoreRow store = nullptr;
};

Element ElementOf(DType dtype) {
  Element element;
  DispatchDType(TypeList<float, Float16, BFloat16>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    element = {Load<T>, Store<T>};
  });
  return element;
}

class LinearAttention : public Kernel {
 public:
  LinearAttention(LinearAttentionAttributes attributes, Element value, Element state)
      : a_(attributes), value_(value), state_(state) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView q = context.input_dims(0), v = context.input_dims(2);
    if (q.size() != 3 || v.size() != 3 || q[2] % a_.q_heads != 0 || v[2] % a_.kv_heads != 0) {
      return absl::InvalidArgumentError(absl::StrCat("query ", DimsString(q), " and value ",
                                                     DimsString(v), " do not divide into heads of ",
                                                     a_.q_heads, " and ", a_.kv_heads));
    }
    LinearAttentionState s = {q[0], q[1], q[2] / a_.q_heads, v[2] / a_.kv_heads, 0, 0};
    ONWARD_RETURN_IF_ERROR(
        CheckDims("key", context.input_dims(1), {s.batch, s.steps, a_.kv_heads * s.d_k}));
    ONWARD_RETURN_IF_ERROR(CheckDims("value", v, {s.batch, s.steps, v[2]}));
    const Dims state = {s.batch, a_.kv_heads, s.d_k, s.d_v};
    if (context.has_input(3))
      ONWARD_RETURN_IF_ERROR(CheckDims("past_state", context.input_dims(3), state));
    ONWARD_ASSIGN_OR_RETURN(s.decay_width,
                            Width(context, 4, "decay", s, a_.kv_heads, a_.kv_heads * s.d_k));
    ONWARD_ASSIGN_OR_RETURN(s.beta_width, Width(context, 5, "beta", s, a_.kv_heads, 1));
    const Dims output = {s.batch, s.steps, a_.q_heads * s.d_v};
    ONWARD_RETURN_IF_ERROR(CheckedNumElements(output).status());
    ONWARD_RETURN_IF_ERROR(CheckedNumElements(state).status());
    context.SetOutput(0, output);
    if (context.has_output(1)) context.SetOutput(1, state);
    *context.NewState<LinearAttentionState>() = s;
    context.SetScratch(context.num_workers() * ScratchOf(s) * static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<LinearAttentionState>();
    context.ParallelForWorkers(s.batch * a_.kv_heads, 1,
                               [&](int worker, int64_t begin, int64_t end) {
                                 float* scratch = context.scratch<float>() + worker * ScratchOf(s);
                                 for (int64_t i = begin; i < end; ++i)
                                   RunHead(context, s, i / a_.kv_heads, i % a_.kv_heads, scratch);
                               });
    return absl::OkStatus();
  }

 private:
  static int64_t ScratchOf(const LinearAttentionState& s) {
    return s.d_k * s.d_v + 3 * s.d_k + 2 * s.d_v;
  }

  // The last dim of the optional input i: `wide` or `narrow`; 0 when omitted.
  static absl::StatusOr<int64_t> Width(const BindContext& context, int i, const char* name,
                                       const LinearAttentionState& s, int64_t wide,
                                       int64_t narrow) {
    if (!context.has_input(i)) return 0;
    const DimsView dims = context.input_dims(i);
    const int64_t width = dims.size() == 3 && dims[2] == narrow ? narrow : wide;
    ONWARD_RETURN_IF_ERROR(CheckDims(name, dims, {s.batch, s.steps, width}));
    return width;
  }

  void RunHead(const RunContext& context, const LinearAttentionState& s, int64_t batch,
               int64_t head, float* state) const {
    float* q = state + s.d_k * s.d_v;
    float* k = q + s.d_k;
    float* decay = k + s.d_k;
    float* v = decay + s.d_k;
    float* y = v + s.d_v;
    const int64_t state_size = s.d_k * s.d_v, at = (batch * a_.kv_heads + head) * state_size;
    if (context.has_input(3)) {
      state_.load(context.input(3).data, at, state_size, state);
    } else {
      std::fill_n(state, state_size, 0.0f);
    }
    const int64_t group = a_.q_heads / a_.kv_heads;
    const float scale = a_.scale == 0.0f ? 1.0f / std::sqrt(static_cast<float>(s.d_k)) : a_.scale;
    for (int64_t step = 0; step < s.steps; ++step) {
      const int64_t row = batch * s.steps + step;
      value_.load(context.input(1).data, (row * a_.kv_heads + head) * s.d_k, s.d_k, k);
      value_.load(context.input(2).data, (row * a_.kv_heads + head) * s.d_v, s.d_v, v);
      if (a_.gated) Decay(context, s, row, head, decay, state);
      if (a_.delta) Correct(context, s, row, head, k, state, v, y);
      for (int64_t d = 0; d < s.d_k; ++d) {
        for (int64_t m = 0; m < s.d_v; ++m) state[d * s.d_v + m] += k[d] * v[m];
      }
      for (int64_t i = 0; i < group; ++i) {
        const int64_t q_head = row * a_.q_heads + head * group + i;
        value_.load(context.input(0).data, q_head * s.d_k, s.d_k, q);
        Read(s, q, state, y);
        for (int64_t m = 0; m < s.d_v; ++m) y[m] *= scale;
        value_.store(y, q_head * s.d_v, s.d_v, context.output(0).data);
      }
    }
    if (context.has_output(1)) state_.store(state, at, state_size, context.output(1).data);
  }

  // y = q^T state
  static void Read(const LinearAttentionState& s, const float* q, const float* state, float* y) {
    std::fill_n(y, s.d_v, 0.0f);
    for (int64_t d = 0; d < s.d_k; ++d) {
      for (int64_t m = 0; m < s.d_v; ++m) y[m] += q[d] * state[d * s.d_v + m];
    }
  }

  // state *= exp(decay), per key element or for the whole head.
  void Decay(const RunContext& context, const LinearAttentionState& s, int64_t row, int64_t head,
             float* decay, float* state) const {
    const bool per_key = s.decay_width != a_.kv_heads || s.d_k == 1;
    if (per_key) {
      value_.load(context.input(4).data, row * s.decay_width + head * s.d_k, s.d_k, decay);
    } else {
      value_.load(context.input(4).data, row * s.decay_width + head, 1, decay);
      std::fill_n(decay, s.d_k, decay[0]);
    }
    for (int64_t d = 0; d < s.d_k; ++d) {
      const float factor = std::exp(decay[d]);
      for (int64_t m = 0; m < s.d_v; ++m) state[d * s.d_v + m] *= factor;
    }
  }

  // v = beta (v - state^T k)
  void Correct(const RunContext& context, const LinearAttentionState& s, int64_t row, int64_t head,
               const float* k, const float* state, float* v, float* retrieved) const {
    float beta;
    value_.load(context.input(5).data, row * s.beta_width + (s.beta_width == 1 ? 0 : head), 1,
                &beta);
    Read(s, k, state, retrieved);
    for (int64_t m = 0; m < s.d_v; ++m) v[m] = beta * (v[m] - retrieved[m]);
  }

  LinearAttentionAttributes a_;
  Element value_;
  Element state_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLinearAttention(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  LinearAttentionAttributes a;
  a.q_heads = attributes.Int("q_num_heads", 0);
  a.kv_heads = attributes.Int("kv_num_heads", 0);
  a.scale = attributes.Float("scale", 0.0f);
  const std::string rule = attributes.String("update_rule", "gated_delta");
  a.gated = rule == "gated" || rule == "gated_delta";
  a.delta = rule == "delta" || rule == "gated_delta";
  if (!a.gated && !a.delta && rule != "linear")
    return absl::InvalidArgumentError(
        absl::StrCat("update_rule is '", rule, "', must be linear, gated, delta or gated_delta"));
  if (a.q_heads < 1 || a.kv_heads < 1 || a.q_heads % a.kv_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("q_num_heads ", a.q_heads, " is not a multiple of kv_num_heads ", a.kv_heads));
  }
  if (spec.has_input(4) != a.gated || spec.has_input(5) != a.delta) {
    return absl::InvalidArgumentError(absl::StrCat("update_rule '", rule, "' ",
                                                   a.gated ? "needs" : "forbids", " decay and ",
                                                   a.delta ? "needs" : "forbids", " beta"));
  }
  const Element value = ElementOf(spec.input_dtype(0));
  // Without a past, the state has the query's dtype.
  const Element state = ElementOf(spec.has_input(3) ? spec.input_dtype(3) : spec.input_dtype(0));
  if (value.load == nullptr || state.load == nullptr)
    return absl::UnimplementedError("LinearAttention takes float32, float16 and bfloat16");
  return std::make_unique<LinearAttention>(a, value, state);
}

constexpr KernelEntry kKernels[] = {
    {"", "LinearAttention", "linear_attention_reference", MakeLinearAttention},
};

}  // namespace

KernelList ReferenceLinearAttention() { return kKernels; }

}  // namespace onward::kernels::cpu

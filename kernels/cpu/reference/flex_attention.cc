// FlexAttention (ai.onnx.preview): attention whose scores and probabilities pass through bodies of
// the node. Scores are whole tensors of the softmax precision, since bodies read and write them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/captures.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

struct FlexState {
  int64_t batch, q_heads, kv_heads, q_len, kv_len, head_size, v_head_size;
  int64_t scores[4];  // dims
  int64_t rows() const { return batch * q_heads * q_len; }
  // The key/value head, counted over all batches, of a query head counted likewise.
  int64_t kv_head(int64_t q_head) const {
    return q_head / q_heads * kv_heads + q_head % q_heads / (q_heads / kv_heads);
  }
};

template <typename Acc>
using LoadRow = void (*)(const void* data, int64_t offset, int64_t count, Acc* to);
template <typename Acc>
using StoreRow = void (*)(const Acc* from, int64_t offset, int64_t count, void* data);

template <typename T, typename Acc>
void Load(const void* data, int64_t offset, int64_t count, Acc* to) {
  const T* from = static_cast<const T*>(data) + offset;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Acc>(from[i]);
}
template <typename T, typename Acc>
void Store(const Acc* from, int64_t offset, int64_t count, void* data) {
  T* to = static_cast<T*>(data) + offset;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

// P: the type of scores and probabilities.
template <typename P>
class FlexAttention : public Kernel {
  using Acc = Accumulator<P>;

 public:
  explicit FlexAttention(const NodeSpec& spec)
      : score_mod_{spec.body("score_mod"), CapturesOf(spec, "score_mod")},
        prob_mod_{spec.body("prob_mod"), CapturesOf(spec, "prob_mod")} {
    if (spec.attributes().Has("scale")) scale_ = spec.attributes().Float("scale", 1.0f);
    DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
      using T = typename decltype(tag)::type;
      load_ = Load<T, Acc>;
      store_ = Store<T, Acc>;
    });
  }

  bool pure() const override { return false; }

  absl::Status Bind(BindContext& context) const override {
    const DimsView q = context.input_dims(0), k = context.input_dims(1), v = context.input_dims(2);
    const auto mismatch = [&] {
      return absl::InvalidArgumentError(absl::StrCat("Q ", DimsString(q), ", K ", DimsString(k),
                                                     " and V ", DimsString(v), " do not fit"));
    };
    if (q.size() != 4 || k.size() != 4 || v.size() != 4) return mismatch();
    if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] || k[1] < 1 ||
        q[1] % k[1] != 0) {
      return mismatch();
    }
    const Dims scores = {q[0], q[1], q[2], k[2]};
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kFloat64, scores).status());
    context.SetOutput(0, {q[0], q[1], q[2], v[3]});
    *context.NewState<FlexState>() = {q[0], q[1], k[1], q[2],
                                      k[2], q[3], v[3], {q[0], q[1], q[2], k[2]}};
    context.SetScratch(NumElements(scores) * static_cast<int64_t>(sizeof(P)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<FlexState>();
    TensorView scores = {kDTypeOf<P>, Device(), context.scratch<P>(), DimsView(s.scores, 4)};
    Score(context, s, scores.as<P>());
    ONWARD_RETURN_IF_ERROR(Modify(context, score_mod_, "score_mod", scores));
    // A body may give back a constant or its input: probabilities are written to our own memory.
    Softmax(context, s, scores.as<const P>(), context.scratch<P>());
    scores.data = context.scratch<P>();
    ONWARD_RETURN_IF_ERROR(Modify(context, prob_mod_, "prob_mod", scores));
    Combine(context, s, scores.as<const P>());
    return absl::OkStatus();
  }

 private:
  struct Mod {
    std::shared_ptr<const Body> body;  // null: none
    CaptureRange captures;
  };

  static absl::Status Modify(RunContext& context, const Mod& mod, const char* name,
                             TensorView& scores) {
    if (mod.body == nullptr) return absl::OkStatus();
    absl::InlinedVector<SlotValue, 8> inputs = {{scores, nullptr, true}};
    for (int i = 0; i < mod.captures.count; ++i)
      inputs.push_back(InputOrAbsent(context, mod.captures.first + i));
    ONWARD_ASSIGN_OR_RETURN(const absl::Span<const SlotValue> results,
                            mod.body->Run(context, inputs));
    if (results.size() != 1 || results[0].object != nullptr ||
        results[0].tensor.dtype != scores.dtype || results[0].tensor.dims != scores.dims) {
      return absl::InvalidArgumentError(absl::StrCat(name, " must give one tensor like its input, ",
                                                     std::string(DTypeName(scores.dtype)),
                                                     DimsString(scores.dims)));
    }
    scores.data = results[0].tensor.data;
    return absl::OkStatus();
  }

  void Score(const RunContext& context, const FlexState& s, P* scores) const {
    const Acc scale = std::sqrt(scale_ >= 0 ? static_cast<Acc>(scale_)
                                            : Acc(1) / std::sqrt(static_cast<Acc>(s.head_size)));
    TiledProduct<Acc>(
        context, s.batch * s.q_heads, s.q_len, s.kv_len, s.head_size,
        [&](int64_t head, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          for (int64_t i = 0; i < rows; ++i, to += kTileDepth) {
            load_(context.input(0).data, (head * s.q_len + row + i) * s.head_size + p, depth, to);
            for (int64_t d = 0; d < depth; ++d) to[d] *= scale;
          }
        },
        [&](int64_t head, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          Acc key[kTileDepth];
          for (int64_t j = 0; j < columns; ++j) {
            const int64_t row = s.kv_head(head) * s.kv_len + column + j;
            load_(context.input(1).data, row * s.head_size + p, depth, key);
            for (int64_t d = 0; d < depth; ++d) to[d * kTileColumns + j] = key[d] * scale;
          }
        },
        [&](int64_t head, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
          P* to = scores + (head * s.q_len + row) * s.kv_len + column;
          for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<P>(sums[j]);
        });
  }

  static void Softmax(const RunContext& context, const FlexState& s, const P* from, P* to) {
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 12) / (s.kv_len + 1));
    context.ParallelFor(s.rows(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const P* x = from + row * s.kv_len;
        P* y = to + row * s.kv_len;
        Acc most = -std::numeric_limits<Acc>::infinity();
        for (int64_t j = 0; j < s.kv_len; ++j) {
          const Acc value = static_cast<Acc>(x[j]);
          if (value > most || std::isnan(value)) most = value;
        }
        // A row that is masked entirely attends nothing.
        const bool masked = most == -std::numeric_limits<Acc>::infinity();
        Acc sum = 0;
        for (int64_t j = 0; j < s.kv_len; ++j) sum += std::exp(static_cast<Acc>(x[j]) - most);
        for (int64_t j = 0; j < s.kv_len; ++j) {
          y[j] = static_cast<P>(masked ? Acc(0) : std::exp(static_cast<Acc>(x[j]) - most) / sum);
        }
      }
    });
  }

  void Combine(const RunContext& context, const FlexState& s, const P* probabilities) const {
    TiledProduct<Acc>(
        context, s.batch * s.q_heads, s.q_len, s.v_head_size, s.kv_len,
        [&](int64_t head, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          const P* from = probabilities + (head * s.q_len + row) * s.kv_len + p;
          PackRows(from, s.kv_len, 1, rows, depth, kTileDepth, to);
        },
        [&](int64_t head, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          for (int64_t d = 0; d < depth; ++d, to += kTileColumns) {
            const int64_t row = s.kv_head(head) * s.kv_len + p + d;
            load_(context.input(2).data, row * s.v_head_size + column, columns, to);
          }
        },
        [&](int64_t head, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
          store_(sums, (head * s.q_len + row) * s.v_head_size + column, columns,
                 context.output(0).data);
        });
  }

  Mod score_mod_, prob_mod_;
  float scale_ = -1.0f;  // negative: 1 / sqrt(head_size)
  LoadRow<Acc> load_ = nullptr;
  StoreRow<Acc> store_ = nullptr;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeFlexAttention(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (spec.attributes().Has("scale") && !(spec.attributes().Float("scale", 0.0f) >= 0.0f))
    return absl::InvalidArgumentError("scale must be at least 0");
  const int64_t wanted = spec.attributes().Int("softmax_precision", 0);
  DType precision = dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  if (wanted > 0 && wanted < kNumDTypes) precision = static_cast<DType>(wanted);
  std::unique_ptr<Kernel> kernel;
  if (DispatchDType(FloatTypes(), dtype, [](auto) {})) {
    DispatchDType(FloatTypes(), precision, [&](auto tag) {
      kernel = std::make_unique<FlexAttention<typename decltype(tag)::type>>(spec);
    });
  }
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("dtype ", std::string(DTypeName(dtype)), " with softmax_precision ", wanted));
  }
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"ai.onnx.preview", "FlexAttention", "flex_attention_reference", MakeFlexAttention},
};

}  // namespace

KernelList ReferenceFlexAttention() { return kKernels; }

}  // namespace onward::kernels::cpu

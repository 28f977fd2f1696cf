// Attention: blocks of query rows against all keys, scores of one block at a time.
#include "kernels/bind/attention.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

template <typename Acc>
using LoadRow = void (*)(const void* data, int64_t offset, int64_t count, Acc* to);

template <typename T, typename Acc>
void LoadElements(const void* data, int64_t offset, int64_t count, Acc* to) {
  const T* from = static_cast<const T*>(data) + offset;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Acc>(from[i]);
}

template <typename Acc>
void LoadBooleans(const void* data, int64_t offset, int64_t count, Acc* to) {
  const bool* from = static_cast<const bool*>(data) + offset;
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i] ? Acc(0) : -std::numeric_limits<Acc>::infinity();
}

template <typename Acc>
LoadRow<Acc> LoaderOf(DType dtype) {
  LoadRow<Acc> load = dtype == DType::kBool ? LoadBooleans<Acc> : nullptr;
  DispatchDType(NumericTypes(), dtype,
                [&](auto tag) { load = LoadElements<typename decltype(tag)::type, Acc>; });
  return load;
}

// Rounds scores to the precision that softmax_precision names, when that is narrower.
template <typename Acc>
void RoundTo(DType precision, Acc* values, int64_t count) {
  if (precision == DType::kFloat16) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(Float16(static_cast<float>(values[i])));
  } else if (precision == DType::kBFloat16) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(BFloat16(static_cast<float>(values[i])));
  }
}

template <typename T>
class Attention : public Kernel {
  using Acc = Accumulator<T>;
  static constexpr Acc kMasked = -std::numeric_limits<Acc>::infinity();

 public:
  Attention(AttentionAttributes attributes, DType v_dtype, DType mask_dtype)
      : a_(attributes), load_v_(LoaderOf<Acc>(v_dtype)), load_mask_(LoaderOf<Acc>(mask_dtype)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, BindAttention(a_, context));
    *context.NewState<AttentionGeometry>() = g;
    const int64_t rows = std::min(g.q_len, kTileRows);
    context.SetScratch(context.num_workers() * (rows + 1) * g.total_len() *
                       static_cast<int64_t>(sizeof(Acc)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& g = context.state<AttentionGeometry>();
    if (context.has_input(6)) ONWARD_RETURN_IF_ERROR(CheckNonpad(context, g));
    if (context.has_output(1)) {
      Append(context, g, context.input(1), 4, 1, g.k_batch, g.k_head, g.k_row, g.head_size);
    }
    if (context.has_output(2)) {
      Append(context, g, context.input(2), 5, 2, g.v_batch, g.v_head, g.v_row, g.v_head_size);
    }
    const int64_t block = std::min(g.q_len, kTileRows);
    if (block == 0) return absl::OkStatus();
    const int64_t blocks = (g.q_len + block - 1) / block;
    const int64_t stride = (block + 1) * g.total_len();
    context.ParallelForWorkers(g.batch * g.q_heads * blocks, 1,
                               [&](int worker, int64_t begin, int64_t end) {
                                 Tiles<Acc> tiles = {};
                                 for (int64_t i = begin; i < end; ++i) {
                                   Block b;
                                   b.batch = i / blocks / g.q_heads;
                                   b.head = i / blocks % g.q_heads;
                                   b.row = i % blocks * block;
                                   b.rows = std::min(block, g.q_len - b.row);
                                   b.scores = context.scratch<Acc>() + worker * stride;
                                   Scores(context, g, b, tiles);
                                   for (int64_t r = 0; r < b.rows; ++r) Softmax(context, g, b, r);
                                   Combine(context, g, b, tiles);
                                 }
                               });
    return absl::OkStatus();
  }

 private:
  // Query rows [row, row + rows) of one head; `scores` is rows x total_len and one row more.
  struct Block {
    int64_t batch = 0, head = 0, row = 0, rows = 0;
    Acc* scores = nullptr;
  };

  static absl::Status CheckNonpad(const RunContext& context, const AttentionGeometry& g) {
    const int64_t* nonpad = context.in<int64_t>(6);
    for (int64_t i = 0; i < g.batch; ++i) {
      if (nonpad[i] < 0 || nonpad[i] > g.total_len()) {
        return absl::InvalidArgumentError(absl::StrCat("nonpad_kv_seqlen[", i, "] is ", nonpad[i],
                                                       ", expected 0 to ", g.total_len()));
      }
    }
    return absl::OkStatus();
  }

  // present = past then new, per head.
  static void Append(const RunContext& context, const AttentionGeometry& g, const TensorView& fresh,
                     int past, int present, int64_t batch_stride, int64_t head_stride,
                     int64_t row_stride, int64_t size) {
    const size_t bytes = static_cast<size_t>(ByteSize(fresh.dtype, 1));
    char* to = context.out<char>(present);
    const size_t row = static_cast<size_t>(size) * bytes;
    const size_t past_bytes = static_cast<size_t>(g.past_len) * row;
    const char* old = context.has_input(past) ? context.in<char>(past) : nullptr;
    for (int64_t i = 0; i < g.batch * g.kv_heads; ++i) {
      if (past_bytes > 0) std::memcpy(to, old + static_cast<size_t>(i) * past_bytes, past_bytes);
      to += past_bytes;
      const int64_t from = i / g.kv_heads * batch_stride + i % g.kv_heads * head_stride;
      for (int64_t j = 0; j < g.new_len && row > 0; ++j, to += row) {
        const size_t offset = static_cast<size_t>(from + j * row_stride) * bytes;
        std::memcpy(to, static_cast<const char*>(fresh.data) + offset, row);
      }
    }
  }

  void Scores(const RunContext& context, const AttentionGeometry& g, const Block& b,
              Tiles<Acc>& tiles) const {
    const Acc scale = a_.scale.has_value()
                          ? std::sqrt(static_cast<Acc>(*a_.scale))
                          : std::sqrt(Acc(1) / std::sqrt(static_cast<Acc>(g.head_size)));
    const T* q = context.in<T>(0) + b.batch * g.q_batch + b.head * g.q_head + b.row * g.q_row;
    const int64_t kv_head = b.head / g.group(), total = g.total_len();
    const T* fresh = context.in<T>(1) + b.batch * g.k_batch + kv_head * g.k_head;
    const T* past = g.past_len == 0 ? nullptr
                                    : context.in<T>(4) + (b.batch * g.kv_heads + kv_head) *
                                                             g.past_len * g.head_size;
    for (int64_t key = 0; key < total; key += kTileColumns) {
      const int64_t keys = std::min(kTileColumns, total - key);
      std::fill_n(tiles.c, kTileRows * kTileColumns, Acc(0));
      for (int64_t p = 0; p < g.head_size; p += kTileDepth) {
        const int64_t depth = std::min(kTileDepth, g.head_size - p);
        for (int64_t i = 0; i < b.rows; ++i) {
          for (int64_t d = 0; d < depth; ++d)
            tiles.a[i * kTileDepth + d] = static_cast<Acc>(q[i * g.q_row + p + d]) * scale;
        }
        for (int64_t j = 0; j < keys; ++j) {
          const int64_t position = key + j;
          const T* from = position < g.past_len ? past + position * g.head_size
                                                : fresh + (position - g.past_len) * g.k_row;
          for (int64_t d = 0; d < depth; ++d)
            tiles.b[d * kTileColumns + j] = static_cast<Acc>(from[p + d]) * scale;
        }
        MultiplyTiles(tiles, b.rows, keys, depth);
      }
      for (int64_t i = 0; i < b.rows; ++i)
        std::copy_n(tiles.c + i * kTileColumns, keys, b.scores + i * total + key);
    }
  }

  void StoreScores(const RunContext& context, const AttentionGeometry& g, const Block& b, int64_t r,
                   int64_t mode) const {
    if (mode != a_.qk_output_mode || !context.has_output(3)) return;
    const int64_t total = g.total_len();
    T* to = context.out<T>(3) + ((b.batch * g.q_heads + b.head) * g.q_len + b.row + r) * total;
    const Acc* from = b.scores + r * total;
    for (int64_t j = 0; j < total; ++j) to[j] = static_cast<T>(from[j]);
  }

  // Writes the bias of one row: attn_mask within the attended keys, -inf elsewhere. False when
  // every key is masked.
  bool Bias(const RunContext& context, const AttentionGeometry& g, const Block& b, int64_t row,
            Acc* bias) const {
    const int64_t nonpad = context.has_input(6) ? context.in<int64_t>(6)[b.batch] : -1;
    const int64_t total = g.total_len();
    KeyRange range = AttendedKeys(a_, g, row, nonpad);
    std::fill_n(bias, total, kMasked);
    if (!context.has_input(3)) {
      std::fill(bias + range.begin, bias + range.end, Acc(0));
      return range.begin < range.end;
    }
    range.end = std::min(range.end, g.mask_len);
    if (range.begin >= range.end) return false;
    load_mask_(context.input(3).data,
               b.batch * g.mask_batch + b.head * g.mask_head + row * g.mask_row + range.begin,
               range.end - range.begin, bias + range.begin);
    return std::any_of(bias + range.begin, bias + range.end, [](Acc x) { return x != kMasked; });
  }

  void Softmax(const RunContext& context, const AttentionGeometry& g, const Block& b,
               int64_t r) const {
    const int64_t total = g.total_len();
    Acc* scores = b.scores + r * total;
    Acc* bias = b.scores + BlockRows(g) * total;
    StoreScores(context, g, b, r, 0);
    if (a_.softcap > 0.0f) {
      const Acc cap = a_.softcap;
      for (int64_t j = 0; j < total; ++j) scores[j] = cap * std::tanh(scores[j] / cap);
    }
    StoreScores(context, g, b, r, 1);
    const bool attends = Bias(context, g, b, b.row + r, bias);
    // A masked score may be infinite or NaN: it is replaced, not added to.
    for (int64_t j = 0; j < total; ++j)
      scores[j] = bias[j] == kMasked ? kMasked : scores[j] + bias[j];
    StoreScores(context, g, b, r, 2);
    if (attends) {
      RoundTo(a_.softmax_precision, scores, total);
      Normalize(scores, total);
      RoundTo(a_.softmax_precision, scores, total);
    } else {
      std::fill_n(scores, total, Acc(0));
    }
    StoreScores(context, g, b, r, 3);
  }

  static int64_t BlockRows(const AttentionGeometry& g) { return std::min(g.q_len, kTileRows); }

  static void Normalize(Acc* scores, int64_t count) {
    Acc most = kMasked;
    for (int64_t j = 0; j < count; ++j)
      most = scores[j] > most || std::isnan(scores[j]) ? scores[j] : most;
    if (most == kMasked) {
      std::fill_n(scores, count, Acc(0));
      return;
    }
    Acc sum = 0;
    for (int64_t j = 0; j < count; ++j) {
      scores[j] = std::exp(scores[j] - most);
      sum += scores[j];
    }
    for (int64_t j = 0; j < count; ++j) scores[j] /= sum;
  }

  // Y = P V
  void Combine(const RunContext& context, const AttentionGeometry& g, const Block& b,
               Tiles<Acc>& tiles) const {
    const int64_t kv_head = b.head / g.group(), total = g.total_len(), size = g.v_head_size;
    T* y = context.out<T>(0) + b.batch * g.y_batch + b.head * g.y_head + b.row * g.y_row;
    const int64_t fresh = b.batch * g.v_batch + kv_head * g.v_head;
    const int64_t past = (b.batch * g.kv_heads + kv_head) * g.past_len * size;
    for (int64_t column = 0; column < size; column += kTileColumns) {
      const int64_t columns = std::min(kTileColumns, size - column);
      std::fill_n(tiles.c, kTileRows * kTileColumns, Acc(0));
      for (int64_t p = 0; p < total; p += kTileDepth) {
        const int64_t depth = std::min(kTileDepth, total - p);
        PackRows(b.scores + p, total, 1, b.rows, depth, kTileDepth, tiles.a);
        for (int64_t d = 0; d < depth; ++d) {
          const int64_t position = p + d;
          Acc* to = tiles.b + d * kTileColumns;
          if (position < g.past_len) {
            load_v_(context.input(5).data, past + position * size + column, columns, to);
          } else {
            load_v_(context.input(2).data, fresh + (position - g.past_len) * g.v_row + column,
                    columns, to);
          }
        }
        MultiplyTiles(tiles, b.rows, columns, depth);
      }
      for (int64_t i = 0; i < b.rows; ++i) {
        for (int64_t j = 0; j < columns; ++j)
          y[i * g.y_row + column + j] = static_cast<T>(tiles.c[i * kTileColumns + j]);
      }
    }
  }

  AttentionAttributes a_;
  LoadRow<Acc> load_v_;
  LoadRow<Acc> load_mask_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAttention(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const AttentionAttributes attributes, AttentionAttributes::Parse(spec));
  if (!IsFloating(spec.input_dtype(2)))
    return absl::UnimplementedError("Attention takes floating-point tensors");
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<Attention<typename decltype(tag)::type>>(
        attributes, spec.input_dtype(2), spec.input_dtype(3));
  });
  if (kernel == nullptr) return absl::UnimplementedError("Attention takes floating-point tensors");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "Attention", "attention_reference", MakeAttention},
};

}  // namespace

KernelList ReferenceAttention() { return kKernels; }

}  // namespace onward::kernels::cpu

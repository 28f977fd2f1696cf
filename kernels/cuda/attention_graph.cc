#include "kernels/cuda/attention_graph.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels::cuda {
namespace {

// In place of scores that do not count: far below all others, and finite, as cuDNN's kernels want.
constexpr double kHidden = -1024.0 * 1024.0 * 1024.0;
constexpr int kRows = 2, kColumns = 3;

int Select(CudnnGraph& graph, int scores, int condition) {
  const int hidden = graph.AddValue(CUDNN_DATA_FLOAT, kHidden, 4);
  return graph.AddPointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, hidden, condition});
}

int Compare(CudnnGraph& graph, cudnnPointwiseMode_t mode, int a, int b) {
  return graph.AddPointwise(mode, {a, b}, CUDNN_DATA_BOOLEAN, CUDNN_DATA_BOOLEAN);
}

// Keys at or before the query; `shift` is how far the query's position is behind its row.
int SelectCausal(CudnnGraph& graph, int scores, const AttentionCall& call) {
  const bool at_end = call.mask == AttentionMask::kCausalAtEnd;
  const auto length = [&](int64_t value) {
    return graph.AddValue(CUDNN_DATA_INT32, static_cast<double>(value), 4);
  };
  int row = graph.AddIndex(scores, kRows);
  const int column = graph.AddIndex(scores, kColumns);
  if (at_end) {
    row = graph.AddPointwise(CUDNN_POINTWISE_ADD, {row, length(call.g.total_len())},
                             CUDNN_DATA_INT32, CUDNN_DATA_INT32);
    row = graph.AddPointwise(CUDNN_POINTWISE_SUB, {row, length(call.g.q_len)}, CUDNN_DATA_INT32,
                             CUDNN_DATA_INT32);
  }
  scores = Select(graph, scores, Compare(graph, CUDNN_POINTWISE_CMP_GE, row, column));
  if (call.window == 0) return scores;
  const int64_t shift = at_end ? call.g.total_len() - call.g.q_len : 0;
  const int first_row = graph.AddIndex(scores, kRows);
  int key = graph.AddIndex(scores, kColumns);
  const int span = graph.AddValue(CUDNN_DATA_FLOAT, static_cast<double>(call.window - shift), 4);
  key = graph.AddPointwise(CUDNN_POINTWISE_ADD, {key, span});
  return Select(graph, scores, Compare(graph, CUDNN_POINTWISE_CMP_GT, key, first_row));
}

int SelectLengths(CudnnGraph& graph, int scores, int queries, int keys) {
  const int row = graph.AddIndex(scores, kRows), column = graph.AddIndex(scores, kColumns);
  const int row_counts = Compare(graph, CUDNN_POINTWISE_CMP_LT, row, queries);
  const int column_counts = Compare(graph, CUDNN_POINTWISE_CMP_LT, column, keys);
  return Select(graph, scores,
                Compare(graph, CUDNN_POINTWISE_LOGICAL_AND, row_counts, column_counts));
}

// Softmax over the last axis. cuDNN finds it by its parts, the logarithms of the sums among them.
struct SoftmaxParts {
  int rows, logs;
};
SoftmaxParts AddSoftmax(CudnnGraph& graph, int scores, cudnnDataType_t type, DimsView one) {
  const int most = graph.AddReduction(CUDNN_REDUCE_TENSOR_MAX, scores, one);
  const int below = graph.AddPointwise(CUDNN_POINTWISE_SUB, {scores, most});
  const int powers = graph.AddPointwise(CUDNN_POINTWISE_EXP, {below});
  const int sum = graph.AddReduction(CUDNN_REDUCE_TENSOR_ADD, powers, one);
  const int log = graph.AddPointwise(CUDNN_POINTWISE_LOG, {sum});
  const int logs = graph.AddPointwise(CUDNN_POINTWISE_ADD, {most, log});
  return {graph.AddPointwise(CUDNN_POINTWISE_DIV, {powers, sum}, type), logs};
}

// Tensors that both directions read.
struct Operands {
  int q, k, v, bias = -1, query_counts = -1, key_counts = -1;
};

// Keys have their last axes exchanged, and so have values where `transposes_values`.
Operands AddOperands(CudnnGraph& graph, const AttentionCall& call, bool transposes_values) {
  const AttentionGeometry& g = call.g;
  const cudnnDataType_t type = CudnnType(call.dtype);
  const int64_t keys = g.total_len();
  Operands o;
  o.q = graph.AddMemory(type, {g.batch, g.q_heads, g.q_len, g.head_size},
                        {g.q_batch, g.q_head, g.q_row, 1});
  o.k = graph.AddMemory(type, {g.batch, g.kv_heads, g.head_size, keys},
                        {g.k_batch, g.k_head, 1, g.k_row});
  o.v = transposes_values ? graph.AddMemory(type, {g.batch, g.kv_heads, g.v_head_size, keys},
                                            {g.v_batch, g.v_head, 1, g.v_row})
                          : graph.AddMemory(type, {g.batch, g.kv_heads, keys, g.v_head_size},
                                            {g.v_batch, g.v_head, g.v_row, 1});
  if (call.mask == AttentionMask::kBias) {
    const int64_t head = call.bias_head != 0 ? call.bias_head : g.q_len * call.bias_row;
    o.bias = graph.AddMemory(
        type,
        {call.bias_batch != 0 ? g.batch : 1, call.bias_head != 0 ? g.q_heads : 1, g.q_len, keys},
        {call.bias_batch != 0 ? call.bias_batch : head, head, call.bias_row, 1});
  }
  if (call.mask == AttentionMask::kLengths) {
    o.query_counts = graph.AddMemory(CUDNN_DATA_INT32, {g.batch, 1, 1, 1}, {1, 1, 1, 1});
    o.key_counts = graph.AddMemory(CUDNN_DATA_INT32, {g.batch, 1, 1, 1}, {1, 1, 1, 1});
  }
  return o;
}

// All but causal masks, which the caller adds.
int AddScores(CudnnGraph& graph, const AttentionCall& call, const Operands& o) {
  const AttentionGeometry& g = call.g;
  int scores = graph.AddMatMul(o.q, o.k, {o.query_counts, o.key_counts, -1},
                               {g.batch, g.q_heads, g.q_len, g.total_len()});
  scores = graph.AddPointwise(CUDNN_POINTWISE_MUL,
                              {scores, graph.AddValue(CUDNN_DATA_FLOAT, call.scale, 4)});
  if (o.bias >= 0) scores = graph.AddPointwise(CUDNN_POINTWISE_ADD, {scores, o.bias});
  if (o.key_counts >= 0) scores = SelectLengths(graph, scores, o.query_counts, o.key_counts);
  return scores;
}

bool IsCausal(const AttentionCall& call) {
  return call.mask == AttentionMask::kCausal || call.mask == AttentionMask::kCausalAtEnd;
}

// Gradients of keys or values by query heads, summed over those that share a head.
void AddSum(CudnnGraph& graph, const AttentionCall& call, int of_heads, int64_t size,
            DimsView strides) {
  const AttentionGeometry& g = call.g;
  if (g.group() > 1) {
    of_heads = graph.AddReduction(CUDNN_REDUCE_TENSOR_ADD, of_heads,
                                  {g.batch, g.kv_heads, g.total_len(), size});
  }
  graph.SetMemory(of_heads, CudnnType(call.dtype), strides);
}

}  // namespace

absl::Status CheckAttentionHeads(int64_t head_size, int64_t v_head_size) {
  for (const int64_t size : {head_size, v_head_size}) {
    if (size < 1 || size > 128 || size % 8 != 0) {
      return absl::UnimplementedError(
          absl::StrCat("heads of ", size, " elements; cuDNN takes multiples of 8 up to 128"));
    }
  }
  return absl::OkStatus();
}

CudnnGraph AttentionGraph(const AttentionCall& call) {
  const AttentionGeometry& g = call.g;
  const cudnnDataType_t type = CudnnType(call.dtype);
  CudnnGraph graph;
  const Operands o = AddOperands(graph, call, false);
  int scores = AddScores(graph, call, o);
  if (IsCausal(call)) scores = SelectCausal(graph, scores, call);
  const SoftmaxParts softmax = AddSoftmax(graph, scores, type, {g.batch, g.q_heads, g.q_len, 1});
  const int y = graph.AddMatMul(softmax.rows, o.v, {o.query_counts, -1, o.key_counts},
                                {g.batch, g.q_heads, g.q_len, g.v_head_size});
  graph.SetMemory(y, type, {g.y_batch, g.y_head, g.y_row, 1});
  if (call.keeps_logs)
    graph.SetMemory(softmax.logs, CUDNN_DATA_FLOAT, {g.q_heads * g.q_len, g.q_len, 1, 1});
  return graph;
}

CudnnGraph AttentionGradientGraph(const AttentionCall& call) {
  const AttentionGeometry& g = call.g;
  const cudnnDataType_t type = CudnnType(call.dtype);
  const int64_t keys = g.total_len();
  const Dims rows = {g.batch, g.q_heads, g.q_len, 1}, row_strides = Strides(rows);
  const Dims scores_dims = {g.batch, g.q_heads, g.q_len, keys};
  CudnnGraph graph;
  const Operands o = AddOperands(graph, call, true);
  const auto add_like_y = [&] {
    return graph.AddMemory(type, {g.batch, g.q_heads, g.q_len, g.v_head_size},
                           {g.y_batch, g.y_head, g.y_row, 1});
  };
  const int y = add_like_y(), dy = add_like_y();
  const int logs = graph.AddMemory(CUDNN_DATA_FLOAT, rows, row_strides);
  // The sum of dY times Y is that of probabilities times their gradients.
  int shared = graph.AddPointwise(CUDNN_POINTWISE_MUL, {dy, y});
  shared = graph.AddReduction(CUDNN_REDUCE_TENSOR_ADD, shared, rows);
  shared =
      graph.AddPointwise(CUDNN_POINTWISE_MUL, {shared, graph.AddValue(CUDNN_DATA_FLOAT, 1, 4)});
  graph.SetMemory(shared, CUDNN_DATA_FLOAT, row_strides);

  int scores = graph.AddPointwise(CUDNN_POINTWISE_SUB, {AddScores(graph, call, o), logs});
  if (IsCausal(call)) scores = SelectCausal(graph, scores, call);
  const int p = graph.AddPointwise(CUDNN_POINTWISE_EXP, {scores});
  const int dv =
      graph.AddMatMul(graph.AddTransposed(p, type), dy, {o.key_counts, -1, o.query_counts},
                      {g.batch, g.q_heads, keys, g.v_head_size}, type);
  AddSum(graph, call, dv, g.v_head_size, {g.v_batch, g.v_head, g.v_row, 1});

  int ds = graph.AddMatMul(dy, o.v, {o.query_counts, o.key_counts, -1}, scores_dims);
  ds = graph.AddPointwise(CUDNN_POINTWISE_SUB, {ds, shared});
  ds = graph.AddPointwise(CUDNN_POINTWISE_MUL, {ds, p});
  ds = graph.AddPointwise(CUDNN_POINTWISE_MUL,
                          {ds, graph.AddValue(CUDNN_DATA_FLOAT, call.scale, 4)});
  const int dk =
      graph.AddMatMul(graph.AddTransposed(ds, type), o.q, {o.key_counts, -1, o.query_counts},
                      {g.batch, g.q_heads, keys, g.head_size}, type);
  AddSum(graph, call, dk, g.head_size, {g.k_batch, g.k_head, g.k_row, 1});
  const int dq =
      graph.AddMatMul(ds, graph.AddTransposed(o.k, type), {o.query_counts, -1, o.key_counts},
                      {g.batch, g.q_heads, g.q_len, g.head_size});
  graph.SetMemory(dq, type, {g.q_batch, g.q_head, g.q_row, 1});
  return graph;
}

}  // namespace onward::kernels::cuda

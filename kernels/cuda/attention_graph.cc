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

// Softmax over the last axis. cuDNN finds it by its parts, the logarithm of the sums among them.
int AddSoftmax(CudnnGraph& graph, int scores, cudnnDataType_t type) {
  const int most = graph.AddReduction(CUDNN_REDUCE_TENSOR_MAX, scores);
  const int below = graph.AddPointwise(CUDNN_POINTWISE_SUB, {scores, most});
  const int powers = graph.AddPointwise(CUDNN_POINTWISE_EXP, {below});
  const int sum = graph.AddReduction(CUDNN_REDUCE_TENSOR_ADD, powers);
  const int log = graph.AddPointwise(CUDNN_POINTWISE_LOG, {sum});
  graph.AddPointwise(CUDNN_POINTWISE_ADD, {most, log});
  return graph.AddPointwise(CUDNN_POINTWISE_DIV, {powers, sum}, type);
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
  const int64_t keys = g.total_len();
  CudnnGraph graph;
  const int q = graph.AddMemory(type, {g.batch, g.q_heads, g.q_len, g.head_size},
                                {g.q_batch, g.q_head, g.q_row, 1});
  const int k = graph.AddMemory(type, {g.batch, g.kv_heads, g.head_size, keys},
                                {g.k_batch, g.k_head, 1, g.k_row});
  const int v = graph.AddMemory(type, {g.batch, g.kv_heads, keys, g.v_head_size},
                                {g.v_batch, g.v_head, g.v_row, 1});
  const bool has_lengths = call.mask == AttentionMask::kLengths;
  int bias = -1, query_counts = -1, key_counts = -1;
  if (call.mask == AttentionMask::kBias) {
    const int64_t heads = call.bias_of_head ? g.q_heads : 1, head = g.q_len * call.bias_row;
    bias = graph.AddMemory(type, {call.bias_of_batch ? g.batch : 1, heads, g.q_len, keys},
                           {heads * head, head, call.bias_row, 1});
  }
  if (has_lengths) {
    query_counts = graph.AddMemory(CUDNN_DATA_INT32, {g.batch, 1, 1, 1}, {1, 1, 1, 1});
    key_counts = graph.AddMemory(CUDNN_DATA_INT32, {g.batch, 1, 1, 1}, {1, 1, 1, 1});
  }
  int scores =
      graph.AddMatMul(q, k, {query_counts, key_counts, -1}, {g.batch, g.q_heads, g.q_len, keys});
  scores = graph.AddPointwise(CUDNN_POINTWISE_MUL,
                              {scores, graph.AddValue(CUDNN_DATA_FLOAT, call.scale, 4)});
  if (bias >= 0) scores = graph.AddPointwise(CUDNN_POINTWISE_ADD, {scores, bias});
  if (has_lengths) scores = SelectLengths(graph, scores, query_counts, key_counts);
  if (call.mask == AttentionMask::kCausal || call.mask == AttentionMask::kCausalAtEnd)
    scores = SelectCausal(graph, scores, call);
  const int weights = AddSoftmax(graph, scores, type);
  const int y = graph.AddMatMul(weights, v, {query_counts, -1, key_counts},
                                {g.batch, g.q_heads, g.q_len, g.v_head_size});
  graph.SetMemory(y, type, {g.y_batch, g.y_head, g.y_row, 1});
  return graph;
}

}  // namespace onward::kernels::cuda

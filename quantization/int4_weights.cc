#include "quantization/int4_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"
#include "quantization/gptq.h"
#include "quantization/products.h"

namespace onward::quantization {
namespace {

constexpr float kLowest = -8, kHighest = 7;
// Scales below the one that holds the largest element: it loses, the others gain.
constexpr int kNarrowings = 8;
constexpr float kNarrowing = 0.05f;

float Code(float value, float scale) {
  return std::clamp(std::nearbyint(value / scale), kLowest, kHighest);
}

// A float as the weight's dtype holds it.
float AsDType(float value, DType dtype) {
  if (dtype == DType::kFloat16) return static_cast<float>(Float16(value));
  if (dtype == DType::kBFloat16) return static_cast<float>(BFloat16(value));
  return value;
}

// The scale of the least square error for `count` elements, `stride` apart. Its sign is that of
// minus the largest element, whose code -8 has no positive counterpart.
float BestScale(const float* values, int64_t count, int64_t stride, DType dtype) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float value = values[i * stride];
    if (std::abs(value) > std::abs(largest)) largest = value;
  }
  if (AsDType(largest / kHighest, dtype) == 0 || !std::isfinite(largest)) return 1;
  float best = 0, best_error = 0;
  for (const float full : {largest / kLowest, largest / kHighest}) {
    for (int i = 0; i < kNarrowings; ++i) {
      const float scale = AsDType(full * (1 - kNarrowing * static_cast<float>(i)), dtype);
      if (scale == 0) continue;
      float error = 0;
      for (int64_t j = 0; j < count; ++j) {
        const float value = values[j * stride];
        const float difference = value - Code(value, scale) * scale;
        error += difference * difference;
      }
      if (best == 0 || error < best_error) std::tie(best, best_error) = std::pair(scale, error);
    }
  }
  return best == 0 ? 1 : best;
}

// A weight as summed rows by output columns, and what becomes of it.
class Matrix {
 public:
  Matrix(const Tensor& weight, int64_t input_axis, int64_t block_size)
      : dtype_(weight.dtype()),
        transposed_(input_axis == 1),
        rows_(weight.dims()[static_cast<size_t>(input_axis)]),
        columns_(weight.dims()[static_cast<size_t>(1 - input_axis)]),
        block_(block_size),
        blocks_((rows_ + block_size - 1) / block_size),
        values_(ToFloats(weight)),
        codes_(values_.size()),
        scales_(static_cast<size_t>(blocks_ * columns_)) {
    if (transposed_) values_ = Transposed(values_, columns_, rows_);
  }

  void Round(const InputProducts* inputs) {
    const auto round = [&](int64_t row, absl::Span<const float> rest, absl::Span<float> rounded) {
      RoundRow(row, rest, rounded);
    };
    if (inputs != nullptr && inputs->size == rows_ &&
        RoundCompensated(values_, columns_, block_, *inputs, round))
      return;
    std::vector<float> rounded(static_cast<size_t>(columns_));
    for (int64_t row = 0; row < rows_; ++row)
      RoundRow(row, absl::MakeConstSpan(values_).subspan(static_cast<size_t>(row * columns_)),
               absl::MakeSpan(rounded));
  }

  Tensor Codes() const {
    const std::vector<int8_t> codes = transposed_ ? Transposed(codes_, rows_, columns_) : codes_;
    Tensor tensor(DType::kInt4, DimsOf(rows_));
    PackSubByte(DType::kInt4, codes.data(), rows_ * columns_, tensor.raw_mutable_data());
    return tensor;
  }
  Tensor Scales() const {
    return FromFloats(transposed_ ? Transposed(scales_, blocks_, columns_) : scales_, dtype_,
                      DimsOf(blocks_));
  }

 private:
  template <typename T>
  static std::vector<T> Transposed(const std::vector<T>& from, int64_t rows, int64_t columns) {
    std::vector<T> to(from.size());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j)
        to[static_cast<size_t>(j * rows + i)] = from[static_cast<size_t>(i * columns + j)];
    }
    return to;
  }
  Dims DimsOf(int64_t rows) const {
    return transposed_ ? Dims{columns_, rows} : Dims{rows, columns_};
  }

  void RoundRow(int64_t row, absl::Span<const float> rest, absl::Span<float> rounded) {
    float* scales = &scales_[static_cast<size_t>(row / block_ * columns_)];
    if (row % block_ == 0) {
      const int64_t count = std::min(block_, rows_ - row);
      for (int64_t i = 0; i < columns_; ++i)
        scales[i] = BestScale(&rest[static_cast<size_t>(i)], count, columns_, dtype_);
    }
    for (int64_t i = 0; i < columns_; ++i) {
      const float code = Code(rest[static_cast<size_t>(i)], scales[i]);
      codes_[static_cast<size_t>(row * columns_ + i)] = static_cast<int8_t>(code);
      rounded[static_cast<size_t>(i)] = code * scales[i];
    }
  }

  const DType dtype_;
  const bool transposed_;
  const int64_t rows_, columns_, block_, blocks_;
  std::vector<float> values_;
  std::vector<int8_t> codes_;
  std::vector<float> scales_;
};

// The DequantizeLinear of the matrix, for products that sum along `axis`.
ValueId AddDequantized(Graph& graph, ValueId weight, const Matrix& matrix, int64_t axis,
                       int64_t block_size) {
  GraphEdit edit(graph);
  const std::string name = graph.value(weight).name;
  const auto unique = [&](const char* suffix) {
    return graph.UniqueName(absl::StrCat(name, suffix));
  };
  Node node;
  node.op_type = "DequantizeLinear";
  node.schema = FindSchema(node.op_type, "");
  node.name = unique("/DequantizeLinear");
  node.inputs = {edit.AddConstant(unique("_int4"), matrix.Codes()),
                 edit.AddConstant(unique("_scale"), matrix.Scales())};
  const ValueId dequantized = edit.AddValue(unique("_dequantized"), graph.type(weight));
  node.outputs = {dequantized};
  node.attributes.Set("axis", axis);
  node.attributes.Set("block_size", block_size);
  node.origin = "int4_weights";
  edit.AddNode(std::move(node));
  return dequantized;
}

bool IsQuantizable(const Graph& graph, const WeightedProduct& product, const Int4Options& options) {
  return !graph.node(product.node).Is("Conv") &&
         graph.constant(product.weight)->num_elements() >= options.least_elements;
}

const InputProducts* FindInputs(const Graph& graph, const WeightedProduct& product,
                                const Int4Options& options) {
  if (options.inputs == nullptr) return nullptr;
  const auto it = options.inputs->find(graph.value(product.data).name);
  return it == options.inputs->end() ? nullptr : &it->second;
}

}  // namespace

std::map<std::string, int64_t> InputsOfInt4(const Graph& graph, const Int4Options& options) {
  std::map<std::string, int64_t> inputs;
  for (const WeightedProduct& product : WeightedProducts(graph)) {
    if (!IsQuantizable(graph, product, options)) continue;
    inputs[graph.value(product.data).name] =
        graph.constant(product.weight)->dims()[static_cast<size_t>(product.input_axis)];
  }
  return inputs;
}

absl::StatusOr<Int4Report> QuantizeWeightsToInt4(Model& model, const Int4Options& options) {
  Graph& graph = model.graph;
  ONWARD_RETURN_IF_ERROR(CheckNotQuantized(graph));
  Int4Report report;
  std::map<std::pair<int32_t, int64_t>, ValueId> done;  // by weight and summed axis
  for (const WeightedProduct& product : WeightedProducts(graph)) {
    if (!IsQuantizable(graph, product, options)) continue;
    const Tensor weight = *graph.constant(product.weight);
    const auto [it, added] = done.try_emplace({product.weight.index, product.input_axis});
    if (added) {
      Matrix matrix(weight, product.input_axis, options.block_size);
      matrix.Round(FindInputs(graph, product, options));
      it->second =
          AddDequantized(graph, product.weight, matrix, product.input_axis, options.block_size);
      ++report.weights;
      report.bytes_before += weight.byte_size();
      report.bytes_after += matrix.Codes().byte_size() + matrix.Scales().byte_size();
    }
    GraphEdit(graph).SetInput(product.node, 1, it->second);
    if (graph.users(product.weight).empty()) GraphEdit(graph).constant(product.weight).reset();
  }
  if (report.weights > 0) return report;
  return absl::InvalidArgumentError(
      absl::StrCat("no MatMul or Gemm of the model has a constant matrix of floats of ",
                   options.least_elements, " elements or more: there is nothing to quantize"));
}

}  // namespace onward::quantization

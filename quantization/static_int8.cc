#include "quantization/static_int8.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"
#include "quantization/products.h"

namespace onward::quantization {
namespace {

constexpr float kWeightCodes = 127;
constexpr float kLastCode = 255;
constexpr float kLargestBias = 1 << 30;

bool IsFloat32(const Graph& graph, ValueId id) {
  return id.valid() && graph.type(id).is_tensor() && graph.type(id).dtype == DType::kFloat32;
}

std::vector<WeightedProduct> ProductsOfFloat32(const Graph& graph) {
  std::vector<WeightedProduct> products;
  for (const WeightedProduct& product : WeightedProducts(graph))
    if (IsFloat32(graph, product.data) && IsFloat32(graph, product.weight))
      products.push_back(product);
  return products;
}

// The result of the Conv behind the Relu or Clip that alone reads it.
ValueId ResultOf(const Graph& graph, const WeightedProduct& product) {
  const ValueId result = graph.node(product.node).outputs[0];
  const NodeId reader = OnlyReader(graph, result);
  if (!reader.valid()) return result;
  const Node& node = graph.node(reader);
  const bool activation = node.Is("Relu") || (node.Is("Clip") && node.inputs[0] == result);
  return activation ? node.outputs[0] : result;
}

// Ops that give elements of their first input and none of their own.
bool MovesElements(const Node& node) {
  for (const char* op :
       {"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity"})
    if (node.Is(op)) return true;
  return false;
}

class Quantizer {
 public:
  Quantizer(Graph& graph, const std::map<std::string, ValueRange>& ranges)
      : graph_(graph), edit_(graph), ranges_(ranges) {}

  Int8Report Run() {
    Int8Report report;
    for (const WeightedProduct& product : ProductsOfFloat32(graph_)) {
      const std::optional<Pair> data = PairOf(product.data);
      report.products += data ? 1 : 0;
      report.left += data ? 0 : 1;
      if (!data) continue;
      edit_.SetInput(product.node, 0, data->dequantized);
      QuantizeWeight(product, graph_.constant(data->scale)->data<float>()[0]);
      if (graph_.node(product.node).Is("Conv")) QuantizeResult(product);
    }
    for (const auto& [value, pair] : pairs_) DropActivation(ValueId{value}, pair);
    return report;
  }

 private:
  struct Pair {
    NodeId quantize;
    ValueId scale, zero, dequantized;
    float high = 0;
  };

  std::string Unique(const std::string& name) const { return graph_.UniqueName(name); }

  ValueId AddNode(const std::string& op, std::vector<ValueId> inputs, const std::string& name,
                  Type type, std::optional<int64_t> axis = std::nullopt) {
    Node node;
    node.op_type = op;
    node.schema = FindSchema(op, "");
    node.name = absl::StrCat(name, "/", op);
    node.inputs = std::move(inputs);
    node.outputs = {edit_.AddValue(Unique(name), std::move(type))};
    if (axis) node.attributes.Set("axis", *axis);
    node.origin = "static_int8";
    const ValueId output = node.outputs[0];
    edit_.AddNode(std::move(node));
    return output;
  }

  // Finds the value whose codes an op that only moves elements passes on.
  const Pair* SourceOf(ValueId value) const {
    for (NodeId maker = Maker(graph_, value); maker.valid();) {
      const Node& node = graph_.node(maker);
      if (!MovesElements(node)) return nullptr;
      const NodeId linear = Maker(graph_, node.inputs[0]);
      if (linear.valid() && graph_.node(linear).Is("DequantizeLinear")) {
        for (const auto& [index, pair] : pairs_)
          if (pair.dequantized == node.inputs[0]) return &pair;
        return nullptr;
      }
      maker = linear;
    }
    return nullptr;
  }

  // The value as it comes back from its codes; nothing where no range is known.
  std::optional<Pair> PairOf(ValueId value) {
    for (const auto& [index, pair] : pairs_)
      if (index == value.index || pair.dequantized == value) return pair;
    const ValueData& data = graph_.value(value);
    const auto range = ranges_.find(data.name);
    if (range == ranges_.end()) return std::nullopt;
    const std::string name = data.name;
    const Type type = data.type;
    Pair pair;
    if (const Pair* source = SourceOf(value); source != nullptr) {
      pair = *source;
    } else {
      const float low = std::min(range->second.low, 0.0f);
      pair.high = std::max(range->second.high, 0.0f);
      const float scale = pair.high > low ? (pair.high - low) / kLastCode : 1.0f;
      const float zero = std::clamp(std::nearbyint(-low / scale), 0.0f, kLastCode);
      pair.scale = edit_.AddConstant(Unique(name + "_scale"), Tensor::Scalar<float>(scale));
      pair.zero = edit_.AddConstant(Unique(name + "_zero_point"),
                                    Tensor::Scalar<uint8_t>(static_cast<uint8_t>(zero)));
    }
    Type codes = type;
    codes.dtype = DType::kUint8;
    const ValueId quantized =
        AddNode("QuantizeLinear", {value, pair.scale, pair.zero}, name + "_quantized", codes);
    pair.quantize = graph_.value(quantized).producer;
    pair.dequantized = AddNode("DequantizeLinear", {quantized, pair.scale, pair.zero},
                               name + "_dequantized", type);
    pairs_[value.index] = pair;
    return pair;
  }

  void QuantizeWeight(const WeightedProduct& product, float per_data) {
    const Tensor weight = *graph_.constant(product.weight);
    const std::string name = graph_.value(product.weight).name;
    const auto axis = static_cast<size_t>(product.output_axis);
    const int64_t channels = weight.dims()[axis];
    const int64_t inner = NumElements(weight.dims(), product.output_axis + 1, weight.rank());
    const auto channel_of = [&](int64_t i) { return static_cast<size_t>(i / inner % channels); };
    std::vector<float> scales(static_cast<size_t>(channels));
    const float* elements = weight.data<float>();
    for (int64_t i = 0; i < weight.num_elements(); ++i)
      scales[channel_of(i)] = std::max(scales[channel_of(i)], std::abs(elements[i]) / kWeightCodes);
    const std::optional<std::vector<float>> bias = BiasOf(product, channels);
    for (size_t c = 0; c < scales.size(); ++c) {
      // The bias of a channel must fit into 32 bits in units of both scales.
      if (bias) scales[c] = std::max(scales[c], std::abs((*bias)[c]) / kLargestBias / per_data);
      if (!(scales[c] >= std::numeric_limits<float>::min())) scales[c] = 1;
    }
    Tensor codes(DType::kInt8, weight.dims());
    for (int64_t i = 0; i < weight.num_elements(); ++i)
      codes.mutable_data<int8_t>()[i] = static_cast<int8_t>(std::clamp(
          std::nearbyint(elements[i] / scales[channel_of(i)]), -kWeightCodes, kWeightCodes));
    Tensor zeros(DType::kInt8, Dims{channels});
    std::fill_n(zeros.mutable_data<int8_t>(), channels, int8_t{0});
    const ValueId dequantized =
        AddNode("DequantizeLinear",
                {edit_.AddConstant(Unique(name + "_int8"), std::move(codes)),
                 edit_.AddConstant(Unique(name + "_scale"),
                                   FromFloats(scales, DType::kFloat32, Dims{channels})),
                 edit_.AddConstant(Unique(name + "_zero_point"), std::move(zeros))},
                name + "_dequantized", graph_.type(product.weight), product.output_axis);
    edit_.SetInput(product.node, 1, dequantized);
    if (graph_.users(product.weight).empty()) edit_.constant(product.weight).reset();
    if (bias) QuantizeBias(product, *bias, scales, per_data);
  }

  // A constant of one number a channel that is added as it is.
  std::optional<std::vector<float>> BiasOf(const WeightedProduct& product, int64_t channels) const {
    const Tensor* bias = FixedConstant(graph_, product.bias);
    const Node& node = graph_.node(product.node);
    if (bias == nullptr || bias->dtype() != DType::kFloat32 || bias->rank() != 1) return {};
    if (bias->num_elements() != channels) return {};
    if (node.Is("Gemm") &&
        (node.attributes.Float("alpha", 1) != 1 || node.attributes.Float("beta", 1) != 1))
      return {};
    return ToFloats(*bias);
  }

  void QuantizeBias(const WeightedProduct& product, const std::vector<float>& bias,
                    std::vector<float> scales, float per_data) {
    const std::string name = graph_.value(product.bias).name;
    const auto channels = static_cast<int64_t>(bias.size());
    Tensor codes(DType::kInt32, Dims{channels});
    for (size_t c = 0; c < bias.size(); ++c) {
      scales[c] *= per_data;
      codes.mutable_data<int32_t>()[c] = static_cast<int32_t>(std::nearbyint(bias[c] / scales[c]));
    }
    const ValueId dequantized =
        AddNode("DequantizeLinear",
                {edit_.AddConstant(Unique(name + "_int32"), std::move(codes)),
                 edit_.AddConstant(Unique(name + "_scale"),
                                   FromFloats(scales, DType::kFloat32, Dims{channels}))},
                name + "_dequantized", graph_.type(product.bias), 0);
    edit_.SetInput(product.node, 2, dequantized);
    if (graph_.users(product.bias).empty()) edit_.constant(product.bias).reset();
  }

  // Whoever reads the result reads it back from its codes.
  void QuantizeResult(const WeightedProduct& product) {
    const ValueId result = ResultOf(graph_, product);
    if (graph_.is_output(result) || pairs_.contains(result.index)) return;
    const std::optional<Pair> pair = PairOf(result);
    if (pair) edit_.ReplaceUses(result, pair->dequantized, pair->quantize.index);
  }

  // Codes end where the activation does.
  void DropActivation(ValueId value, const Pair& pair) {
    const NodeId maker = Maker(graph_, value);
    if (!maker.valid() || !ReadOnce(graph_, value)) return;
    if (graph_.constant(pair.zero)->data<uint8_t>()[0] != 0) return;
    const Node& node = graph_.node(maker);
    const bool relu = node.Is("Relu");
    if (!relu && !node.Is("Clip")) return;
    if (!relu) {
      const auto low = ScalarValue(graph_, InputOf(node, 1));
      const auto high = ScalarValue(graph_, InputOf(node, 2));
      if (!low || !high || *low != 0 || pair.high > *high * (1 + 1e-6)) return;
    }
    const ValueId before = node.inputs[0];
    edit_.SetInput(pair.quantize, 0, before);
    edit_.RemoveNode(maker);
  }

  Graph& graph_;
  GraphEdit edit_;
  const std::map<std::string, ValueRange>& ranges_;
  std::map<int32_t, Pair> pairs_;  // by value
};

}  // namespace

std::set<std::string> ValuesOfInt8(const Graph& graph) {
  std::set<std::string> names;
  for (const WeightedProduct& product : ProductsOfFloat32(graph)) {
    names.insert(graph.value(product.data).name);
    if (graph.node(product.node).Is("Conv"))
      names.insert(graph.value(ResultOf(graph, product)).name);
  }
  return names;
}

absl::StatusOr<Int8Report> QuantizeToInt8(Model& model,
                                          const std::map<std::string, ValueRange>& ranges) {
  ONWARD_RETURN_IF_ERROR(CheckNotQuantized(model.graph));
  const Int8Report report = Quantizer(model.graph, ranges).Run();
  if (report.products > 0) return report;
  return absl::InvalidArgumentError(
      report.left > 0
          ? "the samples do not reach any product of the model"
          : "the model has no Conv, MatMul or Gemm of float32 with constant weights: there is "
            "nothing to quantize");
}

}  // namespace onward::quantization

// Mixtures of experts: each row of the input goes through the k experts of the highest router
// values, and the results are added by their weights.
#include <functional>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/microsoft/blocks.h"

namespace onward::microsoft {
namespace {

// One layer of all experts: W [experts, out, in], as floats or packed codes with scales.
struct Layer {
  Expr weights, scales, zeros, bias;
};

struct Experts {
  Expr x;       // [rows, hidden], float32
  Expr chosen;  // [rows, k], int64
  Expr shares;  // [rows, k], float32
  Layer fc1, fc2, fc3;
  int64_t count = 0, k = 0;
  int64_t bits = 0;   // 0: weights are floats
  int64_t block = 0;  // elements of `in` per scale; 0: one scale per output
};

void ForEachExpr(Experts& e, const std::function<void(Expr&)>& f) {
  for (Expr* expr : {&e.x, &e.chosen, &e.shares}) f(*expr);
  for (Layer* layer : {&e.fc1, &e.fc2, &e.fc3}) {
    for (Expr* expr : {&layer->weights, &layer->scales, &layer->zeros, &layer->bias}) f(*expr);
  }
}

// The layer of the given experts only.
Layer Chosen(Layer layer, const Expr& experts) {
  for (Expr* expr : {&layer.weights, &layer.scales, &layer.zeros, &layer.bias}) {
    if (expr->valid()) *expr = Gather(*expr, experts);
  }
  return layer;
}

// W in float32. Zero points of one scale per output are packed along the outputs.
Expr Floats(const Layer& layer, const Experts& e) {
  if (e.bits == 0) return Wide(layer.weights);
  const double middle = static_cast<double>(int64_t{1} << (e.bits - 1));
  const Expr codes = UnpackCodes(layer.weights, e.bits);
  Expr zeros = layer.zeros.valid() ? UnpackCodes(layer.zeros, e.bits) : Expr();
  if (e.block == 0) {
    const Expr shifted =
        zeros.valid() ? Wide(codes) - Unsqueeze(Wide(zeros), {-1}) : Wide(codes) - middle;
    return shifted * Unsqueeze(Wide(layer.scales), {-1});
  }
  if (zeros.valid()) {
    const Expr blocks = Shape(layer.scales, -1, std::numeric_limits<int64_t>::max());
    ExprSink& sink = *zeros.sink();
    zeros = Op("Slice", {zeros, sink.Ints({0}), blocks, sink.Ints({-1})});
  }
  return DequantizeBlocks(codes, layer.scales, zeros, middle, e.block);
}

// gate * sigmoid(alpha * gate) * (linear + beta), both within the limit; they lie alternately, or
// in halves.
Expr SwiGlu(const FormulaCall& call, const Expr& h, bool alternate) {
  const Expr shape =
      Concat({Shape(h, 0, -1), alternate ? h.sink()->Ints({-1, 2}) : h.sink()->Ints({2, -1})}, 0);
  const Expr pairs = Reshape(h, shape);
  const int64_t axis = alternate ? -1 : -2;
  const auto part = [&](int64_t i) { return Squeeze(Slice(pairs, {i}, {i + 1}, {axis}), {axis}); };
  Expr gate = part(0), linear = part(1);
  if (call.Has("swiglu_limit")) {
    const double limit = call.Float("swiglu_limit");
    gate = Min(gate, ScalarLike(gate, limit));
    linear = Clip(linear, ScalarLike(linear, -limit), ScalarLike(linear, limit));
  }
  const Expr swish = Op("Swish", {gate}, {{"alpha", call.Float("activation_alpha")}});
  return swish * (linear + call.Float("activation_beta"));
}

Expr Activate(const FormulaCall& call, const Expr& h) {
  const std::string kind = call.String("activation_type");
  if (kind == "relu") return Relu(h);
  if (kind == "gelu") return Gelu(h, "tanh");
  if (kind == "silu") return Op("Swish", {h});
  if (kind == "identity") return h;
  if (kind == "swiglu") return SwiGlu(call, h, call.Int("swiglu_fusion") != 2);
  call.Fail(absl::StrCat("activation_type is '", kind,
                         "', must be relu, gelu, silu, swiglu or identity"));
  return h;
}

// x [n, rows, in] through one layer of n experts.
Expr Through(const Expr& x, const Layer& layer, const Experts& e) {
  const Expr y = MatMul(x, Transpose(Floats(layer, e), {0, 2, 1}));
  return layer.bias.valid() ? y + Unsqueeze(Wide(layer.bias), {1}) : y;
}

Expr Run(const FormulaCall& call, const Expr& x, const Experts& e) {
  Expr h = Activate(call, Through(x, e.fc1, e));
  if (e.fc3.weights.valid()) h = h * Through(x, e.fc3, e);
  return Through(h, e.fc2, e);
}

// All experts for all rows.
Expr Dense(const FormulaCall& call, const Experts& e) {
  const Expr y = Run(call, Unsqueeze(e.x, {0}), e);  // [experts, rows, hidden]
  ExprSink& sink = *e.x.sink();
  const Expr none =
      Expand(sink.Scalar(0, DType::kFloat32), Concat({Shape(e.x, 0, 1), sink.Ints({e.count})}, 0));
  const Expr shares = Op("ScatterElements", {none, e.chosen, e.shares}, {{"axis", int64_t{1}}});
  return ReduceSum(y * Unsqueeze(Transpose(shares, {1, 0}), {-1}), {0}, false);
}

// The chosen experts' weights for each row.
Expr PerRow(const FormulaCall& call, Experts e) {
  const Expr flat = Reshape(e.chosen, {-1});
  e.fc1 = Chosen(e.fc1, flat);
  e.fc2 = Chosen(e.fc2, flat);
  e.fc3 = Chosen(e.fc3, flat);
  ExprSink& sink = *e.x.sink();
  const Expr hidden = Shape(e.x, 1, 2), rows = Shape(e.x, 0, 1);
  const Expr copies = Expand(Unsqueeze(e.x, {1}), Concat({rows, sink.Ints({e.k}), hidden}, 0));
  const Expr y = Run(call, Reshape(copies, Concat({sink.Ints({-1, 1}), hidden}, 0)), e);
  const Expr by_row = Reshape(y, Concat({rows, sink.Ints({e.k}), hidden}, 0));
  return ReduceSum(by_row * Unsqueeze(e.shares, {-1}), {1}, false);
}

Expr Mixture(const FormulaCall& call, const Experts& e) {
  // Few rows read the weights of their experts only.
  const std::optional<Dims> dims = e.x.type().static_dims();
  if (dims) return (*dims)[0] * e.k < e.count ? PerRow(call, e) : Dense(call, e);
  const auto branch = [&](auto&& compute) {
    return [&call, &e, compute](ExprSink& body) -> std::vector<Expr> {
      Experts inner = e;
      ForEachExpr(inner, [&](Expr& expr) {
        if (expr.valid()) expr = body.Op("Identity", {expr});
      });
      return {compute(call, inner)};
    };
  };
  const Expr few = Less(Squeeze(Shape(e.x, 0, 1), {0}) * static_cast<double>(e.k),
                        call.sink().Scalar(static_cast<double>(e.count), DType::kInt64));
  return call.sink().If(few, branch(PerRow), branch(Dense))[0];
}

// x as rows, and the rules of the router: shares are the softmax of all router values, or of the
// chosen ones (`normalized`), or those of another table.
Experts Route(const FormulaCall& call, bool normalized, const Expr& table, size_t weights) {
  Experts e;
  e.count = call.Dim(weights, 0);
  e.k = call.Int("k");
  if (e.count > 0 && (e.k < 1 || e.k > e.count)) {
    call.Fail(absl::StrCat("k is ", e.k, ", must be from 1 to the number of experts, ", e.count));
    return e;
  }
  const Expr x = call.input(0);
  e.x = Reshape(
      Wide(x),
      Concat({call.sink().Ints({-1}), Shape(x, -1, std::numeric_limits<int64_t>::max())}, 0));
  const Expr router = Wide(call.input(1));
  const std::vector<Expr> top = Ops("TopK", {router, call.sink().Ints({e.k})}, 2);
  e.chosen = top[1];
  const auto at = [&](const Expr& all) {
    return Op("GatherElements", {all, e.chosen}, {{"axis", int64_t{1}}});
  };
  if (table.valid()) {
    e.shares = at(Wide(table));
    if (normalized) e.shares = e.shares / ReduceSum(e.shares, {1});
  } else {
    e.shares = normalized ? Softmax(top[0], 1) : at(Softmax(router, 1));
  }
  return e;
}

std::vector<Expr> Finish(const FormulaCall& call, const Experts& e) {
  if (!call.sink().status().ok()) return {};
  const Expr y = Mixture(call, e);
  return {As(Reshape(y, Shape(call.input(0)), /*allow_zero=*/true), call.input(0).dtype())};
}

std::vector<Expr> MoE(const FormulaCall& call) {
  Experts e = Route(call, call.Int("normalize_routing_weights") != 0, {}, 2);
  e.fc1 = {call.input(2), {}, {}, call.input(3)};
  e.fc2 = {call.input(4), {}, {}, call.input(5)};
  e.fc3 = {call.input(6), {}, {}, call.input(7)};
  return Finish(call, e);
}

// Shares are the softmax of the chosen router values unless router_weights are given.
std::vector<Expr> QMoE(const FormulaCall& call) {
  const Expr table = call.input(14);
  const bool normalized = !table.valid() || call.Int("normalize_routing_weights") != 0;
  Experts e = Route(call, normalized, table, 2);
  e.bits = call.Int("expert_weight_bits");
  e.block = call.Has("block_size") ? call.Int("block_size") : 0;
  if (e.bits != 2 && e.bits != 4 && e.bits != 8) {
    call.Fail(absl::StrCat("expert_weight_bits is ", e.bits, ", must be 2, 4 or 8"));
    return {};
  }
  if (call.String("quant_type") != "int" || !call.has_input(3) || !call.has_input(6)) {
    call.Fail("weights must be integers with scales (quant_type \"int\")");
    return {};
  }
  e.fc1 = {call.input(2), call.input(3), call.input(11), call.input(4)};
  e.fc2 = {call.input(5), call.input(6), call.input(12), call.input(7)};
  e.fc3 = {call.input(8), call.input(9), call.input(13), call.input(10)};
  return Finish(call, e);
}

}  // namespace

std::vector<FormulaOp> MoEOps() {
  return {
      {"MoE <activation_alpha: float = 1, activation_beta: float = 0, activation_type: string = "
       "\"relu\", k: int = 1, normalize_routing_weights: int = 0, swiglu_fusion: int = 0, "
       "swiglu_limit: float?, use_sparse_mixer: int = 0> (input: T, router_probs: T, "
       "fc1_experts_weights: T, fc1_experts_bias: T?, fc2_experts_weights: T, fc2_experts_bias: "
       "T?, fc3_experts_weights: T?, fc3_experts_bias: T?) -> (output: T) "
       "where T = float16|float|bfloat16",
       MoE},
      {"QMoE <accuracy_level: int = 0, activation_alpha: float = 1, activation_beta: float = 0, "
       "activation_type: string = \"relu\", block_size: int?, expert_weight_bits: int = 4, k: int "
       "= 1, normalize_routing_weights: int = 0, quant_type: string = \"int\", swiglu_fusion: int "
       "= 0, swiglu_limit: float?, use_sparse_mixer: int = 0, weights_prepacked: int = -1> (input: "
       "T, router_probs: T, fc1_experts_weights: W, fc1_scales: S?, fc1_experts_bias: T?, "
       "fc2_experts_weights: W, fc2_scales: S?, fc2_experts_bias: T?, fc3_experts_weights: W?, "
       "fc3_scales: S?, fc3_experts_bias: T?, fc1_zero_points: W?, fc2_zero_points: W?, "
       "fc3_zero_points: W?, router_weights: T?) -> (output: T) "
       "where T = float16|float|bfloat16, W = uint8, S = float16|float|bfloat16",
       QMoE},
  };
}

}  // namespace onward::microsoft

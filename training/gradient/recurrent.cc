// LSTM, GRU and RNN: from the states that Y has. Where a GRU multiplies twice per step, through a
// Scan of the recurrence.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/gradient/body.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"
#include "training/gradient/recurrent_backward.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// The results of the node that its gradient reads.
struct Forward {
  Expr y, gates;  // gates may be omitted
};

// The node, which is replaced by one that has what it lacks of Y and, where `keeps_gates`, of
// gates.
absl::StatusOr<Forward> ForwardOf(const GradientScope& s, bool keeps_gates) {
  const bool has_y = s.node().outputs[0].valid();
  if (has_y && !keeps_gates) return Forward{s.output(0), Expr()};
  Graph& graph = s.sink().graph();
  Node node = NodeLike(s.node());
  node.inputs = s.node().inputs;
  node.outputs = s.node().outputs;
  const auto add_output = [&](const char* name) {
    const std::string of_node = absl::StrCat(s.sink().prefix(), node.op_type, "/", name);
    return GraphEdit(graph).AddValue(graph.UniqueName(of_node), Type());
  };
  if (!has_y) node.outputs[0] = add_output("y");
  const ValueId y = node.outputs[0];
  ValueId gates;
  if (keeps_gates) {
    gates = add_output("gates");
    node.outputs.resize(3);
    node.outputs.push_back(gates);
    Attributes attributes;
    for (const char* name : {"direction", "hidden_size"})
      if (const Attribute* given = node.attributes.Find(name)) attributes.Set(name, *given);
    node.attributes = std::move(attributes);
    node.op_type = "LstmWithGates";
    node.domain = kOnwardDomain;
    node.schema = FindSchema(node.op_type, node.domain);
  }
  GraphEdit(graph).RemoveNode(s.id());
  ONWARD_RETURN_IF_ERROR(
      InferNode(graph, GraphEdit(graph).AddNode(std::move(node)), &s.sink().known()));
  return Forward{s.sink().Value(y), keeps_gates ? s.sink().Value(gates) : Expr()};
}

// True if onward.LstmWithGates can stand for the node, which spares the products that gates are
// made of.
bool KeepsGates(const GradientScope& s, bool batch_first,
                const std::vector<RecurrentDirection>& directions) {
  return s.allow_onward_ops() && !batch_first && s.input(kX).dtype() != DType::kFloat64 &&
         std::all_of(directions.begin(), directions.end(),
                     [](const RecurrentDirection& direction) { return direction.is_plain_lstm(); });
}

// Both directions' parts beside each other.
Expr Stacked(const std::vector<Expr>& parts, int64_t axis) {
  std::vector<Expr> own;
  for (const Expr& part : parts) own.push_back(Unsqueeze(part, {axis}));
  return own.size() == 1 ? own[0] : expr::Concat(own, axis);
}

Expr WideOf(const Expr& x) {
  const bool narrow = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  return narrow ? Cast(x, DType::kFloat32) : x;
}

// [steps, batch, hidden] of the direction.
Expr StepsOf(const RecurrentDirection& direction, const Expr& y, bool batch_first) {
  if (!batch_first) return direction.Own(y, 1);
  return Transpose(direction.Own(y, 2), {1, 0, 2});
}

Gradients FromStates(const GradientScope& s, const kernels::RecurrentAttributes& a) {
  std::vector<Expr> given, inputs, gradients = NoGradients(s);
  for (int i = 0; i < s.num_inputs(); ++i) {
    given.push_back(s.input(i));
    inputs.push_back(WideOf(given.back()));
  }
  std::vector<RecurrentDirection> directions;
  for (int d = 0; d < a.directions; ++d) directions.emplace_back(a, inputs, d);
  // May replace the node.
  ONWARD_ASSIGN_OR_RETURN(const Forward forward,
                          ForwardOf(s, KeepsGates(s, a.batch_first, directions)));
  const int64_t state_axis = a.batch_first ? 1 : 0;
  std::vector<std::vector<Expr>> by_input(8);
  for (const RecurrentDirection& direction : directions) {
    std::vector<Expr> upstream(3);
    if (s.upstream(0).valid())
      upstream[0] = StepsOf(direction, WideOf(s.upstream(0)), a.batch_first);
    for (int i = 1; i < 3; ++i) {
      if (s.upstream(i).valid())
        upstream[static_cast<size_t>(i)] = direction.Own(WideOf(s.upstream(i)), state_axis);
    }
    ONWARD_ASSIGN_OR_RETURN(
        const std::vector<Expr> own,
        DirectionGradients(direction, StepsOf(direction, WideOf(forward.y), a.batch_first),
                           upstream,
                           forward.gates.valid() ? direction.Own(forward.gates, 0) : Expr(),
                           s.allow_onward_ops()));
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i].valid()) by_input[i].push_back(own[i]);
    }
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::vector<Expr>& parts = by_input[i];
    if (parts.empty() || !s.wants(static_cast<int>(i))) continue;
    if (i == kX) {
      const Expr sum = parts.size() == 1 ? parts[0] : parts[0] + parts[1];
      gradients[i] = a.batch_first ? Transpose(sum, {1, 0, 2}) : sum;
    } else if (i == kR) {
      gradients[i] = Stacked(parts, 0);
    } else {
      gradients[i] = Stacked(parts, i == kInitialH || i == kInitialC ? state_axis : 0);
    }
    const DType dtype = given[i].dtype();
    if (gradients[i].dtype() != dtype) gradients[i] = Cast(gradients[i], dtype);
  }
  return gradients;
}

// A GRU that multiplies twice per step: through a Scan as long as the recurrence.
Gradients ThroughScan(const GradientScope& s, const kernels::RecurrentAttributes& a) {
  const DType dtype = s.input(kX).dtype();
  return GradientsOf(s, [&](const std::vector<Expr>& given) {
    std::vector<Expr> inputs, ys, states;
    for (const Expr& input : given) inputs.push_back(WideOf(input));
    for (int d = 0; d < a.directions; ++d) {
      const RecurrentDirection direction(a, inputs, d);
      std::vector<Expr> scanned = {direction.Projected()};
      if (direction.Has(kLens)) scanned.push_back(direction.Times());
      const std::vector<Expr> results = scanned[0].sink()->Scan(
          {direction.Initial(kInitialH)}, scanned,
          [&](ExprSink&, const std::vector<Expr>& h, const std::vector<Expr>& e) {
            const Expr next = direction.GruStep(e[0], h[0]);
            if (e.size() == 1) return BodyResult{{}, {next}, {next}};
            const Expr goes_on = direction.GoesOn(e[1]);
            return BodyResult{{}, {Where(goes_on, next, h[0])}, {Masked(goes_on, next)}};
          },
          direction.reversed());
      ys.push_back(a.batch_first ? Transpose(results[1], {1, 0, 2}) : results[1]);
      states.push_back(results[0]);
    }
    std::vector<Expr> outputs = {Stacked(ys, a.batch_first ? 2 : 1),
                                 Stacked(states, a.batch_first ? 1 : 0)};
    for (Expr& output : outputs) {
      if (output.dtype() != dtype) output = Cast(output, dtype);
    }
    return outputs;
  });
}

template <kernels::RecurrentOp kOp>
Gradients RecurrentRule(const GradientScope& s) {
  const KernelOptions options;
  ONWARD_ASSIGN_OR_RETURN(
      const kernels::RecurrentAttributes attributes,
      kernels::RecurrentAttributes::Parse(NodeSpec(s.sink().graph(), s.id(), options), kOp));
  const bool twice = kOp == kernels::RecurrentOp::kGru && !attributes.linear_before_reset;
  return twice ? ThroughScan(s, attributes) : FromStates(s, attributes);
}

constexpr training::GradientEntry kRules[] = {{"GRU", RecurrentRule<kernels::RecurrentOp::kGru>},
                                              {"LSTM", RecurrentRule<kernels::RecurrentOp::kLstm>},
                                              {"RNN", RecurrentRule<kernels::RecurrentOp::kRnn>}};

}  // namespace

GradientList RecurrentGradients() { return kRules; }

}  // namespace onward::gradient

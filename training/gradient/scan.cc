// Scan. The backward Scan goes through the elements in the opposite direction: what was appended is
// taken from the end, and what it gives is prepended.
#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/gradient/control_flow.h"
#include "training/gradient/cotangent.h"
#include "training/gradient/loop_body.h"

namespace onward::gradient {
namespace {

using Result = absl::StatusOr<std::vector<Expr>>;

constexpr int64_t kForward = 0, kReverse = 1;

// One scanned input or stacked output.
struct Lane {
  int64_t axis = 0, direction = kForward;
};

std::vector<Lane> Lanes(const Attributes& attributes, const std::string& name, size_t count) {
  const std::vector<int64_t> axes = attributes.Ints("scan_" + name + "_axes");
  const std::vector<int64_t> directions = attributes.Ints("scan_" + name + "_directions");
  std::vector<Lane> lanes(count);
  for (size_t i = 0; i < count; ++i) {
    if (i < axes.size()) lanes[i].axis = axes[i];
    if (i < directions.size()) lanes[i].direction = directions[i];
  }
  return lanes;
}

void SetLanes(Attributes& attributes, const std::string& name, const std::vector<Lane>& lanes) {
  std::vector<int64_t> axes, directions;
  for (const Lane& lane : lanes) {
    axes.push_back(lane.axis);
    directions.push_back(lane.direction);
  }
  attributes.Set("scan_" + name + "_axes", std::move(axes));
  attributes.Set("scan_" + name + "_directions", std::move(directions));
}

Lane Opposite(Lane lane) {
  lane.direction = lane.direction == kForward ? kReverse : kForward;
  return lane;
}

// The type of one element of a scanned value.
Type ElementType(Type type, int64_t axis) {
  if (!type.shape || type.shape->empty()) return Type::Tensor(type.dtype);
  const auto rank = static_cast<int64_t>(type.shape->size());
  type.shape->erase(type.shape->begin() + (axis < 0 ? axis + rank : axis));
  return type;
}

class ScanGradient {
 public:
  explicit ScanGradient(const GradientScope& s)
      : s_(s), writer_(s.sink().graph()), body_(*s.node().subgraphs[0].graph) {
    const Node& node = s.node();
    scanned_ = static_cast<size_t>(s.attributes().Int("num_scan_inputs", 0));
    states_ = node.inputs.size() - scanned_;
    stacked_ = body_.outputs().size() - states_;
    in_ = Lanes(s.attributes(), "input", scanned_);
    out_ = Lanes(s.attributes(), "output", stacked_);
    inputs_ = node.inputs;
    captures_ = node.subgraphs[0].captures;
    for (const ValueId id : node.outputs) outputs_.push_back(id);
  }

  Result Run() {
    Describe();
    ONWARD_RETURN_IF_ERROR(FindFlow(parts_, flow_));
    ONWARD_ASSIGN_OR_RETURN(gradient_, DifferentiateIteration(parts_, flow_, s_.options()));
    ONWARD_RETURN_IF_ERROR(SaveForward());
    WriteInputs();
    ONWARD_RETURN_IF_ERROR(WriteBody());
    return Finish();
  }

 private:
  void Describe() {
    parts_.body = &body_;
    for (size_t i = 0; i < body_.inputs().size(); ++i)
      (i < states_ ? parts_.states_in : parts_.elements).push_back(body_.inputs()[i]);
    for (size_t i = 0; i < body_.outputs().size(); ++i)
      (i < states_ ? parts_.states_out : parts_.collected).push_back(body_.outputs()[i]);
    for (size_t i = 0; i < inputs_.size(); ++i)
      (i < states_ ? flow_.wants_state : flow_.wants_element).push_back(s_.wants(int(i)));
    for (size_t i = 0; i < captures_.size(); ++i)
      flow_.wants_capture.push_back(s_.wants(int(inputs_.size() + i)));
    for (size_t i = 0; i < outputs_.size(); ++i)
      (i < states_ ? flow_.has_state : flow_.has_collected).push_back(s_.upstream(int(i)).valid());
  }

  // The forward Scan with the saved values as further stacked outputs.
  absl::Status SaveForward() {
    saved_ = ValuesToSave(parts_, gradient_);
    const size_t extra = saved_.states.size() + saved_.drawn.size();
    if (extra == 0) return absl::OkStatus();
    auto extended = std::make_unique<Graph>(body_);
    GraphSink sink(*extended, "saved/");
    for (const size_t k : saved_.states)
      GraphEdit(*extended).AddOutput(Identity(sink.Value(parts_.states_in[k])).id());
    for (const auto& [value, input] : saved_.drawn)
      GraphEdit(*extended).AddOutput(Identity(sink.Value(value)).id());
    ONWARD_RETURN_IF_ERROR(sink.status());
    std::vector<Lane> lanes = out_;
    lanes.resize(stacked_ + extra);
    Graph& graph = s_.sink().graph();
    SetLanes(GraphEdit(graph).node(s_.id()).attributes, "output", lanes);
    const std::string attribute = s_.node().subgraphs[0].attribute;
    std::vector<Subgraph> subgraphs;
    subgraphs.push_back({attribute, std::move(extended), captures_});
    ONWARD_ASSIGN_OR_RETURN(outputs_,
                            ReplaceNode(s_.sink(), s_.id(), std::move(subgraphs), {}, 0, 0, extra));
    return absl::OkStatus();
  }

  Expr Outer(ValueId id) { return s_.sink().Value(id); }

  // Declares the inputs in the order that Scan wants: states, then scanned ones.
  void WriteInputs() {
    GraphSink& outer = s_.sink();
    const std::vector<ValueId>& cotangents = gradient_.body.cotangents;
    map_.assign(static_cast<size_t>(gradient_.body.graph->num_values()), ValueId());
    for (size_t i = 0; i < flow_.carried.size(); ++i) {
      const size_t k = flow_.carried[i];
      const Expr& given = s_.upstream(int(k));
      initial_.push_back(given.valid() ? given.id() : ZeroCotangent(Outer(inputs_[k])).id());
      Map(cotangents[i], writer_.Input("d_state", body_.type(parts_.states_in[k])));
    }
    for (const size_t i : flow_.captures) {
      initial_.push_back(ZeroCotangent(Outer(captures_[i])).id());
      sums_.push_back(writer_.Input("sum", outer.TypeOf(captures_[i])));
    }
    ScanOver(cotangents);
  }

  void ScanOver(const std::vector<ValueId>& cotangents) {
    for (size_t i = 0; i < scanned_; ++i) {
      if (gradient_.body.Needs(parts_.elements[i]))
        Scan(Outer(inputs_[states_ + i]), Opposite(in_[i]), parts_.elements[i],
             Copy(parts_.elements[i]));
    }
    for (size_t i = 0; i < flow_.collected.size(); ++i) {
      const size_t o = flow_.collected[i];
      Scan(s_.upstream(int(states_ + o)), Opposite(out_[o]), parts_.collected[o],
           cotangents[flow_.carried.size() + i]);
    }
    for (size_t i = 0; i < saved_.states.size(); ++i) {
      const ValueId state = parts_.states_in[saved_.states[i]];
      Scan(Outer(outputs_[states_ + stacked_ + i]), {0, kReverse}, state, Copy(state));
    }
    for (size_t i = 0; i < saved_.drawn.size(); ++i) {
      Scan(Outer(outputs_[states_ + stacked_ + saved_.states.size() + i]), {0, kReverse},
           saved_.drawn[i].first, saved_.drawn[i].second);
    }
    // Something must say how many iterations there are.
    if (backward_in_.empty())
      Scan(Outer(inputs_[states_]), Opposite(in_[0]), parts_.elements[0], {});
  }

  ValueId Copy(ValueId body_value) const {
    return gradient_.body.copies[static_cast<size_t>(body_value.index)];
  }
  void Map(ValueId from, const Expr& to) { map_[static_cast<size_t>(from.index)] = to.id(); }

  // Scans `outer`; the element stands for `target` of the differentiated body.
  void Scan(const Expr& outer, Lane lane, ValueId body_value, ValueId target) {
    backward_scanned_.push_back(outer.id());
    backward_in_.push_back(lane);
    Type type = body_.type(body_value);
    if (!type.shape) type = ElementType(outer.type(), lane.axis);
    const Expr element = writer_.Input("element", type);
    if (target.valid()) Map(target, element);
  }

  absl::Status WriteBody() {
    for (size_t i = 0; i < captures_.size(); ++i) {
      if (gradient_.body.Needs(body_.captures()[i]))
        Map(Copy(body_.captures()[i]), writer_.Capture(captures_[i]));
    }
    GraphCopier copier(*gradient_.body.graph, writer_.graph(), map_);
    ONWARD_RETURN_IF_ERROR(copier.CopyNodes());
    GraphSink& sink = writer_.sink();
    for (size_t i = 0; i < flow_.carried.size(); ++i) {
      const ValueId gradient = gradient_.states[i];
      const Expr before = sink.Value(writer_.graph().inputs()[i]);
      writer_.Output(gradient.valid() ? sink.Value(copier.Of(gradient)) : ZeroCotangent(before));
    }
    for (size_t i = 0; i < sums_.size(); ++i)
      writer_.Output(AddCotangents(sums_[i], sink.Value(copier.Of(gradient_.captures[i]))));
    for (const ValueId gradient : gradient_.elements)
      writer_.Output(sink.Value(copier.Of(gradient)));
    return sink.status();
  }

  Result Finish() {
    Node node;
    node.op_type = "Scan";
    node.inputs = initial_;
    node.inputs.insert(node.inputs.end(), backward_scanned_.begin(), backward_scanned_.end());
    node.attributes.Set("num_scan_inputs", static_cast<int64_t>(backward_in_.size()));
    SetLanes(node.attributes, "input", backward_in_);
    std::vector<Lane> out;
    for (const size_t i : flow_.elements) out.push_back(Opposite(in_[i]));
    if (!out.empty()) SetLanes(node.attributes, "output", out);
    node.subgraphs.push_back(writer_.Take("body"));
    const std::vector<Expr> results = s_.sink().Add(std::move(node), initial_.size() + out.size());
    std::vector<Expr> gradients(inputs_.size() + captures_.size());
    size_t at = 0;
    for (const size_t k : flow_.carried) gradients[k] = results[at++];
    for (const size_t i : flow_.captures) gradients[inputs_.size() + i] = results[at++];
    for (const size_t i : flow_.elements) gradients[states_ + i] = results[at++];
    return gradients;
  }

  const GradientScope& s_;
  BodyWriter writer_;
  const Graph body_;
  size_t scanned_ = 0, states_ = 0, stacked_ = 0;
  std::vector<Lane> in_, out_, backward_in_;
  std::vector<ValueId> inputs_, outputs_, captures_;  // of the forward node
  LoopParts parts_;
  LoopFlow flow_;
  LoopGradient gradient_;
  SavedValues saved_;
  std::vector<ValueId> initial_;  // states of the backward Scan
  std::vector<ValueId> backward_scanned_;
  std::vector<Expr> sums_;    // of gradients of captures
  std::vector<ValueId> map_;  // of the differentiated body's values
};

}  // namespace

Result ScanRule(const GradientScope& scope) {
  GiveMasks(scope);
  return ScanGradient(scope).Run();
}

}  // namespace onward::gradient

// Loop. The forward loop also gives the states that the gradient needs: stacked where their shape
// stays the same, else as a sequence. The backward loop recomputes the iterations from the last to
// the first.
#include "absl/strings/str_cat.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/gradient/control_flow.h"
#include "training/gradient/cotangent.h"
#include "training/gradient/loop_body.h"
#include "training/gradient/loop_forward.h"
#include "training/gradient/loop_states.h"

namespace onward::gradient {
namespace {

using Result = absl::StatusOr<std::vector<Expr>>;

constexpr size_t kFirstState = 2;  // inputs of the node and of its body before the states

std::vector<Type> StateTypes(const GradientScope& s) {
  std::vector<Type> types;
  for (int i = kFirstState; i < s.num_inputs(); ++i) types.push_back(s.input(i).type());
  return types;
}

class LoopGradientWriter {
 public:
  explicit LoopGradientWriter(const GradientScope& s)
      : s_(s),
        writer_(s.sink().graph()),
        original_(*s.node().subgraphs[0].graph),
        typed_(FindStateTypes(original_, StateTypes(s), s.sink().NameOf(FirstOutput(s.node())))),
        body_(typed_.graph),
        inputs_(s.node().inputs),
        captures_(s.node().subgraphs[0].captures),
        outputs_(s.node().outputs),
        states_(inputs_.size() - kFirstState) {}

  Result Run() {
    Describe();
    ONWARD_RETURN_IF_ERROR(FindFlow(parts_, flow_));
    ONWARD_ASSIGN_OR_RETURN(gradient_, DifferentiateIteration(parts_, flow_, s_.options()));
    ONWARD_RETURN_IF_ERROR(ChooseSaved());
    ONWARD_ASSIGN_OR_RETURN(outputs_, ExtendForward(s_, original_, states_, saved_));
    iterations_ = outputs_.back();
    WriteInputs();
    ONWARD_RETURN_IF_ERROR(WriteBody());
    return Finish();
  }

 private:
  // A rule is called for a node of which something is read.
  static ValueId FirstOutput(const Node& node) {
    for (const ValueId output : node.outputs) {
      if (output.valid()) return output;
    }
    return {};
  }

  void Describe() {
    parts_.body = &body_;
    for (size_t k = 0; k < states_; ++k) {
      parts_.states_in.push_back(body_.inputs()[kFirstState + k]);
      parts_.states_out.push_back(body_.outputs()[1 + k]);
      flow_.wants_state.push_back(s_.wants(static_cast<int>(kFirstState + k)));
      flow_.has_state.push_back(s_.upstream(static_cast<int>(k)).valid());
    }
    for (size_t i = 1 + states_; i < body_.outputs().size(); ++i) {
      parts_.collected.push_back(body_.outputs()[i]);
      flow_.has_collected.push_back(s_.upstream(static_cast<int>(i - 1)).valid());
    }
    for (size_t i = 0; i < captures_.size(); ++i)
      flow_.wants_capture.push_back(s_.wants(static_cast<int>(inputs_.size() + i)));
  }

  ValueId Copy(ValueId body_value) const {
    return gradient_.body.copies[static_cast<size_t>(body_value.index)];
  }
  void Map(ValueId from, const Expr& to) { map_[static_cast<size_t>(from.index)] = to.id(); }

  absl::Status ChooseSaved() {
    const SavedValues values = ValuesToSave(parts_, gradient_);
    std::vector<bool> needed(states_, false);
    for (const size_t k : values.states) needed[k] = true;
    // Zeros of a state's shape, where the body does not use the state.
    for (size_t i = 0; i < flow_.carried.size(); ++i) {
      if (!gradient_.states[i].valid() && !typed_.invariant[flow_.carried[i]])
        needed[flow_.carried[i]] = true;
    }
    for (size_t k = 0; k < states_; ++k) {
      if (!needed[k]) continue;
      const ValueId state = parts_.states_in[k];
      const From from = !body_.type(state).is_tensor() ? From::kPrefix
                        : typed_.invariant[k]          ? From::kStack
                                                       : From::kSequence;
      if (from == From::kPrefix && HoldsRandom(original_)) {
        return absl::UnimplementedError(
            absl::StrCat("its gradient needs the state '", body_.value(state).name,
                         "' of each iteration, and iterations that draw cannot be run again"));
      }
      saved_.push_back({state, Copy(state), from, k, {}});
    }
    for (const auto& [value, target] : values.drawn) saved_.push_back({value, target});
    return absl::OkStatus();
  }

  // The iteration from the end, the condition, then gradients of states and of captures.
  void WriteInputs() {
    GraphSink& outer = s_.sink();
    trips_ = Size(outer.Value(iterations_));
    map_.assign(static_cast<size_t>(gradient_.body.graph->num_values()), ValueId());
    const Expr back = writer_.Input("iteration", Type::Tensor(DType::kInt64, SymbolicDims()));
    go_on_ = writer_.Input("condition", Type::Tensor(DType::kBool, SymbolicDims()));
    iteration_ = writer_.Capture(trips_.id()) - 1.0 - back;
    for (size_t i = 0; i < flow_.carried.size(); ++i) {
      const size_t k = flow_.carried[i];
      const Expr& given = s_.upstream(static_cast<int>(k));
      initial_.push_back(given.valid() ? given : ZeroCotangent(outer.Value(outputs_[k])));
      const Expr input = writer_.Input("d_state", CotangentType(StateType(k)));
      incoming_.push_back(input);
      Map(gradient_.body.cotangents[i], input);
    }
    for (const size_t i : flow_.captures) {
      initial_.push_back(ZeroCotangent(outer.Value(captures_[i])));
      sums_.push_back(writer_.Input("sum", outer.TypeOf(captures_[i])));
    }
  }

  Type StateType(size_t k) const {
    Type type = body_.type(parts_.states_in[k]);
    if (type.is_tensor() && !typed_.invariant[k]) type.shape.reset();
    return type;
  }

  // The value in the iteration at hand.
  Expr Load(const Saved& saved) {
    if (saved.from == From::kPrefix) return PrefixState(saved.state);
    const Expr all = writer_.Capture(saved.outer);
    if (saved.from == From::kSequence) return expr::Op("SequenceAt", {all, iteration_});
    const Expr one = Gather(all, iteration_);
    Refine(writer_.graph(), one.id(), body_.type(saved.value));
    return one;
  }

  // State k as the iterations before give it.
  Expr PrefixState(size_t k) {
    if (prefix_.empty()) {
      Node node;
      node.op_type = "Loop";
      node.inputs = {iteration_.id(), ValueId()};
      for (size_t i = kFirstState; i < inputs_.size(); ++i)
        node.inputs.push_back(writer_.Capture(inputs_[i]).id());
      std::vector<ValueId> captures;
      for (const ValueId capture : captures_) captures.push_back(writer_.Capture(capture).id());
      node.subgraphs.push_back({"body", std::make_unique<Graph>(original_), std::move(captures)});
      prefix_ = writer_.sink().Add(std::move(node), original_.outputs().size() - 1);
    }
    return prefix_[k];
  }

  // Maps the values that the differentiated body reads from outside.
  void MapReads() {
    const auto map_if_needed = [&](ValueId body_value, auto&& make) {
      if (gradient_.body.Needs(body_value)) Map(Copy(body_value), make());
    };
    map_if_needed(body_.inputs()[0], [&] { return iteration_; });
    map_if_needed(body_.inputs()[1], [&] { return writer_.sink().Scalar(1, DType::kBool); });
    for (size_t i = 0; i < captures_.size(); ++i)
      map_if_needed(body_.captures()[i], [&] { return writer_.Capture(captures_[i]); });
    for (const Saved& saved : saved_) {
      Map(saved.target, Load(saved));
    }
    for (size_t i = 0; i < flow_.collected.size(); ++i) {
      const size_t o = flow_.collected[i];
      const Expr all = writer_.Capture(s_.upstream(static_cast<int>(states_ + o)).id());
      const Expr one = Gather(all, iteration_);
      Refine(writer_.graph(), one.id(), body_.type(parts_.collected[o]));
      Map(gradient_.body.cotangents[flow_.carried.size() + i], one);
    }
  }

  absl::Status WriteBody() {
    MapReads();
    GraphSink& sink = writer_.sink();
    ONWARD_RETURN_IF_ERROR(sink.status());
    GraphCopier copier(*gradient_.body.graph, writer_.graph(), map_);
    ONWARD_RETURN_IF_ERROR(copier.CopyNodes());
    writer_.Output(go_on_);
    for (size_t i = 0; i < flow_.carried.size(); ++i) {
      const size_t k = flow_.carried[i];
      if (gradient_.states[i].valid()) {
        writer_.Output(sink.Value(copier.Of(gradient_.states[i])));
      } else if (typed_.invariant[k]) {
        writer_.Output(ZeroCotangent(incoming_[i]));
      } else {
        writer_.Output(ZeroCotangent(sink.Value(copier.Of(Copy(parts_.states_in[k])))));
      }
    }
    for (size_t i = 0; i < sums_.size(); ++i)
      writer_.Output(AddCotangents(sums_[i], sink.Value(copier.Of(gradient_.captures[i]))));
    return sink.status();
  }

  Result Finish() {
    Node node;
    node.op_type = "Loop";
    node.inputs = {trips_.id(), ValueId()};
    for (const Expr& initial : initial_) node.inputs.push_back(initial.id());
    node.subgraphs.push_back(writer_.Take("body"));
    Graph& graph = s_.sink().graph();
    const std::vector<Expr> results = s_.sink().Add(std::move(node), initial_.size());
    ONWARD_RETURN_IF_ERROR(s_.sink().status());
    std::vector<Expr> gradients(inputs_.size() + captures_.size());
    size_t at = 0;
    for (const size_t k : flow_.carried) {
      Refine(graph, results[at].id(), graph.type(inputs_[kFirstState + k]));
      gradients[kFirstState + k] = results[at++];
    }
    for (const size_t i : flow_.captures) {
      Refine(graph, results[at].id(), graph.type(captures_[i]));
      gradients[inputs_.size() + i] = results[at++];
    }
    return gradients;
  }

  const GradientScope& s_;
  BodyWriter writer_;
  const Graph original_;
  const TypedBody typed_;
  const Graph& body_;
  const std::vector<ValueId> inputs_, captures_;  // of the forward node
  std::vector<ValueId> outputs_;
  const size_t states_;
  LoopParts parts_;
  LoopFlow flow_;
  LoopGradient gradient_;
  std::vector<Saved> saved_;
  std::vector<Expr> prefix_;  // results of the iterations before the one at hand
  ValueId iterations_;        // of the forward loop, stacked: as many as it made
  Expr trips_, iteration_, go_on_;
  std::vector<Expr> initial_;   // states of the backward loop
  std::vector<Expr> incoming_;  // gradients of states, in the body
  std::vector<Expr> sums_;      // of gradients of captures
  std::vector<ValueId> map_;    // of the differentiated body's values
};

}  // namespace

Result LoopRule(const GradientScope& scope) {
  GiveMasks(scope);
  return LoopGradientWriter(scope).Run();
}

}  // namespace onward::gradient

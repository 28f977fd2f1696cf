#include "training/gradient/parts.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/status.h"
#include "training/gradient/body.h"

namespace onward::gradient {

using namespace expr;  // NOLINT: formulas

Expr Masked(const Expr& condition, const Expr& yes) {
  return Where(condition, yes, ScalarLike(yes, 0));
}

ZeroFactors::ZeroFactors(const Expr& factors)
    : x(factors),
      at_zero(Equal(x, ScalarLike(x, 0))),
      nonzero(Where(at_zero, ScalarLike(x, 1), x)),
      zeros(Masked(at_zero, x)),
      count(Cast(at_zero, x.dtype())) {}

// With two zeros, each is the other's factor; with more nothing is left, nor is of the gradient.
Expr ZeroFactors::Others(const Expr& number, const Expr& sum, const Expr& product) const {
  const auto with = [&](int zero_factors, const Expr& value) {
    return Masked(Equal(number, ScalarLike(number, zero_factors)), value);
  };
  const Expr at = with(1, product) + with(2, (sum - zeros) * product);
  return Where(at_zero, at, (with(0, product) + with(1, sum * product)) / nonzero);
}

std::vector<Expr> NoGradients(const GradientScope& s) {
  return std::vector<Expr>(static_cast<size_t>(s.num_inputs()));
}

Expr Widened(const Expr& x) {
  const bool narrow = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  return narrow ? Cast(x, DType::kFloat32) : x;
}
Expr Like(const Expr& x, const Expr& like) {
  return x.dtype() == like.dtype() ? x : Cast(x, like.dtype());
}
Expr OverMeanCount(const Expr& dy, const Expr& x, const Expr& y) {
  const Expr wide = Widened(dy);
  const std::optional<Dims> from = x.type().static_dims(), to = y.type().static_dims();
  if (from && to && NumElements(*to) > 0) {
    const auto count = static_cast<double>(NumElements(*from) / NumElements(*to));
    return Like(wide / count, dy);
  }
  return Like(wide / Cast(Size(x) / Size(y), wide.dtype()), dy);
}

absl::StatusOr<int64_t> RankOf(const Expr& x, int64_t least) {
  if (x.type().shape) {
    const auto rank = static_cast<int64_t>(x.type().shape->size());
    if (rank >= least) return rank;
    return absl::InvalidArgumentError(absl::StrCat(x.sink()->NameOf(x.id()), " is ",
                                                   x.type().ToString(), ", a tensor of at least ",
                                                   least, " dims is needed"));
  }
  return absl::UnimplementedError(absl::StrCat("the gradient needs the rank of ",
                                               x.sink()->NameOf(x.id()), ", which is ",
                                               x.type().ToString()));
}

namespace {

const Tensor* ConstantOf(const GradientScope& s, int input) {
  if (!s.has_input(input)) return nullptr;
  const std::optional<Tensor>& constant = s.sink().graph().value(s.input(input).id()).constant;
  return constant ? &*constant : nullptr;
}

}  // namespace

std::optional<std::vector<int64_t>> ConstantInts(const GradientScope& s, int input) {
  const Tensor* data = ConstantOf(s, input);
  if (data == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < data->num_elements(); ++i) {
    if (data->dtype() == DType::kInt64) {
      values.push_back(data->data<int64_t>()[i]);
    } else if (data->dtype() == DType::kInt32) {
      values.push_back(data->data<int32_t>()[i]);
    } else {
      return std::nullopt;
    }
  }
  return values;
}

std::optional<double> ConstantScalar(const GradientScope& s, int input) {
  const Tensor* data = ConstantOf(s, input);
  if (data == nullptr || data->num_elements() != 1) return std::nullopt;
  std::optional<double> value;
  DispatchDType(NumericTypes(), data->dtype(), [&](auto tag) {
    value = static_cast<double>(*data->data<typename decltype(tag)::type>());
  });
  return value;
}

Expr Iota(const Expr& count) {
  const Expr zero = count.sink()->Scalar(0, DType::kInt64);
  return Op("Range", {zero, ScalarOf(count), count.sink()->Scalar(1, DType::kInt64)});
}
Expr DimOf(const Expr& x, int64_t axis) {
  return axis == -1 ? Op("Shape", {x}, {{"start", int64_t{-1}}}) : Shape(x, axis, axis + 1);
}
Expr ScalarOf(const Expr& one) {
  if (one.type().shape && one.type().shape->empty()) return one;
  return Reshape(one, std::vector<int64_t>{});
}
Expr IntsLike(const Expr& like, const std::vector<int64_t>& values) {
  return like.sink() == nullptr ? Expr() : like.sink()->Ints(values);
}

std::vector<int64_t> AxesUpTo(int64_t n) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < n; ++axis) axes.push_back(axis);
  return axes;
}

Expr SwapLastAxes(const Expr& x) {
  if (!x.valid()) return x;
  if (!x.type().shape) return Op("Einsum", {x}, {{"equation", std::string("...ij->...ji")}});
  if (const auto rank = RankOf(x, 2); !rank.ok()) {
    x.sink()->Fail(rank.status());
    return x;
  }
  std::vector<int64_t> perm = AxesUpTo(static_cast<int64_t>(x.type().shape->size()));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return Transpose(x, perm);
}

Expr ScatterFlat(const Expr& x, const Expr& indices, const Expr& dy) {
  const Expr zeros = Expand(ScalarLike(x, 0), Reshape(Size(x), {1}));
  const Expr sums = Op("ScatterElements", {zeros, Reshape(indices, {-1}), Reshape(dy, {-1})},
                       {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return Reshape(sums, Shape(x), true);
}

Expr FlatPositions(const Expr& x) { return Reshape(Iota(Size(x)), Shape(x), true); }

namespace {

// A graph beside the node's: values of the node's graph become inputs.
class CompositionSink : public GraphSink {
 public:
  CompositionSink(Graph& graph, const std::string& prefix, GraphSink& outer)
      : GraphSink(graph, prefix, &outer), outer_(outer.graph()) {}

  ValueId Input(ValueId outer) {
    const ValueData& value = outer_.value(outer);
    const ValueId input = GraphEdit(graph()).AddInput(graph().UniqueName(value.name), value.type);
    inputs_.emplace_back(outer, input);
    return input;
  }
  // Pairs of a value of the node's graph and what stands for it.
  const std::vector<std::pair<ValueId, ValueId>>& inputs() const { return inputs_; }

  // A constant, or an input: one for each value.
  ValueId Capture(ValueId outer) override {
    for (const auto& [known, input] : captured_) {
      if (known == outer) return input;
    }
    if (outer_.is_constant(outer) && !outer_.is_input(outer)) {
      const ValueData& value = outer_.value(outer);
      const ValueId constant =
          GraphEdit(graph()).AddConstant(graph().UniqueName(value.name), *value.constant);
      inputs_.emplace_back(outer, constant);
      captured_.emplace_back(outer, constant);
      return constant;
    }
    captured_.emplace_back(outer, Input(outer));
    return captured_.back().second;
  }

 private:
  const Graph& outer_;
  std::vector<std::pair<ValueId, ValueId>> inputs_, captured_;
};

}  // namespace

Gradients GradientsOf(const GradientScope& s, const Composition& composition) {
  // In a graph of its own: the work is that of the composition, not of the whole graph.
  Graph body;
  std::string prefix = s.sink().prefix();
  for (const ValueId output : s.node().outputs) {
    if (!output.valid()) continue;
    absl::StrAppend(&prefix, s.sink().NameOf(output), "/");
    break;
  }
  CompositionSink sink(body, prefix, s.sink());
  std::vector<Expr> inputs = NoGradients(s);
  std::vector<size_t> wanted;
  std::vector<ValueId> wrt;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Expr given = s.input(static_cast<int>(i));
    if (!given.valid()) continue;
    const bool wants = s.wants(static_cast<int>(i));
    inputs[i] = sink.Value(wants ? sink.Input(given.id()) : sink.Capture(given.id()));
    if (!wants) continue;
    wanted.push_back(i);
    wrt.push_back(inputs[i].id());
  }
  const std::vector<Expr> outputs = composition(inputs);
  ONWARD_RETURN_IF_ERROR(sink.status());
  std::vector<ValueId> targets;
  std::vector<Expr> upstream;
  for (size_t i = 0; i < outputs.size() && i < s.node().outputs.size(); ++i) {
    const Expr& dy = s.upstream(static_cast<int>(i));
    // An output of another sink depends on nothing that is wanted.
    if (!dy.valid() || !outputs[i].valid() || outputs[i].sink() != &sink) continue;
    targets.push_back(outputs[i].id());
    upstream.push_back(dy);
  }
  ONWARD_ASSIGN_OR_RETURN(const BodyGradient gradient,
                          DifferentiateBody(body, targets, wrt, s.options(), prefix));
  std::vector<ValueId> map(static_cast<size_t>(gradient.graph->num_values()));
  for (const auto& [outer, input] : sink.inputs()) {
    const ValueId copy = gradient.copies[static_cast<size_t>(input.index)];
    if (copy.valid()) map[static_cast<size_t>(copy.index)] = outer;
  }
  for (size_t i = 0; i < upstream.size(); ++i)
    map[static_cast<size_t>(gradient.cotangents[i].index)] = upstream[i].id();
  GraphCopier copier(*gradient.graph, s.sink().graph(), std::move(map));
  ONWARD_RETURN_IF_ERROR(copier.CopyNodes());
  std::vector<Expr> gradients = NoGradients(s);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (gradient.gradients[i].valid())
      gradients[wanted[i]] = s.sink().Value(copier.Of(gradient.gradients[i]));
  }
  return gradients;
}

}  // namespace onward::gradient

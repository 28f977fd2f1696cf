#include "training/gradient/gradient.h"

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"

namespace onward {
namespace {

using expr::ReduceSum;

bool IsDifferentiable(const Type& type) {
  return type.is_tensor() && (type.dtype == DType::kFloat32 || type.dtype == DType::kFloat64 ||
                              type.dtype == DType::kFloat16 || type.dtype == DType::kBFloat16);
}

// Sums a gradient over the axes along which `to` was broadcast.
Expr SumTo(const Expr& gradient, const Expr& to) {
  const auto& from_shape = gradient.type().shape;
  const auto& to_shape = to.type().shape;
  if (!from_shape || !to_shape || *from_shape == *to_shape) return gradient;
  const size_t offset = from_shape->size() - to_shape->size();
  std::vector<int64_t> leading, kept;
  for (size_t i = 0; i < offset; ++i) leading.push_back(static_cast<int64_t>(i));
  for (size_t i = 0; i < to_shape->size(); ++i) {
    const bool broadcast = (*to_shape)[i] == Dim(1) && !((*from_shape)[offset + i] == Dim(1));
    if (broadcast) kept.push_back(static_cast<int64_t>(i));
  }
  Expr sum = leading.empty() ? gradient : ReduceSum(gradient, leading, false);
  return kept.empty() ? sum : ReduceSum(sum, kept, true);
}

class Driver {
 public:
  Driver(Graph& graph, GraphSink& sink) : graph_(graph), sink_(sink) {}

  absl::StatusOr<std::vector<ValueId>> Run(ValueId loss, absl::Span<const ValueId> wrt) {
    const std::optional<Dims> dims = graph_.type(loss).static_dims();
    if (!IsDifferentiable(graph_.type(loss)) || !dims || NumElements(*dims) != 1) {
      return absl::InvalidArgumentError(absl::StrCat("the loss '", graph_.value(loss).name, "' is ",
                                                     graph_.type(loss).ToString(),
                                                     "; it must be one float"));
    }
    for (ValueId id : wrt) {
      if (IsDifferentiable(graph_.type(id))) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "'", graph_.value(id).name, "' is ", graph_.type(id).ToString(), " and has no gradient"));
    }
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
    MarkActive(order, wrt);
    Tensor one(graph_.type(loss).dtype, *dims);
    DispatchDType(FloatTypes(), one.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      one.mutable_data<T>()[0] = T(1.0f);
    });
    gradients_[loss.index] = sink_.Constant(std::move(one), "grad/one");
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      ONWARD_RETURN_IF_ERROR(Annotate(Differentiate(*it), graph_.Describe(*it)));
    }
    return Collect(wrt);
  }

 private:
  // A value is active when it depends on something in `wrt`.
  void MarkActive(const std::vector<NodeId>& order, absl::Span<const ValueId> wrt) {
    active_.assign(static_cast<size_t>(graph_.num_values()), false);
    for (ValueId id : wrt) active_[static_cast<size_t>(id.index)] = true;
    for (NodeId id : order) {
      bool any = false;
      for (ValueId input : graph_.node(id).inputs)
        any |= input.valid() && active_[static_cast<size_t>(input.index)];
      for (ValueId output : graph_.node(id).outputs) {
        if (output.valid() && any && IsDifferentiable(graph_.type(output)))
          active_[static_cast<size_t>(output.index)] = true;
      }
    }
  }

  absl::Status Differentiate(NodeId id) {
    const std::vector<ValueId> results = graph_.node(id).outputs;
    std::vector<Expr> upstream;
    bool any = false;
    for (ValueId output : results) {
      const auto it = output.valid() ? gradients_.find(output.index) : gradients_.end();
      upstream.push_back(it == gradients_.end() ? Expr() : it->second);
      any |= upstream.back().valid();
    }
    bool wanted = false;
    for (ValueId input : graph_.node(id).inputs)
      wanted |= input.valid() && active_[static_cast<size_t>(input.index)];
    if (!any || !wanted) return absl::OkStatus();
    const std::optional<GradientRule> rule =
        FindGradient(graph_.node(id).domain, graph_.node(id).op_type);
    if (!rule)
      return absl::UnimplementedError("has no gradient rule and lies on a path to the loss");
    if (*rule == nullptr) return absl::OkStatus();
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Expr> gradients,
                            (*rule)(GradientScope(sink_, id, upstream)));
    ONWARD_RETURN_IF_ERROR(sink_.status());
    for (size_t i = 0; i < gradients.size(); ++i)
      Accumulate(graph_.node(id).inputs[i], gradients[i]);
    return sink_.status();
  }

  void Accumulate(ValueId input, const Expr& gradient) {
    if (!gradient.valid() || !input.valid() || !active_[static_cast<size_t>(input.index)]) return;
    const Expr fitted = SumTo(gradient, sink_.Value(input));
    const auto [it, inserted] = gradients_.try_emplace(input.index, fitted);
    if (!inserted) it->second = it->second + fitted;
  }

  absl::StatusOr<std::vector<ValueId>> Collect(absl::Span<const ValueId> wrt) {
    std::vector<ValueId> results;
    for (ValueId id : wrt) {
      const auto it = gradients_.find(id.index);
      const Expr value = sink_.Value(id);
      const Expr gradient = it != gradients_.end() ? it->second : ZerosLike(value);
      results.push_back(gradient.id());
    }
    ONWARD_RETURN_IF_ERROR(sink_.status());
    return results;
  }

  Graph& graph_;
  GraphSink& sink_;
  std::vector<bool> active_;
  std::unordered_map<int32_t, Expr> gradients_;
};

}  // namespace

absl::StatusOr<std::vector<ValueId>> AddGradients(Graph& graph, ValueId loss,
                                                  absl::Span<const ValueId> wrt) {
  GraphSink sink(graph, "grad/");
  return Driver(graph, sink).Run(loss, wrt);
}

}  // namespace onward

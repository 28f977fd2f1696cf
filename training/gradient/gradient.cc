#include "onward/gradient.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/gradient/cotangent.h"
#include "training/gradient/driver.h"
#include "training/gradient/path.h"
#include "training/source/stop_gradients.h"

namespace onward {
namespace {

std::string Quoted(const Graph& graph, ValueId id) {
  return absl::StrCat("'", graph.value(id).name, "'");
}

// New names begin with what none does yet: gradients of gradients nest.
std::string FreePrefix(const Graph& graph) {
  for (int order = 1;; ++order) {
    const std::string prefix = order == 1 ? "backward/" : absl::StrCat("backward_", order, "/");
    bool free = true;
    for (int i = 0; i < graph.num_values() && free; ++i) {
      free = graph.value({i}).name.rfind(prefix, 0) != 0;
    }
    if (free) return prefix;
  }
}

Tensor Ones(DType dtype, DimsView dims) {
  Tensor ones(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < ones.num_elements(); ++i) ones.mutable_data<T>()[i] = T(1.0f);
  });
  return ones;
}

// The target's cotangent: the given one, or one.
absl::StatusOr<ValueId> CotangentOf(GraphSink& sink, const GradientTarget& target) {
  const Graph& graph = sink.graph();
  const Type& type = graph.type(target.value);
  if (!gradient::IsDifferentiable(type) || !type.is_tensor()) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(graph, target.value), " is ",
                                                   type.ToString(),
                                                   " and cannot be differentiated; it must be a "
                                                   "float"));
  }
  if (!target.cotangent.valid()) {
    const std::optional<Dims> dims = type.static_dims();
    if (dims && NumElements(*dims) == 1) return sink.Constant(Ones(type.dtype, *dims), "one").id();
    return absl::InvalidArgumentError(absl::StrCat("the loss ", Quoted(graph, target.value), " is ",
                                                   type.ToString(), "; it must be one float"));
  }
  if (!graph.type(target.cotangent).CompatibleWith(type)) {
    return absl::InvalidArgumentError(absl::StrCat("the gradient ", Quoted(graph, target.cotangent),
                                                   " that flows into ", Quoted(graph, target.value),
                                                   " is ", graph.type(target.cotangent).ToString(),
                                                   "; it must be ", type.ToString()));
  }
  return target.cotangent;
}

absl::Status CheckSources(const Graph& graph, absl::Span<const ValueId> wrt) {
  for (const ValueId id : wrt) {
    if (graph.type(id).is_tensor() && gradient::IsDifferentiable(graph.type(id))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(graph, id), " is ", graph.type(id).ToString(), " and has no gradient"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ValueId>> AddGradients(Graph& graph,
                                                  absl::Span<const GradientTarget> targets,
                                                  absl::Span<const ValueId> wrt,
                                                  const GradientOptions& options) {
  training::StopDetached(graph);
  GraphSink sink(graph, FreePrefix(graph));
  ONWARD_RETURN_IF_ERROR(CheckSources(graph, wrt));
  std::vector<GradientTarget> given;
  for (const GradientTarget& target : targets) {
    ONWARD_ASSIGN_OR_RETURN(const ValueId cotangent, CotangentOf(sink, target));
    given.push_back({target.value, cotangent});
  }
  ONWARD_ASSIGN_OR_RETURN(std::vector<Expr> gradients,
                          gradient::Differentiate(sink, given, wrt, options));
  std::vector<ValueId> results;
  for (size_t i = 0; i < wrt.size(); ++i) {
    if (!gradients[i].valid()) gradients[i] = gradient::ZeroCotangent(sink.Value(wrt[i]));
    results.push_back(gradients[i].id());
  }
  ONWARD_RETURN_IF_ERROR(sink.status());
  return results;
}

absl::StatusOr<std::vector<ValueId>> AddGradients(Graph& graph, ValueId loss,
                                                  absl::Span<const ValueId> wrt,
                                                  const GradientOptions& options) {
  const GradientTarget target{loss, {}};
  return AddGradients(graph, absl::MakeConstSpan(&target, 1), wrt, options);
}

}  // namespace onward

#include "onward/nn/weight_norm.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/functions.h"

namespace onward::nn {
namespace {

// The lengths of `v` for each index of the axis, as [1, ..., n, ..., 1].
Tensor LengthsOf(const Tensor& v, int64_t axis) {
  const DimsView dims = v.dims();
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) inner *= dims[i];
  const int64_t count = dims[static_cast<size_t>(axis)];
  std::vector<double> squares(static_cast<size_t>(count), 0.0);
  DispatchDType(FloatTypes(), v.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* elements = v.view().as<const T>();
    for (int64_t i = 0; i < v.num_elements(); ++i) {
      const auto element = static_cast<double>(elements[i]);
      squares[static_cast<size_t>(i / inner % count)] += element * element;
    }
  });
  Dims shape(dims.size(), 1);
  shape[static_cast<size_t>(axis)] = count;
  const Init lengths = {"", [&](DimsView, std::mt19937_64&) {
                          for (double& square : squares) square = std::sqrt(square);
                          return squares;
                        }};
  return Draw(lengths, v.dtype(), shape, 0, "");
}

}  // namespace

void WeightNorm(Module& module, Expr& weight, int64_t axis) {
  if (!weight.valid()) return;
  Graph& graph = module.sink().graph();
  const ValueId id = weight.id();
  const std::string name = graph.value(id).name;
  const std::string prefix = module.path().empty() ? "" : module.path() + ".";
  const Tensor* start = graph.constant(id);
  if (!module.Require(start != nullptr && name.starts_with(prefix) && graph.users(id).empty(),
                      absl::StrCat("'", name, "' is not an unused parameter of it")))
    return;
  const auto rank = static_cast<int64_t>(start->dims().size());
  if (!module.Require(axis >= 0 && axis < rank, absl::StrCat("axis ", axis, " of '", name,
                                                             "' is out of range for rank ", rank)))
    return;
  const std::string local = absl::StrCat("parametrizations.", name.substr(prefix.size()));
  const Expr g = module.AddTensor(local + ".original0", LengthsOf(*start, axis));
  if (!g.valid()) return;
  GraphEdit(graph).metadata(g.id())[kInitKey] = "lengths";
  GraphEdit(graph).Rename(id, absl::StrCat(prefix, local, ".original1"));
  const Module::Scope scope(module);
  std::vector<int64_t> others;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) others.push_back(i);
  const Expr length = others.empty() ? Abs(weight) : Sqrt(ReduceSum(weight * weight, others));
  weight = weight * (g / length);
}

}  // namespace onward::nn

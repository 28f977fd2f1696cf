#include "onward/nn/spectral_norm.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/functions.h"

namespace onward::nn {
namespace {

using Vector = std::vector<double>;

void Normalize(Vector& x, double eps) {
  double squares = 0;
  for (const double each : x) squares += each * each;
  const double length = std::max(std::sqrt(squares), eps);
  for (double& each : x) each /= length;
}

// The elements as a matrix [rows, columns] whose rows are the indices of `axis`.
Vector MatrixOf(const Tensor& weight, int64_t axis) {
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < weight.dims().size(); ++i)
    inner *= weight.dims()[i];
  const int64_t rows = weight.dims()[static_cast<size_t>(axis)];
  const int64_t columns = weight.num_elements() / rows;
  Vector matrix(static_cast<size_t>(weight.num_elements()));
  DispatchDType(FloatTypes(), weight.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* elements = weight.view().as<const T>();
    for (int64_t i = 0; i < weight.num_elements(); ++i) {
      const int64_t outer = i / (inner * rows), row = i / inner % rows;
      const int64_t column = outer * inner + i % inner;
      matrix[static_cast<size_t>(row * columns + column)] = static_cast<double>(elements[i]);
    }
  });
  return matrix;
}

struct Vectors {
  Vector u, v;
};

// Close to the singular vectors of the largest singular value, from random ones on.
Vectors SingularVectors(const Vector& matrix, size_t rows, double eps, std::mt19937_64& random) {
  constexpr int kIterations = 15;
  std::normal_distribution<double> draw;
  Vectors made{Vector(rows), Vector(matrix.size() / rows)};
  const size_t columns = made.v.size();
  for (double& each : made.v) each = draw(random);
  Normalize(made.v, eps);
  for (int k = 0; k < kIterations; ++k) {
    std::fill(made.u.begin(), made.u.end(), 0.0);
    for (size_t i = 0; i < matrix.size(); ++i)
      made.u[i / columns] += matrix[i] * made.v[i % columns];
    Normalize(made.u, eps);
    std::fill(made.v.begin(), made.v.end(), 0.0);
    for (size_t i = 0; i < matrix.size(); ++i)
      made.v[i % columns] += matrix[i] * made.u[i / columns];
    Normalize(made.v, eps);
  }
  return made;
}

}  // namespace

void SpectralNorm(Module& module, Expr& weight, const SpectralNormOptions& options) {
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
  if (!module.Require(
          rank >= 2 && options.axis >= 0 && options.axis < rank && options.power_iterations >= 1,
          "a spectral norm needs a weight of rank 2 or more, one of its axes and at least one "
          "power iteration"))
    return;
  const std::string local = absl::StrCat("parametrizations.", name.substr(prefix.size()));
  const int64_t rows = start->dims()[static_cast<size_t>(options.axis)];
  const DType dtype = start->dtype();  // the buffers that are added move the constants
  std::mt19937_64 random(static_cast<uint64_t>(start->num_elements()) * 2654435761u);
  const Vectors vectors = SingularVectors(MatrixOf(*start, options.axis), static_cast<size_t>(rows),
                                          options.eps, random);
  const auto buffer = [&](const char* last, const Vector& values) {
    const Init init = {"", [&](DimsView, std::mt19937_64&) { return values; }};
    return module.AddBuffer(absl::StrCat(local, ".0.", last),
                            Draw(init, dtype, {static_cast<int64_t>(values.size())}, 0, ""));
  };
  const Expr u = buffer("_u", vectors.u), v = buffer("_v", vectors.v);
  if (!u.valid() || !v.valid()) return;
  GraphEdit(graph).Rename(id, absl::StrCat(prefix, local, ".original"));
  const Module::Scope scope(module);
  std::vector<int64_t> order = {options.axis};
  for (int64_t i = 0; i < rank; ++i)
    if (i != options.axis) order.push_back(i);
  const Expr turned = options.axis == 0 ? weight : Transpose(weight, order);
  const Expr matrix = rank == 2 ? turned : Reshape(turned, {rows, -1});
  const Expr product = MatMul(u, matrix);
  if (!product.valid()) return;
  GraphEdit(graph).node(graph.value(product.id()).producer).metadata[kSpectralNormKey] =
      absl::StrCat(options.power_iterations, " ", options.eps);
  weight = weight / MatMul(product, v);
}

}  // namespace onward::nn

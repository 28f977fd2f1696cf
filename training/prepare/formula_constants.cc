#include "training/prepare/formula_constants.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "graph/rewrite/match.h"
#include "onward/dtype.h"
#include "training/source/generated_name.h"

namespace onward::training {
namespace {

// Returns whether `test(all elements as they are, their number)` holds.
template <typename Test>
bool Holds(const Tensor& tensor, const Test& test) {
  bool result = false;
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto elements = tensor.span<T>();
    result = test([&](int64_t i) { return static_cast<double>(elements[static_cast<size_t>(i)]); },
                  tensor.num_elements());
  });
  return result;
}

double Tolerance(const Tensor& tensor) {
  return tensor.dtype() == DType::kFloat32 || tensor.dtype() == DType::kFloat64 ? 1e-4 : 2e-2;
}

bool AllAre(const Tensor& tensor, double value) {
  return Holds(tensor, [&](const auto& at, int64_t size) {
    for (int64_t i = 0; i < size; ++i)
      if (at(i) != value) return false;
    return true;
  });
}

bool IsMask(const Tensor& tensor) {
  return Holds(tensor, [](const auto& at, int64_t size) {
    bool beyond = false, below = false, others = false;
    for (int64_t i = 0; i < size; ++i) {
      beyond = beyond || std::abs(at(i)) > 1e30;
      below = below || at(i) < -1000;
      others = others || !(at(i) < -1000 || at(i) == 0);
    }
    return beyond || (below && !others);
  });
}

bool IsPositions(const Tensor& tensor) {
  if (tensor.rank() < 3 || tensor.dims().back() < 3) return false;
  if (tensor.num_elements() == tensor.dims().back()) return false;
  const int64_t row = tensor.dims().back();
  const double tolerance = Tolerance(tensor);
  return Holds(tensor, [&](const auto& at, int64_t size) {
    for (int64_t start = 0; start < size; start += row) {
      const double step = at(start + 1) - at(start);
      const double most = tolerance * std::max(std::abs(at(start)), std::abs(at(start + row - 1)));
      if (step == 0) return false;
      for (int64_t i = start + 1; i < start + row; ++i)
        if (!(std::abs(at(i) - at(i - 1) - step) <= most)) return false;
    }
    return true;
  });
}

// 1, r, r^2, ... for an r below 1.
bool IsFrequencies(const Tensor& tensor) {
  if (tensor.rank() != 1 || tensor.num_elements() < 3) return false;
  const double tolerance = Tolerance(tensor);
  return Holds(tensor, [&](const auto& at, int64_t size) {
    const double ratio = at(1);
    if (at(0) != 1 || !(ratio > 0 && ratio < 1)) return false;
    for (int64_t i = 2; i < size; ++i)
      if (!(std::abs(at(i) - at(i - 1) * ratio) <= tolerance * at(i - 1) * ratio)) return false;
    return true;
  });
}

// Returns whether the squares of elements that are `apart` from each other add up to 1, in rows
// along the last axis that have pairs in blocks of 2 * apart.
bool IsSinusoidal(const Tensor& tensor, int64_t apart) {
  if (tensor.num_elements() < 16) return false;
  const double tolerance = Tolerance(tensor);
  return Holds(tensor, [&](const auto& at, int64_t size) {
    for (int64_t block = 0; block < size; block += 2 * apart) {
      for (int64_t i = block; i < block + apart; ++i) {
        const double a = at(i), b = at(i + apart);
        if (!(std::abs(a * a + b * b - 1) <= tolerance)) return false;
      }
    }
    return true;
  });
}

bool IsSinusoidal(const Tensor& tensor) {
  if (tensor.rank() < 2 || tensor.dims().back() < 2 || tensor.dims().back() % 2 != 0) return false;
  if (AllAre(tensor, Holds(tensor, [](const auto& at, int64_t) { return at(0) > 0; }) ? 1 : -1))
    return false;
  return IsSinusoidal(tensor, 1) || IsSinusoidal(tensor, tensor.dims().back() / 2);
}

bool AreCosineAndSine(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims() || a.rank() < 2 || a.num_elements() < 8)
    return false;
  const double tolerance = Tolerance(a);
  return Holds(a, [&](const auto& x, int64_t size) {
    return Holds(b, [&](const auto& y, int64_t) {
      const double square = x(0) * x(0) + y(0) * y(0);
      bool differ = false;
      for (int64_t i = 1; i < size; ++i) {
        if (!(std::abs(x(i) * x(i) + y(i) * y(i) - square) <= tolerance * square)) return false;
        differ = differ || x(i) != x(0);
      }
      return differ;
    });
  });
}

// Returns whether all that read `id`, which is `tensor` or its Cast, take it for the zeros that a
// recurrence starts from, or for the scale or bias of a normalization that has none.
bool IsReadAsDefault(const Graph& graph, ValueId id, const Tensor& tensor) {
  const std::vector<NodeId>& users = graph.users(id);
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    if (!node.domain.empty() || !node.subgraphs.empty()) return false;
    if (node.op_type == "Cast") return IsReadAsDefault(graph, node.outputs[0], tensor);
    const bool norm = node.op_type == "InstanceNormalization";
    if (!norm && node.op_type != "LSTM" && node.op_type != "GRU" && node.op_type != "RNN")
      return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != id) continue;
      const bool has_default = norm ? i == 1 || i == 2 : i == 5 || i == 6;
      if (!has_default || !AllAre(tensor, norm && i == 1 ? 1 : 0)) return false;
    }
    return true;
  });
}

// Returns whether losses alone read it, as weights of classes.
bool IsClassWeights(const Graph& graph, ValueId id) {
  const std::vector<NodeId>& users = graph.users(id);
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    return (node.Is("SoftmaxCrossEntropyLoss") || node.Is("NegativeLogLikelihoodLoss")) &&
           InputOf(node, 2) == id;
  });
}

bool IsProduct(const Graph& graph, ValueId id) {
  const NodeId maker = Maker(graph, id);
  return maker.valid() && graph.node(maker).Is("MatMul");
}

// True if an exporter made the name: PyTorch's, or others' that say so or write paths of nodes.
bool IsMadeName(const std::string& name) {
  return IsGeneratedName(name) || absl::StartsWith(name, "onnx::") ||
         absl::StrContains(absl::AsciiStrToLower(name), "const") ||
         name.find_first_of("/:") != std::string::npos;
}

// Returns whether the name is that of a module's parameter: an attribute of a module, or it ends as
// parameters do.
bool IsNamedAsParameter(const std::string& name) {
  if (IsGeneratedName(name) || absl::StartsWith(name, "onnx::")) return false;
  if (!IsMadeName(name)) return true;
  constexpr const char* kEnds[] = {"alpha", "beta",  "bias",        "gain",  "gamma",
                                   "scale", "slope", "temperature", "weight"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](const char* end) { return absl::EndsWith(name, end); });
}

// Returns whether what reads the one element takes it for a weight or bias (of a product, a
// convolution, a normalization, a recurrence, a PRelu), or it is named as one.
bool IsParameter(const Graph& graph, ValueId id) {
  static const auto* kLayers = new std::set<std::string_view>{"BatchNormalization",
                                                              "Conv",
                                                              "ConvTranspose",
                                                              "Einsum",
                                                              "GRU",
                                                              "Gemm",
                                                              "GroupNormalization",
                                                              "InstanceNormalization",
                                                              "LSTM",
                                                              "LayerNormalization",
                                                              "MatMul",
                                                              "PRelu",
                                                              "RMSNormalization",
                                                              "RNN"};
  if (IsNamedAsParameter(graph.value(id).name)) return true;
  const std::vector<NodeId>& users = graph.users(id);
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    if (!node.domain.empty()) return false;
    if (kLayers->count(node.op_type) > 0) return true;
    return node.op_type == "Add" && graph.constant(id)->rank() > 0 &&
           std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return IsProduct(graph, input); });
  });
}

}  // namespace

std::map<ValueId, std::string> FormulaConstants(const Graph& graph,
                                                absl::Span<const ValueId> initializers) {
  std::map<ValueId, std::string> found;
  for (size_t k = 0; k < initializers.size(); ++k) {
    const ValueId id = initializers[k];
    const Tensor& tensor = *graph.constant(id);
    const std::string& name = graph.value(id).name;
    if (tensor.num_elements() == 0) continue;
    if (tensor.num_elements() == 1 && !IsParameter(graph, id)) found[id] = "a number of a formula";
    if (absl::EndsWith(name, "inv_freq") || (IsMadeName(name) && IsFrequencies(tensor)))
      found[id] = "frequencies";
    if (IsClassWeights(graph, id)) found[id] = "weights of classes";
    if (IsMask(tensor)) found[id] = "a mask";
    if (IsPositions(tensor)) found[id] = "distances of positions";
    if (IsSinusoidal(tensor) && !absl::EndsWith(name, "weight")) found[id] = "sinusoidal positions";
    if (IsGeneratedName(name) && IsReadAsDefault(graph, id, tensor)) found[id] = "a default";
    for (size_t other = 0; other < k; ++other) {
      if (!AreCosineAndSine(tensor, *graph.constant(initializers[other]))) continue;
      found[id] = found[initializers[other]] = "cosines and sines";
    }
  }
  return found;
}

}  // namespace onward::training

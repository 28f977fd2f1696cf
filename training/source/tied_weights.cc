#include "training/source/tied_weights.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/name_pattern.h"
#include "graph/builder/patch_sink.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/patch.h"
#include "onward/dtype.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/source/torch_export.h"

namespace onward::training {
namespace {

bool IsMatrix(const Graph& graph, ValueId id) {
  return graph.is_constant(id) && !graph.is_input(id) && !graph.is_output(id) &&
         IsFloating(graph.constant(id)->dtype()) && graph.constant(id)->dims().size() == 2;
}

bool IsEmbedding(const Graph& graph, ValueId id) {
  const std::vector<NodeId>& users = graph.users(id);
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    return node.Is("Gather") && node.inputs[0] == id && node.attributes.Int("axis", 0) == 0;
  });
}

bool OnlyMultiplies(const Graph& graph, ValueId id) {
  const std::vector<NodeId>& users = graph.users(id);
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    return node.Is("MatMul") && node.inputs[1] == id && node.inputs[0] != id;
  });
}

// `all_equal`: whether all elements are.
bool IsTranspose(const Tensor& a, const Tensor& b, bool& all_equal) {
  if (a.dtype() != b.dtype() || a.dims()[0] != b.dims()[1] || a.dims()[1] != b.dims()[0] ||
      a.num_elements() < 2)
    return false;
  const int64_t rows = a.dims()[0], columns = a.dims()[1];
  const size_t size = static_cast<size_t>(a.byte_size()) / static_cast<size_t>(a.num_elements());
  const auto* x = static_cast<const char*>(a.raw_data());
  const auto* y = static_cast<const char*>(b.raw_data());
  all_equal = true;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const char* element = x + static_cast<size_t>(i * columns + j) * size;
      if (!std::equal(element, element + size, y + static_cast<size_t>(j * rows + i) * size))
        return false;
      all_equal = all_equal && std::equal(element, element + size, x);
    }
  }
  return true;
}

bool HoldsSameBytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.num_elements() != b.num_elements()) return false;
  const auto* x = static_cast<const char*>(a.raw_data());
  return std::equal(x, x + a.byte_size(), static_cast<const char*>(b.raw_data()));
}

// `folded` as a Reshape or Transpose of `base`; omitted where it is neither.
Expr MadeOf(const Graph& graph, PatchSink& sink, ValueId base, const Tensor& folded) {
  const Tensor& from = *graph.constant(base);
  const Dims dims(folded.dims().begin(), folded.dims().end());
  if (from.num_elements() < 2) return Expr();
  bool all_equal = false;
  if (from.dims().size() == 2 && dims.size() == 2 && IsTranspose(folded, from, all_equal))
    return Transpose(sink.Value(base), {1, 0});
  if (!HoldsSameBytes(from, folded)) return Expr();
  return Reshape(sink.Value(base), sink.Ints(std::vector<int64_t>(dims.begin(), dims.end())));
}

// Folded initializers of one parameter each, made of the parameter or of the first such one.
absl::Status TieFolded(Graph& graph, const TorchExport& exported,
                       std::vector<std::string>& initializers, absl::Span<const std::string> untied,
                       std::vector<TiedWeight>& tied) {
  std::map<std::string, ValueId> bases;
  const std::vector<std::string> all = initializers;
  for (const bool detached : {false, true}) {
    for (const std::string& name : all) {
      const ValueId id = graph.FindValue(name);
      if (!graph.is_constant(id) || graph.is_input(id) || graph.is_output(id)) continue;
      const TorchInitializer about = exported.Find(graph, id);
      if (about.kind != TorchKind::kFolded || !about.moved || about.parameters.size() != 1 ||
          about.detached != detached || MatchesAny(name, untied))
        continue;
      const ValueId parameter = graph.FindValue(about.parameters[0]);
      const ValueId base = graph.is_constant(parameter) ? parameter : id;
      const auto it = bases.try_emplace(about.parameters[0], base).first;
      if (it->second == id) continue;
      Patch patch(absl::StrCat("tie_weights @ ", name), graph);
      PatchSink sink(patch);
      Expr made = MadeOf(graph, sink, it->second, *graph.constant(id));
      if (!made.valid()) continue;
      if (detached) made = expr::Op("StopGradient", {made}, {}, kOnwardDomain);
      ONWARD_RETURN_IF_ERROR(sink.status());
      patch.Replace(id, made.id());
      ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
      std::erase(initializers, name);
      tied.push_back({name, graph.value(it->second).name});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TiedWeight>> TieTransposedWeights(Graph& graph,
                                                             std::vector<std::string>& initializers,
                                                             absl::Span<const std::string> untied) {
  std::vector<TiedWeight> tied;
  const TorchExport exported(graph);
  ONWARD_RETURN_IF_ERROR(TieFolded(graph, exported, initializers, untied, tied));
  std::vector<ValueId> embeddings, heads;
  for (const std::string& name : initializers) {
    const ValueId id = graph.FindValue(name);
    if (!IsMatrix(graph, id) || MatchesAny(name, untied)) continue;
    if (IsEmbedding(graph, id)) embeddings.push_back(id);
    if (OnlyMultiplies(graph, id)) heads.push_back(id);
  }
  for (const ValueId head : heads) {
    if (exported.Find(graph, head).kind != TorchKind::kUnsaid) continue;
    const auto embedding =
        std::find_if(embeddings.begin(), embeddings.end(), [&](ValueId candidate) {
          bool all_equal = false;
          return IsTranspose(*graph.constant(head), *graph.constant(candidate), all_equal) &&
                 !all_equal;
        });
    if (embedding == embeddings.end()) continue;
    const std::string name = graph.value(head).name;
    Patch patch(absl::StrCat("tie_weights @ ", name), graph);
    PatchSink sink(patch);
    const Expr turned = Transpose(sink.Value(*embedding), {1, 0});
    ONWARD_RETURN_IF_ERROR(sink.status());
    patch.Replace(head, turned.id());
    ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
    std::erase(initializers, name);
    tied.push_back({name, graph.value(*embedding).name});
  }
  return tied;
}

}  // namespace onward::training

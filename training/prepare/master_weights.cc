#include "training/prepare/master_weights.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/add_cast.h"
#include "onward/dtype.h"

namespace onward::training {
namespace {

// In the metadata of the Cast behind a master: its dtype.
constexpr char kMasterKey[] = "onward.master";

template <typename To>
Tensor Converted(const Tensor& from, DType dtype) {
  Tensor to(dtype, from.dims());
  DispatchDType(FloatTypes(), from.dtype(), [&](auto tag) {
    using From = typename decltype(tag)::type;
    const auto elements = from.span<From>();
    for (size_t i = 0; i < elements.size(); ++i)
      to.mutable_data<To>()[i] = To(static_cast<float>(elements[i]));
  });
  return to;
}

// `data` under the name and with the notes of `from`, which is renamed.
ValueId AddInPlaceOf(Graph& graph, ValueId from, Tensor data) {
  const std::string name = graph.value(from).name;
  GraphEdit(graph).Rename(from, graph.UniqueName(absl::StrCat(name, "/replaced")));
  const ValueId to = GraphEdit(graph).AddConstant(name, std::move(data));
  GraphEdit(graph).doc_string(to) = std::move(GraphEdit(graph).doc_string(from));
  GraphEdit(graph).metadata(to) = std::move(GraphEdit(graph).metadata(from));
  GraphEdit(graph).metadata(from).clear();
  return to;
}

}  // namespace

MasterWeights AddMasterWeights(Graph& graph, absl::Span<const std::string> names) {
  MasterWeights made;
  for (const std::string& name : names) {
    const ValueId weight = graph.FindValue(name);
    if (!graph.is_constant(weight) || graph.is_input(weight) || graph.is_output(weight)) continue;
    const DType dtype = graph.constant(weight)->dtype();
    if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) continue;
    const Type type = graph.type(weight);
    const ValueId master =
        AddInPlaceOf(graph, weight, Converted<float>(*graph.constant(weight), DType::kFloat32));
    const std::string dtype_name(DTypeName(dtype));
    const ValueId narrow =
        GraphEdit(graph).AddValue(graph.UniqueName(absl::StrCat(name, "/", dtype_name)), type);
    GraphEdit(graph).ReplaceUses(weight, narrow);
    const NodeId cast = AddCast(graph, master, narrow, "master_weights");
    GraphEdit(graph).node(cast).metadata.try_emplace(kMasterKey, dtype_name);
    GraphEdit(graph).constant(weight).reset();
    ++made.count;
    made.dtypes.insert(dtype);
  }
  return made;
}

void RoundMasterWeights(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    if (!graph.node(id).metadata.contains(kMasterKey)) continue;
    const ValueId master = graph.node(id).inputs[0], narrow = graph.node(id).outputs[0];
    if (!graph.node(id).Is("Cast") || !graph.is_constant(master)) continue;
    const Tensor& data = *graph.constant(master);
    const DType dtype = graph.type(narrow).dtype;
    Tensor rounded = dtype == DType::kFloat16 ? Converted<Float16>(data, dtype)
                                              : Converted<BFloat16>(data, dtype);
    const ValueId weight = AddInPlaceOf(graph, master, std::move(rounded));
    GraphEdit(graph).ReplaceUses(narrow, weight);
    GraphEdit(graph).RemoveNode(id);
    GraphEdit(graph).constant(master).reset();
  }
}

}  // namespace onward::training

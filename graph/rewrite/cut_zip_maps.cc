#include "graph/rewrite/cut_zip_maps.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"

namespace onward {
namespace {

std::vector<std::string> ClassesOf(const Node& node) {
  std::vector<std::string> classes = node.attributes.Strings("classlabels_strings");
  if (!classes.empty()) return classes;
  for (const int64_t label : node.attributes.Ints("classlabels_int64s"))
    classes.push_back(absl::StrCat(label));
  return classes;
}

bool IsCut(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("ZipMap", "ai.onnx.ml") || node.inputs.size() != 1 || node.outputs.size() != 1)
    return false;
  const ValueId scores = node.inputs[0], maps = node.outputs[0];
  return graph.is_output(maps) && graph.users(maps).empty() && !graph.is_output(scores) &&
         graph.value(scores).producer.valid();
}

}  // namespace

std::map<std::string, std::vector<std::string>> CutZipMaps(Graph& graph) {
  std::map<std::string, std::vector<std::string>> classes;
  GraphEdit edit(graph);
  for (const NodeId id : graph.node_ids()) {
    if (!IsCut(graph, id)) continue;
    const ValueId scores = graph.node(id).inputs[0], maps = graph.node(id).outputs[0];
    classes[graph.value(maps).name] = ClassesOf(graph.node(id));
    edit.RemoveNode(id);
    edit.ReplaceUses(maps, scores);
    edit.MoveName(maps, scores, "/maps");
  }
  if (!classes.empty()) edit.Compact();
  return classes;
}

}  // namespace onward

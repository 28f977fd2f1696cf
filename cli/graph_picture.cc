#include "cli/graph_picture.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "training/source/module_path.h"

namespace onward::cli {
namespace {

// In double quotes, as Graphviz reads it; "\n" ends a line.
std::string Quoted(const std::string& text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", " "}}), "\"");
}
std::string Label(const std::string& first, const std::string& second) {
  std::string text = Quoted(first);
  if (second.empty()) return text;
  text.pop_back();
  return absl::StrCat(text, "\\n", Quoted(second).substr(1));
}

// Nodes by the module that has them, and the modules inside of it.
struct Box {
  std::vector<NodeId> nodes;
  std::map<std::string, Box> inside;  // by the last part of the path
};

class Picture {
 public:
  std::string Draw(const Graph& graph) {
    absl::StrAppend(&text_, "digraph ", Quoted(graph.name), " {\n",
                    "  node [shape=box fontname=\"sans-serif\"]\n",
                    "  edge [fontname=\"sans-serif\" fontsize=10]\n");
    DrawGraph(graph, "", "  ");
    return absl::StrCat(text_, "}\n");
  }

 private:
  static std::string NodeName(const std::string& prefix, NodeId id) {
    return absl::StrCat(prefix, "n", id.index);
  }
  static std::string ValueName(const std::string& prefix, ValueId id) {
    return absl::StrCat(prefix, "v", id.index);
  }

  // `prefix` is of the names of what is in the graph.
  void DrawGraph(const Graph& graph, const std::string& prefix, const std::string& indent) {
    for (const ValueId id : graph.inputs()) {
      if (!graph.is_constant(id)) DrawValue(graph, id, ValueName(prefix, id), indent);
    }
    for (const ValueId id : graph.captures()) DrawValue(graph, id, ValueName(prefix, id), indent);
    Box all;
    for (const NodeId id : graph.node_ids())
      BoxOf(training::ModulePath(graph.node(id)), all).nodes.push_back(id);
    DrawBox(graph, all, prefix, indent);
    for (const NodeId id : graph.node_ids()) DrawEdges(graph, id, prefix, indent);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const std::string name = absl::StrCat(prefix, "o", i);
      DrawValue(graph, graph.outputs()[i], name, indent);
      DrawEdge(graph, graph.outputs()[i], prefix, name, "", indent);
    }
  }

  static Box& BoxOf(const std::string& path, Box& all) {
    if (path.empty()) return all;
    return BoxOf(training::OuterModule(path), all).inside[path.substr(path.rfind('.') + 1)];
  }

  void DrawBox(const Graph& graph, const Box& box, const std::string& prefix,
               const std::string& indent) {
    for (const NodeId id : box.nodes) DrawNode(graph, id, prefix, indent);
    for (const auto& [name, inside] : box.inside) {
      BeginCluster(name, indent);
      DrawBox(graph, inside, prefix, indent + "  ");
      absl::StrAppend(&text_, indent, "}\n");
    }
  }

  void BeginCluster(const std::string& label, const std::string& indent) {
    absl::StrAppend(&text_, indent, "subgraph cluster_", clusters_++, " {\n", indent,
                    "  label=", Quoted(label), " color=gray fontname=\"sans-serif\"\n");
  }

  void DrawNode(const Graph& graph, NodeId id, const std::string& prefix,
                const std::string& indent) {
    const Node& node = graph.node(id);
    const std::string name = NodeName(prefix, id);
    const std::string op =
        node.domain.empty() ? node.op_type : absl::StrCat(node.domain, ".", node.op_type);
    absl::StrAppend(&text_, indent, name, " [label=", Label(op, node.name), "]\n");
    for (size_t i = 0; i < node.subgraphs.size(); ++i) {
      const Subgraph& body = node.subgraphs[i];
      BeginCluster(absl::StrCat(body.attribute, " of ", graph.Describe(id)), indent);
      DrawGraph(*body.graph, absl::StrCat(name, "b", i), indent + "  ");
      absl::StrAppend(&text_, indent, "}\n");
    }
  }

  void DrawValue(const Graph& graph, ValueId id, const std::string& name,
                 const std::string& indent) {
    absl::StrAppend(&text_, indent, name,
                    " [shape=oval label=", Label(graph.value(id).name, graph.type(id).ToString()),
                    "]\n");
  }

  void DrawEdges(const Graph& graph, NodeId id, const std::string& prefix,
                 const std::string& indent) {
    const Node& node = graph.node(id);
    const std::string name = NodeName(prefix, id);
    for (const ValueId input : node.inputs) DrawEdge(graph, input, prefix, name, "", indent);
    for (size_t i = 0; i < node.subgraphs.size(); ++i) {
      const Subgraph& body = node.subgraphs[i];
      for (size_t j = 0; j < body.captures.size(); ++j) {
        const std::string to = ValueName(absl::StrCat(name, "b", i), body.graph->captures()[j]);
        DrawEdge(graph, body.captures[j], prefix, to, " style=dashed", indent);
      }
    }
  }

  // Nothing of constants and of inputs that are left out.
  void DrawEdge(const Graph& graph, ValueId from, const std::string& prefix, const std::string& to,
                const std::string& style, const std::string& indent) {
    if (!from.valid() || graph.is_constant(from)) return;
    const NodeId producer = graph.value(from).producer;
    absl::StrAppend(&text_, indent,
                    producer.valid() ? NodeName(prefix, producer) : ValueName(prefix, from), " -> ",
                    to, " [label=", Quoted(graph.type(from).ToString()), style, "]\n");
  }

  std::string text_;
  int clusters_ = 0;
};

}  // namespace

std::string PictureOf(const Graph& graph) { return Picture().Draw(graph); }

}  // namespace onward::cli

#include "graph/ir/print.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onward {
namespace {

// Lists longer than this are cut: a dump is for reading.
constexpr size_t kMaxListed = 16;

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

std::string AttributeText(const Attribute& attribute);

template <typename T>
std::string ListText(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(values.size(), kMaxListed); ++i) {
    texts.push_back(AttributeText(values[i]));
  }
  if (values.size() > kMaxListed) texts.push_back(absl::StrCat("... ", values.size(), " in all"));
  return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

struct AttributePrinter {
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(float value) const { return absl::StrCat(value, "f"); }
  std::string operator()(const std::string& value) const { return Quoted(value); }
  std::string operator()(const Tensor& value) const {
    return absl::StrCat("tensor ", Type::Tensor(value.dtype(), value.dims()).ToString());
  }
  std::string operator()(const Type& value) const { return value.ToString(); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return ListText(values);
  }
};

std::string AttributeText(const Attribute& attribute) {
  return std::visit(AttributePrinter(), attribute);
}

class Printer {
 public:
  Printer(const Graph& graph, int depth, std::string* out)
      : graph_(graph), indent_(static_cast<size_t>(depth) * 2, ' '), depth_(depth), out_(out) {}

  void PrintHeader() {
    absl::StrAppend(out_, "graph ", Quoted(graph_.name), " (", Declared(graph_.inputs()), ")");
    if (!graph_.captures().empty()) {
      absl::StrAppend(out_, " captures (", Declared(graph_.captures()), ")");
    }
  }

  void PrintBody() {
    absl::StrAppend(out_, " {\n");
    for (int i = 0; i < graph_.num_values(); ++i) {
      if (!graph_.is_constant({i}) || (graph_.users({i}).empty() && !graph_.is_output({i}))) {
        continue;
      }
      absl::StrAppend(out_, indent_, "  const ", Declared({{i}}), "\n");
    }
    const absl::StatusOr<std::vector<NodeId>> order = graph_.TopologicalOrder();
    for (NodeId id : order.ok() ? *order : graph_.node_ids()) PrintNode(id);
    absl::StrAppend(out_, indent_, "  return ", Names(graph_.outputs()), "\n", indent_, "}");
  }

 private:
  std::string Name(ValueId id) const { return id.valid() ? graph_.value(id).name : "_"; }
  std::string Names(const std::vector<ValueId>& ids) const {
    return absl::StrJoin(ids, ", ", [&](std::string* out, ValueId id) { out->append(Name(id)); });
  }
  std::string Declared(const std::vector<ValueId>& ids) const {
    return absl::StrJoin(ids, ", ", [&](std::string* out, ValueId id) {
      absl::StrAppend(out, Name(id));
      if (id.valid()) absl::StrAppend(out, ": ", graph_.type(id).ToString());
    });
  }

  void PrintNode(NodeId id) {
    const Node& node = graph_.node(id);
    absl::StrAppend(out_, indent_, "  ", Declared(node.outputs), " = ",
                    node.domain.empty() ? "" : absl::StrCat(node.domain, "."), node.op_type, "(",
                    Names(node.inputs), ")");
    std::vector<std::string> notes;
    if (!node.name.empty()) notes.push_back(Quoted(node.name));
    for (const auto& [name, attribute] : node.attributes.map()) {
      notes.push_back(absl::StrCat(name, "=", AttributeText(attribute)));
    }
    if (!node.provider.empty()) notes.push_back(absl::StrCat("on ", node.provider));
    if (!node.origin.empty()) notes.push_back(absl::StrCat("by ", node.origin));
    if (!notes.empty()) absl::StrAppend(out_, "  # ", absl::StrJoin(notes, ", "));
    absl::StrAppend(out_, "\n");
    for (const Subgraph& subgraph : node.subgraphs) {
      absl::StrAppend(out_, indent_, "    ", subgraph.attribute, " = ");
      Printer body(*subgraph.graph, depth_ + 2, out_);
      body.PrintHeader();
      if (!subgraph.captures.empty()) {
        absl::StrAppend(out_, " of (", Names(subgraph.captures), ")");
      }
      body.PrintBody();
      absl::StrAppend(out_, "\n");
    }
  }

  const Graph& graph_;
  const std::string indent_;
  const int depth_;
  std::string* out_;
};

}  // namespace

std::string Print(const Graph& graph) {
  std::string out;
  Printer printer(graph, 0, &out);
  printer.PrintHeader();
  printer.PrintBody();
  out += "\n";
  return out;
}

}  // namespace onward

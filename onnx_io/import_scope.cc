#include "onnx_io/import_scope.h"

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"

namespace onward::onnx_io {
namespace {

// Captures the value `id` of `from` through all graphs between it and `to`.
ValueId BringDown(ValueId id, const GraphFrame& from, GraphFrame& to) {
  if (&from == &to) return id;
  const ValueId outside = BringDown(id, from, *to.outer);
  const auto it = to.capture_of.find(outside.index);
  if (it != to.capture_of.end()) return it->second;
  const ValueData& value = to.outer->graph->value(outside);
  const ValueId inside = GraphEdit(*to.graph).AddCapture(to.NewName(value.name), value.type);
  to.captured.push_back(outside);
  to.capture_of.emplace(outside.index, inside);
  return inside;
}

}  // namespace

std::string GraphFrame::NewName(const std::string& wanted) {
  const auto [it, inserted] = names.emplace(wanted, 1);
  if (inserted) return wanted;
  int next = it->second;
  std::string name = absl::StrCat(wanted, "_", next++);
  while (names.contains(name)) name = absl::StrCat(wanted, "_", next++);
  names[wanted] = next;
  names.emplace(name, 1);
  return name;
}

ValueId Resolve(const std::string& name, const NameScope& scope, GraphFrame& frame, bool& found) {
  for (const NameScope* s = &scope; s != nullptr; s = s->outer) {
    const auto it = s->values.find(name);
    if (it == s->values.end()) continue;
    found = true;
    return it->second.valid() ? BringDown(it->second, *s->frame, frame) : ValueId();
  }
  found = false;
  return {};
}

}  // namespace onward::onnx_io

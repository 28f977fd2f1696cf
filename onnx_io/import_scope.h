// Names while a model is imported. Two nestings that functions separate: where a value lives (a
// graph inside a graph) and which names are visible (a function's body sees none of its caller's).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/base/hash_map.h"
#include "onward/graph.h"

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace onward::onnx_io {

// A graph under construction, and what it captured so far from the graph around it.
struct GraphFrame {
  Graph* graph = nullptr;
  GraphFrame* outer = nullptr;
  int depth = 0;
  std::vector<ValueId> captured;         // ids in the outer graph
  HashMap<int32_t, ValueId> capture_of;  // outer id -> id here
  // Names of all values in `graph`, each with the number that its next variant gets.
  HashMap<std::string, int> names;

  // `wanted`, or with a suffix that makes it new here; taken from now on.
  std::string NewName(const std::string& wanted);
};

using Opsets = HashMap<std::string, int64_t>;

struct NameScope;

// The value of an attribute reference inside a function's body. The names in a graph-valued
// attribute are those of `scope`.
struct BoundAttribute {
  const onnx::AttributeProto* proto = nullptr;
  const NameScope* scope = nullptr;
};

struct NameScope {
  const NameScope* outer = nullptr;  // of the enclosing graph; null in a function's body
  GraphFrame* frame = nullptr;       // where the values of this scope live
  const Opsets* opsets = nullptr;
  std::string prefix;  // of names that a function's body gets in the model
  const std::map<std::string, BoundAttribute>* attributes = nullptr;  // of the function; or null
  HashMap<std::string, ValueId> values;        // invalid id: an input that the call omits
  std::set<const onnx::NodeProto*> constants;  // nodes that became constants
};

// The value that `name` stands for in `scope`, as an id of `frame`'s graph: captures are added to
// the graphs on the way. `found` is false when nothing has the name; an omitted function input is
// found with an invalid id.
ValueId Resolve(const std::string& name, const NameScope& scope, GraphFrame& frame, bool& found);

}  // namespace onward::onnx_io

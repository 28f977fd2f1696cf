#include "graph/rewrite/add_cast.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"

namespace onward {

NodeId AddCast(Graph& graph, ValueId from, ValueId to, std::string_view origin) {
  Node cast;
  cast.op_type = "Cast";
  cast.name = absl::StrCat(graph.value(to).name, "/Cast");
  cast.schema = FindSchema("Cast", "");
  cast.inputs = {from};
  cast.outputs = {to};
  cast.attributes.Set("to", static_cast<int64_t>(graph.type(to).dtype));
  cast.origin = std::string(origin);
  return GraphEdit(graph).AddNode(std::move(cast));
}

}  // namespace onward

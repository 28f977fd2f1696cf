// A patch as a sink of expressions: rules write replacements as formulas.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/rewrite/patch.h"
#include "onward/expr.h"

namespace onward {

// Types are inferred at once, on a scratch graph that holds the new nodes.
class PatchSink : public ExprSink {
 public:
  // `patch` must outlive the sink, and its graph must not change meanwhile.
  explicit PatchSink(Patch& patch) : ExprSink(nullptr), patch_(patch) {}

  // A value of the patch's graph.
  Expr Value(ValueId id) { return Expr(this, id); }
  const Type& TypeOf(ValueId id) const override;
  const std::string& NameOf(ValueId id) const override;

 protected:
  ValueId AddConstant(std::string_view name, Tensor data) override;
  absl::StatusOr<std::vector<ValueId>> AddNode(Node node, const std::vector<bool>& wanted) override;

 private:
  // The scratch value that stands for a value of the graph or the patch.
  ValueId Scratch(ValueId id);

  Patch& patch_;
  Graph scratch_;
  KnownElements known_;
  std::unordered_map<int32_t, ValueId> to_scratch_;
};

}  // namespace onward

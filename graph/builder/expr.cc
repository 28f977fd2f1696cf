#include "onward/expr.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward::expr {
namespace {

template <typename Count>
std::vector<bool> AllOf(Count outputs) {
  return std::vector<bool>(static_cast<size_t>(outputs), true);
}

}  // namespace

const Type& Expr::type() const {
  static const Type* unknown = new Type();
  return valid() ? sink_->TypeOf(id_) : *unknown;
}

void ExprSink::Fail(absl::Status status) {
  const std::string module(ModulePath());
  if (!module.empty() && !absl::StrContains(status.message(), "module '"))
    status = Annotate(status, absl::StrCat("module '", module, "':"));
  if (status_.ok()) status_ = status;
  if (outer_ != nullptr) outer_->Fail(std::move(status));
}

Expr ExprSink::Constant(Tensor data, std::string_view name) {
  if (!status_.ok()) return Expr(this, {});
  return Expr(this, AddConstant(name, std::move(data)));
}

namespace {

// Returns whether `value` without its fraction is a number of T.
template <typename T>
bool IsInRange(double value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits), whole = std::trunc(value);
    return whole < end && whole >= (std::is_signed_v<T> ? -end : 0.0);
  }
  return true;
}

}  // namespace

Expr ExprSink::Scalar(double value, DType dtype) {
  if (dtype == DType::kUndefined) {
    Fail(
        absl::FailedPreconditionError("the dtype of a value is not known, which its scalar needs"));
    return Expr(this, {});
  }
  Tensor tensor;
  DispatchDType(onward::Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!IsInRange<T>(value)) return;
    if constexpr (std::is_arithmetic_v<T>) {
      tensor = Tensor::Scalar<T>(static_cast<T>(value));
    } else {
      tensor = Tensor::Scalar<T>(T(static_cast<float>(value)));
    }
  });
  if (tensor.empty()) {
    if (status_.ok()) {
      Fail(absl::InvalidArgumentError(absl::StrCat(
          "a scalar ", value, " of dtype ", std::string(DTypeName(dtype)), " cannot be made")));
    }
    return Expr(this, {});
  }
  return Constant(std::move(tensor), "scalar");
}

Expr ExprSink::Ints(const std::vector<int64_t>& values) {
  return Constant(Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values), "ints");
}

ValueId ExprSink::Capture(ValueId) { return {}; }

ValueId ExprSink::Resolve(const Expr& expr) {
  if (expr.sink() == nullptr || expr.sink() == this) return expr.id();
  const ValueId outer = outer_ == nullptr ? ValueId() : outer_->Resolve(expr);
  const ValueId inner = outer.valid() ? Capture(outer) : ValueId();
  if (!inner.valid()) {
    Fail(absl::InvalidArgumentError("an expression of another graph is used as an input"));
  }
  return inner;
}

std::vector<Expr> ExprSink::Write(Node node, const std::vector<Expr>& inputs,
                                  const std::vector<bool>& wanted) {
  std::vector<Expr> results(wanted.size(), Expr(this, {}));
  for (const Expr& input : inputs) {
    if (status_.ok()) node.inputs.push_back(Resolve(input));
  }
  if (!status_.ok()) return results;
  node.schema = FindSchema(node.op_type, node.domain);
  if (node.schema == nullptr) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("there is no op '", node.op_type, "' in domain '", node.domain, "'")));
    return results;
  }
  while (!node.inputs.empty() && !node.inputs.back().valid() &&
         static_cast<int>(node.inputs.size()) > node.schema->min_input()) {
    node.inputs.pop_back();
  }
  const absl::StatusOr<std::vector<ValueId>> outputs = AddNode(std::move(node), wanted);
  if (!outputs.ok()) {
    Fail(outputs.status());
    return results;
  }
  for (size_t i = 0; i < results.size(); ++i) results[i] = Expr(this, (*outputs)[i]);
  return results;
}

Expr ExprSink::Op(std::string_view op, const std::vector<Expr>& inputs, Attributes attributes,
                  std::string_view domain) {
  return Ops(op, inputs, 1, std::move(attributes), domain)[0];
}

std::vector<Expr> ExprSink::Ops(std::string_view op, const std::vector<Expr>& inputs,
                                int num_outputs, Attributes attributes, std::string_view domain) {
  Node node;
  node.op_type = std::string(op);
  node.domain = std::string(domain);
  node.attributes = std::move(attributes);
  return Write(std::move(node), inputs, AllOf(num_outputs));
}

std::vector<Expr> ExprSink::OpsWanted(std::string_view op, const std::vector<Expr>& inputs,
                                      const std::vector<bool>& wanted, Attributes attributes,
                                      std::string_view domain) {
  Node node;
  node.domain = std::string(domain);
  node.op_type = std::string(op);
  node.attributes = std::move(attributes);
  return Write(std::move(node), inputs, wanted);
}

// The graph of a subgraph attribute while its body is written.
class BodySink : public GraphSink {
 public:
  BodySink(ExprSink& outer, std::string attribute)
      : GraphSink(*new Graph(), attribute + "/", &outer) {
    subgraph_.graph.reset(&graph());
    subgraph_.attribute = std::move(attribute);
    graph().name = subgraph_.attribute;
  }

  Expr Input(std::string_view name, Type type) {
    return Value(GraphEdit(graph()).AddInput(
        graph().UniqueName(absl::StrCat(prefix(), std::string(name))), std::move(type)));
  }
  // An output must be a value of the body, once: others pass through Identity.
  void Output(const Expr& expr) {
    Expr own = expr;
    const bool direct = expr.sink() == this && expr.valid() && !graph().is_input(expr.id()) &&
                        !graph().is_output(expr.id()) && !graph().is_constant(expr.id());
    if (!direct) own = Op("Identity", {expr});
    if (own.valid()) GraphEdit(graph()).AddOutput(own.id());
  }
  Subgraph Take() { return std::move(subgraph_); }

 protected:
  ValueId Capture(ValueId outer) override {
    for (size_t i = 0; i < subgraph_.captures.size(); ++i) {
      if (subgraph_.captures[i] == outer) return graph().captures()[i];
    }
    subgraph_.captures.push_back(outer);
    return GraphEdit(graph()).AddCapture(
        graph().UniqueName(absl::StrCat(prefix(), outer_->NameOf(outer))), outer_->TypeOf(outer));
  }

 private:
  Subgraph subgraph_;
};

std::vector<Expr> ExprSink::If(const Expr& condition, const BranchBody& then_branch,
                               const BranchBody& else_branch) {
  Node node;
  node.op_type = "If";
  size_t count = 0;
  for (const auto* branch : {&then_branch, &else_branch}) {
    BodySink body(*this, branch == &then_branch ? "then_branch" : "else_branch");
    const std::vector<Expr> results = (*branch)(body);
    for (const Expr& result : results) body.Output(result);
    count = std::max(count, results.size());
    node.subgraphs.push_back(body.Take());
  }
  return Write(std::move(node), {condition}, AllOf(count));
}

namespace {

// A carried value's shape may change from one iteration to the next.
Type WithoutShape(Type type) {
  type.shape.reset();
  return type;
}

Type WithoutFirstAxis(Type type) {
  if (type.shape && !type.shape->empty()) type.shape->erase(type.shape->begin());
  return type;
}

}  // namespace

std::vector<Expr> ExprSink::Loop(const Expr& trips, const Expr& condition,
                                 const std::vector<Expr>& carried, const LoopBody& loop) {
  BodySink body(*this, "body");
  const Expr iteration = body.Input("iteration", Type::Tensor(DType::kInt64, SymbolicDims()));
  const Expr go_on = body.Input("condition", Type::Tensor(DType::kBool, SymbolicDims()));
  std::vector<Expr> inner;
  for (const Expr& value : carried) {
    inner.push_back(body.Input("carried", WithoutShape(value.type())));
  }
  const BodyResult result = loop(body, iteration, inner);
  body.Output(result.condition.sink() == nullptr ? go_on : result.condition);
  for (const Expr& value : result.carried) body.Output(value);
  for (const Expr& value : result.collected) body.Output(value);
  Node node;
  node.op_type = "Loop";
  node.subgraphs.push_back(body.Take());
  std::vector<Expr> inputs = {trips, condition};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return Write(std::move(node), inputs, AllOf(result.carried.size() + result.collected.size()));
}

std::vector<Expr> ExprSink::Scan(const std::vector<Expr>& carried, const std::vector<Expr>& scanned,
                                 const ScanBody& scan, bool reversed) {
  BodySink body(*this, "body");
  std::vector<Expr> inner;
  std::vector<Expr> elements;
  for (const Expr& value : carried) inner.push_back(body.Input("carried", value.type()));
  for (const Expr& value : scanned) {
    elements.push_back(body.Input("element", WithoutFirstAxis(value.type())));
  }
  const BodyResult result = scan(body, inner, elements);
  for (const Expr& value : result.carried) body.Output(value);
  for (const Expr& value : result.collected) body.Output(value);
  Node node;
  node.op_type = "Scan";
  node.attributes.Set("num_scan_inputs", static_cast<int64_t>(scanned.size()));
  if (reversed) {
    node.attributes.Set("scan_input_directions", std::vector<int64_t>(scanned.size(), 1));
    node.attributes.Set("scan_output_directions", std::vector<int64_t>(result.collected.size(), 1));
  }
  node.subgraphs.push_back(body.Take());
  std::vector<Expr> inputs = carried;
  inputs.insert(inputs.end(), scanned.begin(), scanned.end());
  return Write(std::move(node), inputs, AllOf(result.carried.size() + result.collected.size()));
}

std::vector<Expr> GraphSink::Add(Node node, size_t num_outputs) {
  std::vector<Expr> results(num_outputs, Expr(this, {}));
  if (!status().ok()) return results;
  node.schema = FindSchema(node.op_type, node.domain);
  const absl::StatusOr<std::vector<ValueId>> outputs = AddNode(std::move(node), AllOf(num_outputs));
  if (!outputs.ok()) {
    Fail(outputs.status());
    return results;
  }
  for (size_t i = 0; i < results.size(); ++i) results[i] = Expr(this, (*outputs)[i]);
  return results;
}

std::string GraphSink::NewName(std::string_view base) {
  const std::string wanted = absl::StrCat(prefix_, std::string(base));
  int& count = used_names_[wanted];
  const std::string numbered = count == 0 ? wanted : absl::StrCat(wanted, "_", count);
  ++count;
  return graph_.UniqueName(numbered);
}

ValueId GraphSink::AddConstant(std::string_view name, Tensor data) {
  return GraphEdit(graph_).AddConstant(NewName(name), std::move(data));
}

absl::StatusOr<std::vector<ValueId>> GraphSink::AddNode(Node node,
                                                        const std::vector<bool>& wanted) {
  for (const bool output : wanted) {
    node.outputs.push_back(output ? GraphEdit(graph_).AddValue(NewName(node.op_type), Type())
                                  : ValueId());
  }
  std::vector<ValueId> outputs = node.outputs;
  const NodeId id = GraphEdit(graph_).AddNode(std::move(node));
  if (absl::Status status = InferNode(graph_, id, &known_); !status.ok()) {
    GraphEdit(graph_).RemoveNode(id);
    return status;
  }
  return outputs;
}

}  // namespace onward::expr

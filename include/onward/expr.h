// Expressions: handles of values that write nodes when they are combined, with types inferred at
// once. They write into a sink: a graph (builder.h), a control-flow body, or a patch
// (patch_sink.h).
//
// After a first error, which the sink keeps, further expressions are empty and write nothing, so
// that a rule or a model needs one check at its end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::expr {

class ExprSink;

// A value of a sink. A default one is an omitted optional input. Cheap to copy; the sink must
// outlive it.
class Expr {
 public:
  Expr() = default;
  Expr(ExprSink* sink, ValueId id) : sink_(sink), id_(id) {}

  ExprSink* sink() const { return sink_; }
  ValueId id() const { return id_; }
  bool valid() const { return sink_ != nullptr && id_.valid(); }
  // Type::Kind::kUnknown for an omitted or failed expression.
  const Type& type() const;
  DType dtype() const { return type().dtype; }

 private:
  ExprSink* sink_ = nullptr;
  ValueId id_;
};

// The results of a body of Loop or Scan: the condition to continue (omitted: stays as it is; Loop
// only), the next carried values and the values to collect.
struct BodyResult {
  Expr condition;
  std::vector<Expr> carried;
  std::vector<Expr> collected;
};
using BranchBody = std::function<std::vector<Expr>(ExprSink& body)>;
using LoopBody =
    std::function<BodyResult(ExprSink& body, Expr iteration, const std::vector<Expr>& carried)>;
using ScanBody = std::function<BodyResult(ExprSink& body, const std::vector<Expr>& carried,
                                          const std::vector<Expr>& elements)>;

// The destination of new nodes. Not thread-safe.
class ExprSink {
 public:
  virtual ~ExprSink() = default;

  // The first error, annotated with its node and, in a module, with the module's path.
  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status);
  // The number of sinks around this one.
  int depth() const { return outer_ == nullptr ? 0 : outer_->depth() + 1; }

  Expr Constant(Tensor data, std::string_view name = "const");
  // Rank 0; a float for integer dtypes is truncated. Fails for dtypes that are not numbers, with
  // FailedPrecondition for one that is not known.
  Expr Scalar(double value, DType dtype);
  Expr Ints(const std::vector<int64_t>& values);  // int64[n]

  // A node with one output, or with `num_outputs`. Inputs may be values of an enclosing sink: a
  // body captures them.
  Expr Op(std::string_view op, const std::vector<Expr>& inputs, Attributes attributes = {},
          std::string_view domain = "");
  std::vector<Expr> Ops(std::string_view op, const std::vector<Expr>& inputs, int num_outputs,
                        Attributes attributes = {}, std::string_view domain = "");
  // With those outputs that are wanted; the others are not valid().
  std::vector<Expr> OpsWanted(std::string_view op, const std::vector<Expr>& inputs,
                              const std::vector<bool>& wanted, Attributes attributes = {},
                              std::string_view domain = "");

  // Control flow. Bodies are written once, at once, and may use expressions of this sink; a
  // function of such expressions alone is computed outside the body (see ExprSink::Op for inside).
  std::vector<Expr> If(const Expr& condition, const BranchBody& then_branch,
                       const BranchBody& else_branch);
  // `trips` and `condition` may be omitted. Returns the carried values, then the collected ones.
  std::vector<Expr> Loop(const Expr& trips, const Expr& condition, const std::vector<Expr>& carried,
                         const LoopBody& body);
  // Over axis 0 of `scanned`, from the end when `reversed`; then the collected values too are in
  // the order of `scanned`.
  std::vector<Expr> Scan(const std::vector<Expr>& carried, const std::vector<Expr>& scanned,
                         const ScanBody& body, bool reversed = false);

  virtual const Type& TypeOf(ValueId id) const = 0;
  virtual const std::string& NameOf(ValueId id) const = 0;

 protected:
  explicit ExprSink(ExprSink* outer) : outer_(outer) {}

  virtual ValueId AddConstant(std::string_view name, Tensor data) = 0;
  // `node` has everything but outputs; those that are not wanted are omitted. The error is not
  // annotated when nothing was added.
  virtual absl::StatusOr<std::vector<ValueId>> AddNode(Node node,
                                                       const std::vector<bool>& wanted) = 0;
  // The path of the module that writes now; "": none.
  virtual std::string_view ModulePath() const { return ""; }
  // The value here that stands for a value of the enclosing sink. Invalid where none can.
  virtual ValueId Capture(ValueId outer);

 private:
  friend class BodySink;

  ValueId Resolve(const Expr& expr);
  std::vector<Expr> Write(Node node, const std::vector<Expr>& inputs,
                          const std::vector<bool>& wanted);

  ExprSink* outer_;
  absl::Status status_;
};

// A graph as a sink.
class GraphSink : public ExprSink {
 public:
  // `graph` must outlive the sink. Names of new values begin with `prefix`.
  explicit GraphSink(Graph& graph, std::string prefix = "", ExprSink* outer = nullptr)
      : ExprSink(outer), graph_(graph), prefix_(std::move(prefix)) {}

  Graph& graph() { return graph_; }
  Expr Value(ValueId id) { return Expr(this, id); }
  // Adds a node whose inputs and captures are values of this graph, with `num_outputs` new outputs;
  // its schema is found by its op.
  std::vector<Expr> Add(Node node, size_t num_outputs);
  // The known elements by value index; may be added to for inputs.
  KnownElements& known() { return known_; }
  const std::string& prefix() const { return prefix_; }
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  // Errors name it.
  const std::string& module() const { return module_; }
  void set_module(std::string path) { module_ = std::move(path); }
  const Type& TypeOf(ValueId id) const override { return graph_.type(id); }
  const std::string& NameOf(ValueId id) const override { return graph_.value(id).name; }

 protected:
  std::string_view ModulePath() const override { return module_; }
  ValueId AddConstant(std::string_view name, Tensor data) override;
  absl::StatusOr<std::vector<ValueId>> AddNode(Node node, const std::vector<bool>& wanted) override;

 private:
  std::string NewName(std::string_view base);

  Graph& graph_;
  std::string prefix_, module_;
  KnownElements known_;
  std::map<std::string, int, std::less<>> used_names_;
};

}  // namespace onward::expr

namespace onward {
using expr::Expr;
using expr::ExprSink;
using expr::GraphSink;
}  // namespace onward

// Makes a model in a few lines:
//   GraphBuilder b("mlp");
//   Expr x = b.Input("x", DType::kFloat32, {"batch", 784});
//   Expr y = Softmax(MatMul(x, b.Constant(w, "w")) + b.Constant(bias, "bias"));
//   b.Output("y", y);
//   absl::StatusOr<Model> model = b.Build();
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "onward/expr.h"
#include "onward/functions.h"

namespace onward {

// A dim of an input as callers write it: 784, "batch", "past + 1".
struct DimArg {
  Dim dim;
  DimArg(int64_t value) : dim(value) {}                     // NOLINT
  DimArg(int value) : dim(int64_t{value}) {}                // NOLINT
  DimArg(const char* text) : dim(ParseDim(text)) {}         // NOLINT
  DimArg(const std::string& text) : dim(ParseDim(text)) {}  // NOLINT
  DimArg(Dim d) : dim(std::move(d)) {}                      // NOLINT
};

// Not thread-safe, not movable: expressions point at it.
class GraphBuilder : public GraphSink {
 public:
  explicit GraphBuilder(std::string name = "graph");
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  Expr Input(std::string name, DType dtype, std::initializer_list<DimArg> dims);
  Expr Input(std::string name, Type type);
  // Names the value `name`; the order of calls is the order of outputs.
  void Output(std::string name, const Expr& value);
  // State: after a run, `input` takes the value of `next`, which becomes an output named `name`.
  void Update(const Expr& input, std::string name, const Expr& next);

  // The verified model, or the first error, which names the op. The builder is spent.
  absl::StatusOr<Model> Build();

  // While it lives, names of new values begin with `name` and a '/'; scopes nest.
  class Scope {
   public:
    Scope(GraphSink& sink, std::string_view name) : sink_(sink), outer_(sink.prefix()) {
      sink.set_prefix(outer_ + std::string(name) + "/");
    }
    ~Scope() { sink_.set_prefix(outer_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphSink& sink_;
    const std::string outer_;
  };

 protected:
  absl::StatusOr<std::vector<ValueId>> AddNode(Node node, const std::vector<bool>& wanted) override;

 private:
  explicit GraphBuilder(std::unique_ptr<Model> model);

  std::unique_ptr<Model> model_;
};

}  // namespace onward

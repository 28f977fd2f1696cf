// Runs a template: statements write text, expressions have values.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/rendering.h"
#include "files/chat_template/syntax.h"

namespace onward::chat_template {

// A scope's variables at work. Those around it live at least as long.
struct Frame {
  std::vector<std::optional<Value>> slots;  // nullopt: undefined
  Frame* around = nullptr;
};
using FramePtr = std::shared_ptr<Frame>;

class Evaluator {
 public:
  Evaluator(Rendering& rendering, const Dict& variables)
      : rendering_(rendering), variables_(variables) {}

  absl::StatusOr<std::string> Run(const Syntax& syntax);

 private:
  enum class Flow { kOn, kBreak, kContinue };
  using Made = absl::StatusOr<Value>;

  // Expressions.
  Made Evaluate(const Expr& expr, Frame& frame);
  Made EvaluateKind(const Expr& expr, Frame& frame);
  Made Name(const Expr& expr, Frame& frame);
  Made Container(const Expr& expr, Frame& frame);
  Made Comparison(const Expr& expr, Frame& frame);
  Made Concat(const Expr& expr, Frame& frame);
  Made SliceOf(const Expr& expr, Frame& frame);
  Made FilterOrTest(const Expr& expr, Frame& frame, const Value* text);
  Made Call(const Expr& expr, Frame& frame, const Value* caller);
  absl::StatusOr<Arguments> EvaluateArguments(const Expr& expr, Frame& frame);
  // Filters of a block's text.
  Made Filtered(const Expr* filters, Frame& frame, std::string text);

  // Statements, which write to `out`.
  absl::StatusOr<Flow> Execute(const Body& body, Frame& frame, std::string& out);
  absl::StatusOr<Flow> One(const Statement& statement, Frame& frame, std::string& out);
  absl::StatusOr<Flow> If(const Statement& statement, Frame& frame, std::string& out);
  absl::StatusOr<Flow> For(const Statement& statement, Frame& frame, std::string& out);
  absl::Status Turns(const Statement& statement, Values items, Frame& frame, std::string& out,
                     bool& finished_one);
  absl::StatusOr<Values> Chosen(const Statement& statement, Values items, Frame& frame);
  absl::StatusOr<Flow> With(const Statement& statement, Frame& frame, std::string& out);
  absl::Status Write(const Value& value, std::string& out);
  absl::Status Append(const std::string& text, std::string& out);
  absl::Status Assign(const Target& target, const Value& value, Frame& frame);
  absl::StatusOr<std::string> Captured(const Body& body, Frame& frame);

  // Macros.
  Made MakeMacro(const Statement& macro, const FramePtr& frame);
  Made Invoke(const Statement& macro, Frame* around, const Arguments& arguments);
  absl::Status BindParameters(const Statement& macro, const Arguments& arguments, Frame& frame);

  absl::Status FillDefaults(const Statement& macro, Frame& frame);

  FramePtr Enter(const Scope& scope, Frame* around);
  std::optional<Value> Variable(const std::string& name);
  absl::Status Located(int line, const absl::Status& status);

  Rendering& rendering_;
  const Dict& variables_;
  std::vector<FramePtr> frames_;  // that are at work, the innermost last
  bool located_ = false;          // an error already names its line
};

}  // namespace onward::chat_template

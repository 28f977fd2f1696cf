// From tokens to what a template is made of. Grammar and precedence are Jinja's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/chat_template/lexer.h"
#include "files/chat_template/syntax.h"

namespace onward::chat_template {

// InvalidArgument: "line 3: what is wrong or not supported".
absl::StatusOr<Syntax> Parse(std::string_view source);

// Finds the variable of each name, by Jinja's rules of scopes.
void FindVariables(Syntax& syntax);

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<Body> Template();

 private:
  using Made = absl::StatusOr<ExprPtr>;
  using Names = std::vector<std::string_view>;

  const Token& Now() const { return tokens_[at_]; }
  const Token& Ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token Take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool SkipName(std::string_view name);
  bool SkipOperator(std::string_view op);
  absl::Status Expect(std::string_view op);
  absl::Status ExpectName(std::string_view name);
  absl::StatusOr<std::string> TakeName();
  absl::Status Error(const std::string& what) const;
  std::string Found() const;  // the token, for messages
  ExprPtr New(Expr::Kind kind, std::string name = "") const;
  Made Finish(ExprPtr expr) const;

  // Expressions.
  Made Expression(bool with_condition = true);
  Made Condition();
  Made Or();
  Made And();
  Made Not();
  Made Compare();
  Made Sum();
  Made Concat();
  Made Product();
  Made Power();
  Made Unary(bool with_filter = true);
  Made Primary();
  Made Postfix(ExprPtr expr);
  Made Filters(ExprPtr expr);
  Made Filter(ExprPtr expr);
  Made Test(ExprPtr expr);
  Made Subscript(ExprPtr expr);
  Made SubscriptOrSlice(ExprPtr expr);
  Made Call(ExprPtr expr);
  absl::Status CallArguments(Expr& call);
  Made TupleOrExpression(bool with_condition, bool in_brackets, std::string_view end = "");
  Made ListLiteral();
  Made DictLiteral();
  Made WordChain(Made (Parser::*next)(), std::string_view word, Expr::Kind kind);
  Made Chain(Made (Parser::*next)(), std::initializer_list<std::string_view> operators);
  Made Constant(Value value);

  // Statements.
  absl::StatusOr<Body> Block(const Names& ends);
  absl::StatusOr<Body> BlockAndEnd(std::string_view end);
  absl::Status One(Body& body);
  absl::Status If(Statement& made);
  absl::Status For(Statement& made);
  absl::Status Set(Statement& made);
  absl::Status Macro(Statement& made);
  absl::Status CallBlock(Statement& made);
  absl::Status With(Statement& made);
  absl::Status Signature(Statement& made);
  absl::StatusOr<Target> AssignTarget(bool with_attribute, std::string_view end);
  absl::StatusOr<Target> OneTarget(bool with_attribute);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;  // of what is being read
  int loops_ = 0;  // that are being read
};

}  // namespace onward::chat_template

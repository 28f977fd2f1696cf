// Parses the parts that follow a value: attributes, items, calls, filters, tests.
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/parser.h"
#include "files/chat_template/python_text.h"
#include "onward/status.h"

namespace onward::chat_template {

using Kind = Expr::Kind;

Parser::Made Parser::Postfix(ExprPtr expr) {
  while (true) {
    if (Now().Is(".") || Now().Is("[")) {
      ONWARD_ASSIGN_OR_RETURN(expr, Subscript(std::move(expr)));
    } else if (Now().Is("(")) {
      ONWARD_ASSIGN_OR_RETURN(expr, Call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Parser::Made Parser::Filters(ExprPtr expr) {
  while (true) {
    if (SkipOperator("|")) {
      ONWARD_ASSIGN_OR_RETURN(expr, Filter(std::move(expr)));
    } else if (Now().IsName("is")) {
      ONWARD_ASSIGN_OR_RETURN(expr, Test(std::move(expr)));
    } else if (Now().Is("(")) {
      ONWARD_ASSIGN_OR_RETURN(expr, Call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

// Behind the bar. `expr` is null where a block's text is filtered.
Parser::Made Parser::Filter(ExprPtr expr) {
  ExprPtr made = New(Kind::kFilter);
  ONWARD_ASSIGN_OR_RETURN(made->name, TakeName());
  if (!IsFilter(made->name))
    return ErrorAt(made->line, absl::StrCat("the filter '", made->name, "' is not supported"));
  made->children.push_back(std::move(expr));
  if (Now().Is("(")) ONWARD_RETURN_IF_ERROR(CallArguments(*made));
  return Finish(std::move(made));
}

Parser::Made Parser::Test(ExprPtr expr) {
  ONWARD_RETURN_IF_ERROR(ExpectName("is"));
  const bool negated = SkipName("not");
  ExprPtr made = New(Kind::kTest);
  ONWARD_ASSIGN_OR_RETURN(made->name, TakeName());
  if (!IsTest(made->name))
    return ErrorAt(made->line, absl::StrCat("the test '", made->name, "' is not supported"));
  made->children.push_back(std::move(expr));
  using TokenKind = Token::Kind;
  const Token& now = Now();
  const bool value = now.kind == TokenKind::kName || now.kind == TokenKind::kString ||
                     now.kind == TokenKind::kInteger || now.kind == TokenKind::kFloat ||
                     now.Is("[") || now.Is("{");
  if (now.Is("(")) {
    ONWARD_RETURN_IF_ERROR(CallArguments(*made));
  } else if (value && !now.IsName("else") && !now.IsName("or") && !now.IsName("and")) {
    if (now.IsName("is")) return Error("tests cannot be chained by 'is'");
    if (++depth_ > 100) return Error("an expression is nested more than 100 times");
    ONWARD_ASSIGN_OR_RETURN(ExprPtr argument, Primary());
    ONWARD_ASSIGN_OR_RETURN(argument, Postfix(std::move(argument)));
    --depth_;
    made->arguments.push_back(std::move(argument));
    made->names.emplace_back();
  }
  ONWARD_ASSIGN_OR_RETURN(made, Finish(std::move(made)));
  if (!negated) return made;
  ExprPtr opposite = New(Kind::kNot);
  opposite->children.push_back(std::move(made));
  return Finish(std::move(opposite));
}

Parser::Made Parser::Subscript(ExprPtr expr) {
  if (SkipOperator("[")) return SubscriptOrSlice(std::move(expr));
  ONWARD_RETURN_IF_ERROR(Expect("."));
  ExprPtr made = New(Kind::kAttribute);
  made->children.push_back(std::move(expr));
  if (Now().kind == Token::Kind::kInteger) {
    bool fits;
    const int64_t index = ParseInteger(Take().text, fits).value_or(0);
    made->kind = Kind::kItem;
    ONWARD_ASSIGN_OR_RETURN(ExprPtr constant, Constant(Value(index)));
    made->children.push_back(std::move(constant));
    return Finish(std::move(made));
  }
  ONWARD_ASSIGN_OR_RETURN(made->name, TakeName());
  return Finish(std::move(made));
}

// Behind "[".
Parser::Made Parser::SubscriptOrSlice(ExprPtr expr) {
  ExprPtr made = New(Kind::kItem);
  made->children.push_back(std::move(expr));
  ExprPtr parts[3];
  int colons = 0;
  while (!Now().Is("]")) {
    if (Now().Is(",")) return Error("subscripts of several values are not supported");
    if (SkipOperator(":")) {
      if (++colons > 2) return Error("unexpected ':'");
      continue;
    }
    if (parts[colons] != nullptr) return Error(absl::StrCat("expected ']', found ", Found()));
    ONWARD_ASSIGN_OR_RETURN(parts[colons], Expression());
  }
  if (colons == 0 && parts[0] == nullptr) return Error("expected a subscript, found ']'");
  ONWARD_RETURN_IF_ERROR(Expect("]"));
  if (colons > 0) made->kind = Kind::kSlice;
  for (int i = 0; i < (colons > 0 ? 3 : 1); ++i) made->children.push_back(std::move(parts[i]));
  return Finish(std::move(made));
}

Parser::Made Parser::Call(ExprPtr expr) {
  ExprPtr made = New(Kind::kCall);
  made->children.push_back(std::move(expr));
  ONWARD_RETURN_IF_ERROR(CallArguments(*made));
  return Finish(std::move(made));
}

absl::Status Parser::CallArguments(Expr& call) {
  ONWARD_RETURN_IF_ERROR(Expect("("));
  bool named = false, listed = false, mapped = false;
  while (!Now().Is(")")) {
    if (!call.arguments.empty()) ONWARD_RETURN_IF_ERROR(Expect(","));
    if (Now().Is(")")) break;
    std::string name;
    if (SkipOperator("*")) {
      if (listed || mapped) return Error("a call has a second '*'");
      name.assign(1, '*');
      listed = true;
    } else if (SkipOperator("**")) {
      if (mapped) return Error("a call has a second '**'");
      name.assign(2, '*');
      mapped = true;
    } else if (Now().kind == Token::Kind::kName && Ahead().Is("=")) {
      if (mapped) return Error("an argument follows '**'");
      name = Take().text;
      Take();
      named = true;
    } else if (named || listed || mapped) {
      return Error("an argument without a name follows one with a name");
    }
    ONWARD_ASSIGN_OR_RETURN(ExprPtr value, Expression());
    call.arguments.push_back(std::move(value));
    call.names.push_back(std::move(name));
  }
  return Expect(")");
}

}  // namespace onward::chat_template

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/parser.h"
#include "files/chat_template/python_text.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

constexpr int kDeepest = 200;  // expressions inside each other

using Kind = Expr::Kind;

}  // namespace

bool Parser::SkipName(std::string_view name) {
  if (!Now().IsName(name)) return false;
  Take();
  return true;
}

bool Parser::SkipOperator(std::string_view op) {
  if (!Now().Is(op)) return false;
  Take();
  return true;
}

absl::Status Parser::Expect(std::string_view op) {
  if (SkipOperator(op)) return absl::OkStatus();
  return Error(absl::StrCat("expected '", std::string(op), "', found ", Found()));
}

absl::Status Parser::ExpectName(std::string_view name) {
  if (SkipName(name)) return absl::OkStatus();
  return Error(absl::StrCat("expected '", std::string(name), "', found ", Found()));
}

absl::StatusOr<std::string> Parser::TakeName() {
  if (Now().kind != Token::Kind::kName)
    return Error(absl::StrCat("expected a name, found ", Found()));
  return Take().text;
}

absl::Status Parser::Error(const std::string& what) const { return ErrorAt(Now().line, what); }

std::string Parser::Found() const {
  switch (Now().kind) {
    case Token::Kind::kEnd:
      return "the end of the template";
    case Token::Kind::kVariableEnd:
      return "'}}'";
    case Token::Kind::kBlockEnd:
      return "'%}'";
    default:
      return absl::StrCat("'", files::PrintableUtf8(Now().text), "'");
  }
}

ExprPtr Parser::New(Expr::Kind kind, std::string name) const {
  auto made = std::make_unique<Expr>();
  made->kind = kind;
  made->line = Now().line;
  made->name = std::move(name);
  return made;
}

Parser::Made Parser::Finish(ExprPtr expr) const {
  for (const auto* list : {&expr->children, &expr->arguments})
    for (const ExprPtr& child : *list)
      if (child != nullptr) expr->depth = std::max(expr->depth, child->depth + 1);
  if (expr->depth > kDeepest)
    return Error(absl::StrCat("an expression is nested more than ", kDeepest, " times"));
  return expr;
}

Parser::Made Parser::Constant(Value value) {
  ExprPtr made = New(Kind::kConstant);
  made->constant = std::move(value);
  return made;
}

Parser::Made Parser::Expression(bool with_condition) {
  if (++depth_ > kDeepest / 2)
    return Error(absl::StrCat("an expression is nested more than ", kDeepest / 2, " times"));
  Made made = with_condition ? Condition() : Or();
  --depth_;
  return made;
}

Parser::Made Parser::Condition() {
  ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, Or());
  while (SkipName("if")) {
    ExprPtr made = New(Kind::kCondition);
    ONWARD_ASSIGN_OR_RETURN(ExprPtr condition, Or());
    ExprPtr otherwise;
    if (SkipName("else")) {
      ONWARD_ASSIGN_OR_RETURN(otherwise, Expression());
    }
    made->children.push_back(std::move(condition));
    made->children.push_back(std::move(expr));
    made->children.push_back(std::move(otherwise));
    ONWARD_ASSIGN_OR_RETURN(expr, Finish(std::move(made)));
  }
  return expr;
}

Parser::Made Parser::Or() { return WordChain(&Parser::And, "or", Kind::kOr); }
Parser::Made Parser::And() { return WordChain(&Parser::Not, "and", Kind::kAnd); }

Parser::Made Parser::WordChain(Made (Parser::*next)(), std::string_view word, Kind kind) {
  ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, (this->*next)());
  while (SkipName(word)) {
    ExprPtr made = New(kind);
    made->children.push_back(std::move(expr));
    ONWARD_ASSIGN_OR_RETURN(ExprPtr right, (this->*next)());
    made->children.push_back(std::move(right));
    ONWARD_ASSIGN_OR_RETURN(expr, Finish(std::move(made)));
  }
  return expr;
}

Parser::Made Parser::Not() {
  int count = 0;
  while (SkipName("not")) ++count;
  ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, Compare());
  for (; count > 0; --count) {
    ExprPtr made = New(Kind::kNot);
    made->children.push_back(std::move(expr));
    ONWARD_ASSIGN_OR_RETURN(expr, Finish(std::move(made)));
  }
  return expr;
}

Parser::Made Parser::Compare() {
  static constexpr std::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">="};
  ExprPtr made = New(Kind::kCompare);
  ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, Sum());
  made->children.push_back(std::move(expr));
  while (true) {
    std::string op;
    for (const std::string_view known : kOperators)
      if (Now().Is(known)) op = known;
    if (!op.empty() || Now().IsName("in")) {
      op = Take().text;
    } else if (Now().IsName("not") && Ahead().IsName("in")) {
      Take();
      Take();
      op = "not in";
    } else {
      break;
    }
    made->names.push_back(op);
    ONWARD_ASSIGN_OR_RETURN(ExprPtr right, Sum());
    made->children.push_back(std::move(right));
  }
  if (made->names.empty()) return std::move(made->children[0]);
  return Finish(std::move(made));
}

// Operators of one precedence, from the left.
Parser::Made Parser::Chain(Made (Parser::*next)(),
                           std::initializer_list<std::string_view> operators) {
  ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, (this->*next)());
  while (std::any_of(operators.begin(), operators.end(),
                     [&](std::string_view op) { return Now().Is(op); })) {
    ExprPtr made = New(Kind::kBinary, Take().text);
    made->children.push_back(std::move(expr));
    ONWARD_ASSIGN_OR_RETURN(ExprPtr right, (this->*next)());
    made->children.push_back(std::move(right));
    ONWARD_ASSIGN_OR_RETURN(expr, Finish(std::move(made)));
  }
  return expr;
}

Parser::Made Parser::Sum() { return Chain(&Parser::Concat, {"+", "-"}); }

Parser::Made Parser::Concat() {
  ExprPtr made = New(Kind::kConcat);
  do {
    ONWARD_ASSIGN_OR_RETURN(ExprPtr part, Product());
    made->children.push_back(std::move(part));
  } while (SkipOperator("~"));
  if (made->children.size() == 1) return std::move(made->children[0]);
  return Finish(std::move(made));
}

Parser::Made Parser::Product() { return Chain(&Parser::Power, {"*", "/", "//", "%"}); }

Parser::Made Parser::Power() {
  ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, Unary());
  while (Now().Is("**")) {
    ExprPtr made = New(Kind::kBinary, Take().text);
    made->children.push_back(std::move(expr));
    ONWARD_ASSIGN_OR_RETURN(ExprPtr right, Unary());
    made->children.push_back(std::move(right));
    ONWARD_ASSIGN_OR_RETURN(expr, Finish(std::move(made)));
  }
  return expr;
}

Parser::Made Parser::Unary(bool with_filter) {
  std::vector<ExprPtr> signs;
  while (Now().Is("-") || Now().Is("+")) signs.push_back(New(Kind::kUnary, Take().text));
  ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, Primary());
  ONWARD_ASSIGN_OR_RETURN(expr, Postfix(std::move(expr)));
  for (; !signs.empty(); signs.pop_back()) {
    signs.back()->children.push_back(std::move(expr));
    ONWARD_ASSIGN_OR_RETURN(expr, Finish(std::move(signs.back())));
    // As Jinja has it, what follows belongs to the signed value: -x|abs is (-x)|abs.
    ONWARD_ASSIGN_OR_RETURN(expr, Postfix(std::move(expr)));
  }
  if (!with_filter) return expr;
  return Filters(std::move(expr));
}

namespace {

absl::StatusOr<Value> NumberOf(const Token& token) {
  if (token.kind == Token::Kind::kFloat) {
    const auto number = ParseFloat(token.text);
    return Value(number.value_or(0));
  }
  bool fits;
  const auto integer = ParseInteger(token.text, fits);
  if (!integer.has_value() || !fits)
    return ErrorAt(token.line, absl::StrCat("the number ", token.text, " does not fit 64 bits"));
  return Value(*integer);
}

}  // namespace

Parser::Made Parser::Primary() {
  using TokenKind = Token::Kind;
  const TokenKind kind = Now().kind;
  if (kind == TokenKind::kName) {
    ExprPtr made = New(Kind::kName, Take().text);
    if (made->name == "true" || made->name == "True") return Constant(Value(true));
    if (made->name == "false" || made->name == "False") return Constant(Value(false));
    if (made->name == "none" || made->name == "None") return Constant(Value());
    return made;
  }
  if (kind == TokenKind::kString) {
    std::string text;
    while (Now().kind == TokenKind::kString) text += Take().text;
    return Constant(Value(std::move(text)));
  }
  if (kind == TokenKind::kInteger || kind == TokenKind::kFloat) {
    ONWARD_ASSIGN_OR_RETURN(Value number, NumberOf(Take()));
    return Constant(std::move(number));
  }
  if (SkipOperator("(")) {
    ONWARD_ASSIGN_OR_RETURN(ExprPtr made, TupleOrExpression(true, true));
    ONWARD_RETURN_IF_ERROR(Expect(")"));
    return made;
  }
  if (Now().Is("[")) return ListLiteral();
  if (Now().Is("{")) return DictLiteral();
  return Error(absl::StrCat("unexpected ", Found()));
}

Parser::Made Parser::TupleOrExpression(bool with_condition, bool in_brackets,
                                       std::string_view end) {
  ExprPtr made = New(Kind::kTuple);
  bool tuple = false;
  while (true) {
    const Token& now = Now();
    if (now.kind == Token::Kind::kVariableEnd || now.kind == Token::Kind::kBlockEnd ||
        now.Is(")") || (!end.empty() && now.IsName(end)))
      break;
    ONWARD_ASSIGN_OR_RETURN(ExprPtr item, Expression(with_condition));
    made->children.push_back(std::move(item));
    if (!SkipOperator(",")) break;
    tuple = true;
  }
  if (!tuple && made->children.size() == 1) return std::move(made->children[0]);
  if (!tuple && !in_brackets) return Error(absl::StrCat("expected an expression, found ", Found()));
  return Finish(std::move(made));
}

Parser::Made Parser::ListLiteral() {
  ExprPtr made = New(Kind::kList);
  ONWARD_RETURN_IF_ERROR(Expect("["));
  while (!Now().Is("]")) {
    if (!made->children.empty()) ONWARD_RETURN_IF_ERROR(Expect(","));
    if (Now().Is("]")) break;
    ONWARD_ASSIGN_OR_RETURN(ExprPtr item, Expression());
    made->children.push_back(std::move(item));
  }
  ONWARD_RETURN_IF_ERROR(Expect("]"));
  return Finish(std::move(made));
}

Parser::Made Parser::DictLiteral() {
  ExprPtr made = New(Kind::kDict);
  ONWARD_RETURN_IF_ERROR(Expect("{"));
  while (!Now().Is("}")) {
    if (!made->children.empty()) ONWARD_RETURN_IF_ERROR(Expect(","));
    if (Now().Is("}")) break;
    ONWARD_ASSIGN_OR_RETURN(ExprPtr key, Expression());
    ONWARD_RETURN_IF_ERROR(Expect(":"));
    ONWARD_ASSIGN_OR_RETURN(ExprPtr value, Expression());
    made->children.push_back(std::move(key));
    made->children.push_back(std::move(value));
  }
  ONWARD_RETURN_IF_ERROR(Expect("}"));
  return Finish(std::move(made));
}

}  // namespace onward::chat_template

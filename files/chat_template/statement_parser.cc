#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/parser.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Kind = Statement::Kind;
using TokenKind = Token::Kind;

constexpr int kDeepestBlock = 50;
// Published templates have 30 KiB and 100 names.
constexpr size_t kLongest = size_t{256} << 10, kMostNames = 1000;

struct Tag {
  const char* name;
  Kind kind;
};
constexpr Tag kTags[] = {
    {"if", Kind::kIf},          {"for", Kind::kFor},
    {"set", Kind::kSet},        {"macro", Kind::kMacro},
    {"call", Kind::kCallBlock}, {"filter", Kind::kFilterBlock},
    {"with", Kind::kWith},      {"generation", Kind::kGeneration},
    {"break", Kind::kBreak},    {"continue", Kind::kContinue},
};

std::unique_ptr<Statement> NewStatement(Kind kind, int line) {
  auto made = std::make_unique<Statement>();
  made->kind = kind;
  made->line = line;
  return made;
}

}  // namespace

absl::StatusOr<Body> Parser::Template() {
  ONWARD_ASSIGN_OR_RETURN(Body body, Block({}));
  return body;
}

// Up to a block of one of the names, which is not taken; without names, to the end.
absl::StatusOr<Body> Parser::Block(const Names& ends) {
  Body body;
  if (++depth_ > kDeepestBlock)
    return Error(absl::StrCat("blocks are nested more than ", kDeepestBlock, " times"));
  const int line = Now().line;
  while (Now().kind != TokenKind::kEnd) {
    if (Now().kind == TokenKind::kData) {
      body.push_back(NewStatement(Kind::kText, Now().line));
      body.back()->text = Take().text;
      continue;
    }
    const bool output = Take().kind == TokenKind::kVariableBegin;
    if (output) {
      body.push_back(NewStatement(Kind::kOutput, Now().line));
      ONWARD_ASSIGN_OR_RETURN(ExprPtr expr, TupleOrExpression(true, false));
      body.back()->exprs.push_back(std::move(expr));
      if (Now().kind != TokenKind::kVariableEnd)
        return Error(absl::StrCat("expected '}}', found ", Found()));
      Take();
      continue;
    }
    for (const std::string_view end : ends) {
      if (!Now().IsName(end)) continue;
      --depth_;
      return body;
    }
    ONWARD_RETURN_IF_ERROR(One(body));
    if (Now().kind != TokenKind::kBlockEnd)
      return Error(absl::StrCat("expected '%}', found ", Found()));
    Take();
  }
  --depth_;
  if (ends.empty()) return body;
  return ErrorAt(line, absl::StrCat("'{% ", std::string(ends.back()), " %}' is missing"));
}

// A body from the end of its tag to the block `end`, whose name is taken.
absl::StatusOr<Body> Parser::BlockAndEnd(std::string_view end) {
  SkipOperator(":");
  if (Now().kind != TokenKind::kBlockEnd)
    return Error(absl::StrCat("expected '%}', found ", Found()));
  Take();
  ONWARD_ASSIGN_OR_RETURN(Body body, Block({end}));
  Take();
  return body;
}

absl::Status Parser::One(Body& body) {
  const int line = Now().line;
  ONWARD_ASSIGN_OR_RETURN(const std::string name, TakeName());
  const auto* tag = std::find_if(std::begin(kTags), std::end(kTags),
                                 [&](const Tag& row) { return name == row.name; });
  if (tag == std::end(kTags))
    return ErrorAt(line,
                   absl::StrCat("'{% ", files::PrintableUtf8(name), " %}' is not supported here"));
  auto made = NewStatement(tag->kind, line);
  switch (tag->kind) {
    case Kind::kIf:
      ONWARD_RETURN_IF_ERROR(If(*made));
      break;
    case Kind::kFor:
      ONWARD_RETURN_IF_ERROR(For(*made));
      break;
    case Kind::kSet:
      ONWARD_RETURN_IF_ERROR(Set(*made));
      break;
    case Kind::kMacro:
      ONWARD_RETURN_IF_ERROR(Macro(*made));
      break;
    case Kind::kCallBlock:
      ONWARD_RETURN_IF_ERROR(CallBlock(*made));
      break;
    case Kind::kWith:
      ONWARD_RETURN_IF_ERROR(With(*made));
      break;
    case Kind::kFilterBlock: {
      ONWARD_ASSIGN_OR_RETURN(ExprPtr filters, Filter(nullptr));
      while (SkipOperator("|")) {
        ONWARD_ASSIGN_OR_RETURN(filters, Filter(std::move(filters)));
      }
      made->exprs.push_back(std::move(filters));
      ONWARD_ASSIGN_OR_RETURN(Body inner, BlockAndEnd("endfilter"));
      made->bodies.push_back(std::move(inner));
      break;
    }
    case Kind::kGeneration: {
      ONWARD_ASSIGN_OR_RETURN(Body inner, BlockAndEnd("endgeneration"));
      made->bodies.push_back(std::move(inner));
      break;
    }
    default:
      if (loops_ == 0) return ErrorAt(line, absl::StrCat("'{% ", name, " %}' is outside a loop"));
  }
  body.push_back(std::move(made));
  return absl::OkStatus();
}

absl::Status Parser::If(Statement& made) {
  bool more = true;
  while (more) {
    ONWARD_ASSIGN_OR_RETURN(ExprPtr condition, TupleOrExpression(false, false));
    made.exprs.push_back(std::move(condition));
    SkipOperator(":");
    if (Now().kind != TokenKind::kBlockEnd)
      return Error(absl::StrCat("expected '%}', found ", Found()));
    Take();
    ONWARD_ASSIGN_OR_RETURN(Body body, Block({"elif", "else", "endif"}));
    made.bodies.push_back(std::move(body));
    more = Now().IsName("elif");
    if (Take().text != "else") continue;
    ONWARD_ASSIGN_OR_RETURN(Body otherwise, BlockAndEnd("endif"));
    made.bodies.push_back(std::move(otherwise));
  }
  return absl::OkStatus();
}

absl::Status Parser::For(Statement& made) {
  ONWARD_ASSIGN_OR_RETURN(Target target, AssignTarget(false, "in"));
  made.targets.push_back(std::move(target));
  ONWARD_RETURN_IF_ERROR(ExpectName("in"));
  ONWARD_ASSIGN_OR_RETURN(ExprPtr items, TupleOrExpression(false, false, "recursive"));
  made.exprs.push_back(std::move(items));
  ExprPtr condition;
  if (SkipName("if")) {
    ONWARD_ASSIGN_OR_RETURN(condition, Expression());
  }
  made.exprs.push_back(std::move(condition));
  if (Now().IsName("recursive")) return Error("recursive loops are not supported");
  SkipOperator(":");
  if (Now().kind != TokenKind::kBlockEnd)
    return Error(absl::StrCat("expected '%}', found ", Found()));
  Take();
  ++loops_;
  ONWARD_ASSIGN_OR_RETURN(Body body, Block({"else", "endfor"}));
  --loops_;
  made.bodies.push_back(std::move(body));
  made.bodies.emplace_back();
  if (Take().text != "else") return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(made.bodies[1], BlockAndEnd("endfor"));
  return absl::OkStatus();
}

absl::Status Parser::Set(Statement& made) {
  ONWARD_ASSIGN_OR_RETURN(Target target, AssignTarget(true, ""));
  made.targets.push_back(std::move(target));
  if (SkipOperator("=")) {
    ONWARD_ASSIGN_OR_RETURN(ExprPtr value, TupleOrExpression(true, false));
    made.exprs.push_back(std::move(value));
    return absl::OkStatus();
  }
  made.kind = Kind::kBlockSet;
  ExprPtr filters;
  while (SkipOperator("|")) {
    ONWARD_ASSIGN_OR_RETURN(filters, Filter(std::move(filters)));
  }
  made.exprs.push_back(std::move(filters));
  ONWARD_ASSIGN_OR_RETURN(Body body, BlockAndEnd("endset"));
  made.bodies.push_back(std::move(body));
  return absl::OkStatus();
}

absl::Status Parser::Signature(Statement& made) {
  ONWARD_RETURN_IF_ERROR(Expect("("));
  bool defaults = false;
  while (!Now().Is(")")) {
    if (!made.targets.empty()) ONWARD_RETURN_IF_ERROR(Expect(","));
    if (Now().Is(")")) break;
    Target parameter;
    parameter.line = Now().line;
    ONWARD_ASSIGN_OR_RETURN(parameter.name, TakeName());
    for (const Target& other : made.targets)
      if (other.name == parameter.name)
        return Error(absl::StrCat("the parameter '", parameter.name, "' appears twice"));
    made.targets.push_back(std::move(parameter));
    if (SkipOperator("=")) {
      ONWARD_ASSIGN_OR_RETURN(ExprPtr value, Expression());
      made.exprs.push_back(std::move(value));
      defaults = true;
    } else if (defaults) {
      return Error("a parameter without a default follows one with a default");
    }
  }
  return Expect(")");
}

absl::Status Parser::Macro(Statement& made) {
  ONWARD_ASSIGN_OR_RETURN(made.text, TakeName());
  ONWARD_RETURN_IF_ERROR(Signature(made));
  const int loops = std::exchange(loops_, 0);
  ONWARD_ASSIGN_OR_RETURN(Body body, BlockAndEnd("endmacro"));
  loops_ = loops;
  made.bodies.push_back(std::move(body));
  return absl::OkStatus();
}

absl::Status Parser::CallBlock(Statement& made) {
  if (Now().Is("(")) ONWARD_RETURN_IF_ERROR(Signature(made));
  const int line = Now().line;
  ONWARD_ASSIGN_OR_RETURN(ExprPtr call, Expression());
  if (call->kind != Expr::Kind::kCall) return ErrorAt(line, "'{% call %}' is without a call");
  made.exprs.insert(made.exprs.begin(), std::move(call));
  const int loops = std::exchange(loops_, 0);
  ONWARD_ASSIGN_OR_RETURN(Body body, BlockAndEnd("endcall"));
  loops_ = loops;
  made.bodies.push_back(std::move(body));
  return absl::OkStatus();
}

absl::Status Parser::With(Statement& made) {
  while (Now().kind != TokenKind::kBlockEnd) {
    if (!made.targets.empty()) ONWARD_RETURN_IF_ERROR(Expect(","));
    ONWARD_ASSIGN_OR_RETURN(Target target, OneTarget(false));
    made.targets.push_back(std::move(target));
    ONWARD_RETURN_IF_ERROR(Expect("="));
    ONWARD_ASSIGN_OR_RETURN(ExprPtr value, Expression());
    made.exprs.push_back(std::move(value));
  }
  ONWARD_ASSIGN_OR_RETURN(Body body, BlockAndEnd("endwith"));
  made.bodies.push_back(std::move(body));
  return absl::OkStatus();
}

absl::StatusOr<Target> Parser::OneTarget(bool with_attribute) {
  Target made;
  made.line = Now().line;
  if (Now().Is("(")) return Error("targets in brackets are not supported");
  ONWARD_ASSIGN_OR_RETURN(made.name, TakeName());
  for (const char* constant : {"true", "false", "none", "True", "False", "None"})
    if (made.name == constant)
      return Error(absl::StrCat("'", made.name, "' cannot be assigned to"));
  if (with_attribute && SkipOperator(".")) {
    made.kind = Target::Kind::kAttribute;
    ONWARD_ASSIGN_OR_RETURN(made.attribute, TakeName());
  }
  return made;
}

// One or, with a comma, several: before the name `end` or an operator.
absl::StatusOr<Target> Parser::AssignTarget(bool with_attribute, std::string_view end) {
  ONWARD_ASSIGN_OR_RETURN(Target first, OneTarget(with_attribute));
  if (!Now().Is(",")) return first;
  Target made;
  made.kind = Target::Kind::kTuple;
  made.line = first.line;
  made.parts.push_back(std::move(first));
  while (SkipOperator(",")) {
    if (Now().kind != TokenKind::kName || (!end.empty() && Now().IsName(end))) break;
    ONWARD_ASSIGN_OR_RETURN(Target part, OneTarget(false));
    made.parts.push_back(std::move(part));
  }
  return made;
}

absl::StatusOr<Syntax> Parse(std::string_view source) {
  if (source.size() > kLongest)
    return absl::InvalidArgumentError(
        absl::StrCat("the template has more than ", kLongest, " bytes"));
  if (!files::IsUtf8(source)) return absl::InvalidArgumentError("the template is not UTF-8");
  ONWARD_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokens(source));
  std::set<std::string> names;
  for (const Token& token : tokens)
    if (token.kind == TokenKind::kName) names.insert(token.text);
  if (names.size() > kMostNames)
    return absl::InvalidArgumentError(
        absl::StrCat("the template has more than ", kMostNames, " different names"));
  Syntax made;
  ONWARD_ASSIGN_OR_RETURN(made.body, Parser(std::move(tokens)).Template());
  FindVariables(made);
  return made;
}

}  // namespace onward::chat_template

#include "files/chat_template/evaluator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {

using Kind = Expr::Kind;

absl::Status Evaluator::Located(int line, const absl::Status& status) {
  if (located_) return status;
  located_ = true;
  return absl::Status(
      status.code(),
      absl::StrCat("line ", line, ": ", files::PrintableUtf8(std::string(status.message()))));
}

absl::StatusOr<Value> Evaluator::Evaluate(const Expr& expr, Frame& frame) {
  const Rendering::Level level(rendering_);
  absl::Status status = level.Check();
  if (status.ok()) status = rendering_.Step();
  if (!status.ok()) return Located(expr.line, status);
  Made made = EvaluateKind(expr, frame);
  if (!made.ok()) return Located(expr.line, made.status());
  return made;
}

absl::StatusOr<Value> Evaluator::EvaluateKind(const Expr& expr, Frame& frame) {
  const auto child = [&](size_t i) { return Evaluate(*expr.children[i], frame); };
  switch (expr.kind) {
    case Kind::kConstant:
      return expr.constant;
    case Kind::kName:
      return Name(expr, frame);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
      return Container(expr, frame);
    case Kind::kSlice:
      return SliceOf(expr, frame);
    case Kind::kCall:
      return Call(expr, frame, nullptr);
    case Kind::kFilter:
    case Kind::kTest:
      return FilterOrTest(expr, frame, nullptr);
    case Kind::kCompare:
      return Comparison(expr, frame);
    case Kind::kConcat:
      return Concat(expr, frame);
    default:
      break;
  }
  if (expr.kind == Kind::kCondition) {
    ONWARD_ASSIGN_OR_RETURN(const Value condition, child(0));
    if (condition.IsTrue()) return child(1);
    if (expr.children[2] != nullptr) return child(2);
    return Value::OfUndefined("the 'if' of an expression is false and has no 'else'");
  }
  ONWARD_ASSIGN_OR_RETURN(const Value first, child(0));
  if (expr.kind == Kind::kNot) return Value(!first.IsTrue());
  if (expr.kind == Kind::kAnd) return first.IsTrue() ? child(1) : first;
  if (expr.kind == Kind::kOr) return first.IsTrue() ? first : child(1);
  if (expr.kind == Kind::kUnary) return Signed(expr.name, first);
  if (expr.kind == Kind::kAttribute) return Attribute(rendering_, first, expr.name);
  ONWARD_ASSIGN_OR_RETURN(const Value second, child(1));
  if (expr.kind == Kind::kItem) return Item(rendering_, first, second);
  return Binary(rendering_, expr.name, first, second);
}

std::optional<Value> Evaluator::Variable(const std::string& name) {
  if (const Value* found = variables_.Find(name)) return *found;
  return FindFunction(rendering_, name);
}

absl::StatusOr<Value> Evaluator::Name(const Expr& expr, Frame& frame) {
  Frame* scope = &frame;
  for (int up = expr.slot.up; up > 0; --up) scope = scope->around;
  const std::optional<Value>& value = scope->slots[expr.slot.index];
  if (value.has_value()) return *value;
  return Value::OfUndefined(absl::StrCat("'", expr.name, "' is undefined"));
}

absl::StatusOr<Value> Evaluator::Container(const Expr& expr, Frame& frame) {
  Values items;
  for (const ExprPtr& child : expr.children) {
    ONWARD_ASSIGN_OR_RETURN(Value item, Evaluate(*child, frame));
    items.push_back(std::move(item));
  }
  if (expr.kind == Kind::kList) return rendering_.MakeList(std::move(items));
  if (expr.kind == Kind::kTuple) return rendering_.MakeTuple(std::move(items));
  Dict made;
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    ONWARD_RETURN_IF_ERROR(made.Set(items[i], items[i + 1]));
  return rendering_.MakeDict(std::move(made));
}

// a < b < c is a < b and b < c.
absl::StatusOr<Value> Evaluator::Comparison(const Expr& expr, Frame& frame) {
  ONWARD_ASSIGN_OR_RETURN(Value left, Evaluate(*expr.children[0], frame));
  for (size_t i = 0; i < expr.names.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(Value right, Evaluate(*expr.children[i + 1], frame));
    ONWARD_ASSIGN_OR_RETURN(const bool is, Compares(rendering_, expr.names[i], left, right));
    if (!is) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

absl::StatusOr<Value> Evaluator::Concat(const Expr& expr, Frame& frame) {
  std::string made;
  for (const ExprPtr& child : expr.children) {
    ONWARD_ASSIGN_OR_RETURN(const Value part, Evaluate(*child, frame));
    ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering_, part));
    made += text;
  }
  return rendering_.MakeText(std::move(made));
}

absl::StatusOr<Value> Evaluator::SliceOf(const Expr& expr, Frame& frame) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    if (expr.children[i] == nullptr) continue;
    ONWARD_ASSIGN_OR_RETURN(parts[i], Evaluate(*expr.children[i], frame));
  }
  return Slice(rendering_, parts[0], parts[1], parts[2], parts[3]);
}

absl::StatusOr<Arguments> Evaluator::EvaluateArguments(const Expr& expr, Frame& frame) {
  Arguments made;
  for (size_t i = 0; i < expr.arguments.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(Value value, Evaluate(*expr.arguments[i], frame));
    const std::string& name = expr.names[i];
    if (name.empty()) {
      made.positional.push_back(std::move(value));
    } else if (name == "*") {
      ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering_, value));
      made.positional.insert(made.positional.end(), items.begin(), items.end());
    } else if (name == "**") {
      const Dict* dict = value.AsShared<Dict>();
      if (dict == nullptr)
        return absl::InvalidArgumentError(
            absl::StrCat("'**' needs a dict, not a ", value.TypeName()));
      for (const auto& entry : dict->entries()) {
        if (entry.first.text() == nullptr)
          return absl::InvalidArgumentError("'**' needs a dict whose keys are texts");
        made.named.emplace_back(*entry.first.text(), entry.second);
      }
    } else {
      made.named.emplace_back(name, std::move(value));
    }
  }
  return made;
}

absl::StatusOr<Value> Evaluator::FilterOrTest(const Expr& expr, Frame& frame, const Value* text) {
  Value self;
  if (expr.children[0] != nullptr && (text == nullptr || expr.children[0]->kind != Kind::kFilter)) {
    ONWARD_ASSIGN_OR_RETURN(self, Evaluate(*expr.children[0], frame));
  } else if (expr.children[0] != nullptr) {
    ONWARD_ASSIGN_OR_RETURN(self, FilterOrTest(*expr.children[0], frame, text));
  } else {
    self = *text;
  }
  ONWARD_ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(expr, frame));
  if (expr.kind == Kind::kFilter) return CallFilter(rendering_, expr.name, self, arguments);
  ONWARD_ASSIGN_OR_RETURN(const bool is, CallTest(rendering_, expr.name, self, arguments));
  return Value(is);
}

absl::StatusOr<Value> Evaluator::Filtered(const Expr* filters, Frame& frame, std::string text) {
  ONWARD_ASSIGN_OR_RETURN(const Value value, rendering_.MakeText(std::move(text)));
  if (filters == nullptr) return value;
  Made made = FilterOrTest(*filters, frame, &value);
  if (!made.ok()) return Located(filters->line, made.status());
  return made;
}

absl::StatusOr<Value> Evaluator::Call(const Expr& expr, Frame& frame, const Value* caller) {
  ONWARD_ASSIGN_OR_RETURN(const Value callee, Evaluate(*expr.children[0], frame));
  ONWARD_ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(expr, frame));
  if (callee.is_undefined()) return UndefinedError(callee);
  const Callable* callable = callee.AsShared<Callable>();
  if (callable == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("a ", callee.TypeName(), " cannot be called"));
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  return callable->call(arguments);
}

}  // namespace onward::chat_template

// The tests that follow `is`.
#include "absl/strings/str_cat.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/chat_template/python_text.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Made = absl::StatusOr<Value>;

template <bool (*is)(const Value&)>
Made Is(Rendering&, const Value& self, const Bound&) {
  return Value(is(self));
}

bool IsDefined(const Value& value) { return !value.is_undefined(); }
bool IsUndefined(const Value& value) { return value.is_undefined(); }
bool IsNone(const Value& value) { return value.is_none(); }
bool IsBoolean(const Value& value) { return value.As<bool>() != nullptr; }
bool IsFalseItself(const Value& value) { return IsBoolean(value) && !*value.As<bool>(); }
bool IsTrueItself(const Value& value) { return IsBoolean(value) && *value.As<bool>(); }
bool IsIntegerItself(const Value& value) { return value.As<int64_t>() != nullptr; }
bool IsFloat(const Value& value) { return value.As<double>() != nullptr; }
bool IsNumber(const Value& value) { return value.Number().has_value(); }
bool IsString(const Value& value) { return value.text() != nullptr; }
bool IsMapping(const Value& value) { return value.AsShared<Dict>() != nullptr; }
bool IsCallable(const Value& value) {
  // Undefined has a __call__, which fails.
  return value.AsShared<Callable>() != nullptr || value.is_undefined() ||
         value.As<std::shared_ptr<LoopState>>() != nullptr;
}
bool IsEscaped(const Value& value) { return value.is_markup(); }
bool IsSequence(const Value& value) {
  return value.is_undefined() || value.text() != nullptr || value.items() != nullptr ||
         value.AsShared<Dict>() != nullptr || value.As<Range>() != nullptr;
}
bool IsIterable(const Value& value) {
  return IsSequence(value) || value.As<View>() != nullptr ||
         value.As<std::shared_ptr<Iterator>>() != nullptr ||
         value.As<std::shared_ptr<LoopState>>() != nullptr;
}

template <bool (*is)(std::string_view)>
Made HasCase(Rendering& rendering, const Value& self, const Bound&) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, self));
  return Value(is(text));
}

Made Divides(Rendering& rendering, const Value& self, int64_t by, int64_t rest) {
  ONWARD_ASSIGN_OR_RETURN(const Value left, Binary(rendering, "%", self, Value(by)));
  ONWARD_ASSIGN_OR_RETURN(const bool is, IsEqual(rendering, left, Value(rest)));
  return Value(is);
}

Made IsOdd(Rendering& rendering, const Value& self, const Bound&) {
  return Divides(rendering, self, 2, 1);
}

Made IsEven(Rendering& rendering, const Value& self, const Bound&) {
  return Divides(rendering, self, 2, 0);
}

Made IsDivisible(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t by, arguments.Integer(0));
  return Divides(rendering, self, by, 0);
}

const char kEqual[] = "==", kUnequal[] = "!=", kLess[] = "<", kLessEqual[] = "<=", kGreater[] = ">",
           kGreaterEqual[] = ">=", kIn[] = "in";

template <const char* op>
Made Compare(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const bool is, Compares(rendering, op, self, arguments[0]));
  return Value(is);
}

Made IsSame(Rendering& rendering, const Value& self, const Bound& arguments) {
  if (self.payload().index() != arguments[0].payload().index()) return Value(false);
  if (self.items() != nullptr) return Value(self.items() == arguments[0].items());
  if (self.AsShared<Dict>() != nullptr)
    return Value(self.AsShared<Dict>() == arguments[0].AsShared<Dict>());
  ONWARD_ASSIGN_OR_RETURN(const bool is, IsEqual(rendering, self, arguments[0]));
  return Value(is);
}

Made NamesFilter(Rendering&, const Value& self, const Bound&) {
  return Value(self.text() != nullptr && IsFilter(*self.text()));
}

Made NamesTest(Rendering&, const Value& self, const Bound&) {
  return Value(self.text() != nullptr && IsTest(*self.text()));
}

constexpr Builtin kTests[] = {
    {"odd", "", IsOdd},
    {"even", "", IsEven},
    {"divisibleby", "num", IsDivisible},
    {"defined", "", Is<IsDefined>},
    {"undefined", "", Is<IsUndefined>},
    {"none", "", Is<IsNone>},
    {"boolean", "", Is<IsBoolean>},
    {"false", "", Is<IsFalseItself>},
    {"true", "", Is<IsTrueItself>},
    {"integer", "", Is<IsIntegerItself>},
    {"float", "", Is<IsFloat>},
    {"number", "", Is<IsNumber>},
    {"string", "", Is<IsString>},
    {"mapping", "", Is<IsMapping>},
    {"sequence", "", Is<IsSequence>},
    {"iterable", "", Is<IsIterable>},
    {"callable", "", Is<IsCallable>},
    {"escaped", "", Is<IsEscaped>},
    {"lower", "", HasCase<IsLowerText>},
    {"upper", "", HasCase<IsUpperText>},
    {"sameas", "other", IsSame},
    {"filter", "", NamesFilter},
    {"test", "", NamesTest},
    {"in", "seq", Compare<kIn>},
    {"eq", "other", Compare<kEqual>},
    {"==", "other", Compare<kEqual>},
    {"equalto", "other", Compare<kEqual>},
    {"ne", "other", Compare<kUnequal>},
    {"!=", "other", Compare<kUnequal>},
    {"lt", "other", Compare<kLess>},
    {"<", "other", Compare<kLess>},
    {"lessthan", "other", Compare<kLess>},
    {"le", "other", Compare<kLessEqual>},
    {"<=", "other", Compare<kLessEqual>},
    {"gt", "other", Compare<kGreater>},
    {">", "other", Compare<kGreater>},
    {"greaterthan", "other", Compare<kGreater>},
    {"ge", "other", Compare<kGreaterEqual>},
    {">=", "other", Compare<kGreaterEqual>},
};

}  // namespace

Builtins Tests() { return kTests; }

}  // namespace onward::chat_template

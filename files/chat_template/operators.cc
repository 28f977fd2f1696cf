#include "files/chat_template/operators.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "files/chat_template/python_text.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

absl::Status Unsupported(std::string_view op, const Value& a, const Value& b) {
  if (a.is_undefined()) return UndefinedError(a);
  if (b.is_undefined()) return UndefinedError(b);
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(op), "' of ", a.TypeName(),
                                                 " and ", b.TypeName(), " is not possible"));
}

absl::Status TooLarge() {
  return absl::InvalidArgumentError("integers beyond 64 bits are not supported");
}

absl::StatusOr<Value> IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return absl::InvalidArgumentError("zero to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t made = 1;
  for (int64_t square = base; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(made, square, &made)) return TooLarge();
    if (exponent > 1 && __builtin_mul_overflow(square, square, &square)) return TooLarge();
  }
  return Value(made);
}

absl::StatusOr<Value> Integers(std::string_view op, int64_t a, int64_t b) {
  int64_t made = 0;
  if (op == "+" || op == "-" || op == "*") {
    const bool over = op == "+"   ? __builtin_add_overflow(a, b, &made)
                      : op == "-" ? __builtin_sub_overflow(a, b, &made)
                                  : __builtin_mul_overflow(a, b, &made);
    if (over) return TooLarge();
    return Value(made);
  }
  if (op == "**") return IntegerPower(a, b);
  if (b == 0) return absl::InvalidArgumentError("division by zero");
  if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) return op == "%" ? Value(int64_t{0}) : Integers("-", 0, a);
  const int64_t rest = a % b;
  const bool down = rest != 0 && (rest < 0) != (b < 0);
  return op == "%" ? Value(down ? rest + b : rest) : Value(a / b - (down ? 1 : 0));
}

absl::StatusOr<Value> Floats(std::string_view op, double a, double b) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") {
    if (a == 0 && b < 0) return absl::InvalidArgumentError("zero to a negative power");
    const double made = std::pow(a, b);
    if (std::isnan(made) && !std::isnan(a) && !std::isnan(b))
      return absl::InvalidArgumentError("complex numbers are not supported");
    if (std::isinf(made) && !std::isinf(a) && !std::isinf(b))
      return absl::InvalidArgumentError("the result of '**' is too large");
    return Value(made);
  }
  if (b == 0) return absl::InvalidArgumentError("division by zero");
  if (op == "/") return Value(a / b);
  double rest = std::fmod(a, b);
  double whole = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      whole -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (op == "%") return Value(rest);
  if (whole == 0) return Value(std::copysign(0.0, a / b));
  const double floor = std::floor(whole);
  return Value(whole - floor > 0.5 ? floor + 1 : floor);
}

absl::StatusOr<Value> Repeated(Rendering& rendering, const Value& value, int64_t count) {
  const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  const Values* items = value.items();
  const size_t unit = items == nullptr ? value.text()->size() : items->size() * sizeof(Value);
  if (unit > 0 && times > (size_t{1} << 40) / unit)
    return absl::ResourceExhaustedError("'*' makes too much");
  ONWARD_RETURN_IF_ERROR(rendering.Charge(unit * times));
  if (unit == 0 || times == 0)
    return items == nullptr                    ? Value(std::string())
           : value.AsShared<List>() != nullptr ? Value::OfList({})
                                               : Value::OfTuple({});
  if (items == nullptr) {
    std::string made;
    made.reserve(unit * times);
    for (size_t i = 0; i < times; ++i) made += *value.text();
    return Value(std::move(made), value.is_markup());
  }
  Values made;
  made.reserve(items->size() * times);
  for (size_t i = 0; i < times; ++i) made.insert(made.end(), items->begin(), items->end());
  return value.AsShared<List>() != nullptr ? rendering.MakeList(std::move(made))
                                           : rendering.MakeTuple(std::move(made));
}

bool Repeats(const Value& value) { return value.text() != nullptr || value.items() != nullptr; }

absl::StatusOr<Value> Joined(Rendering& rendering, const Value& a, const Value& b) {
  if (a.text() != nullptr) {
    const bool markup = a.is_markup() || b.is_markup();
    const std::string left = markup && !a.is_markup() ? EscapedHtml(*a.text()) : *a.text();
    return rendering.MakeText(
        left + (markup && !b.is_markup() ? EscapedHtml(*b.text()) : *b.text()), markup);
  }
  Values made = *a.items();
  made.insert(made.end(), b.items()->begin(), b.items()->end());
  return a.AsShared<List>() != nullptr ? rendering.MakeList(std::move(made))
                                       : rendering.MakeTuple(std::move(made));
}

}  // namespace

absl::Status UndefinedError(const Value& value) {
  return absl::InvalidArgumentError(*value.As<Undefined>()->why);
}

absl::StatusOr<Value> Binary(Rendering& rendering, std::string_view op, const Value& a,
                             const Value& b) {
  if (a.Integer().has_value() && b.Integer().has_value())
    return Integers(op, *a.Integer(), *b.Integer());
  if (a.Number().has_value() && b.Number().has_value()) return Floats(op, *a.Number(), *b.Number());
  const bool texts = a.text() != nullptr && b.text() != nullptr;
  const bool lists = a.AsShared<List>() != nullptr && b.AsShared<List>() != nullptr;
  const bool tuples = a.AsShared<Tuple>() != nullptr && b.AsShared<Tuple>() != nullptr;
  if (op == "+" && (texts || lists || tuples)) return Joined(rendering, a, b);
  if (op == "*" && Repeats(a) && b.Integer().has_value())
    return Repeated(rendering, a, *b.Integer());
  if (op == "*" && Repeats(b) && a.Integer().has_value())
    return Repeated(rendering, b, *a.Integer());
  if (op == "%" && a.is_markup())
    return absl::InvalidArgumentError("'%' of escaped text is not supported");
  if (op == "%" && a.text() != nullptr) return PercentFormat(rendering, *a.text(), b);
  return Unsupported(op, a, b);
}

absl::StatusOr<Value> Signed(std::string_view op, const Value& value) {
  if (value.is_undefined()) return UndefinedError(value);
  if (const auto integer = value.Integer()) {
    if (op == "+") return Value(*integer);
    return Integers("-", 0, *integer);
  }
  if (const auto* number = value.As<double>()) return Value(op == "-" ? -*number : *number);
  return absl::InvalidArgumentError(absl::StrCat("a ", value.TypeName(), " cannot have a sign"));
}

absl::StatusOr<Values> ItemsOf(Rendering& rendering, const Value& value) {
  Values made;
  if (value.is_undefined()) return made;
  const std::string* const bytes = value.text();
  const auto count = bytes != nullptr ? bytes->size() : LengthOf(value).value_or(0);
  const size_t each = sizeof(Value) + (bytes != nullptr ? sizeof(Text) + sizeof(size_t) : 0);
  ONWARD_RETURN_IF_ERROR(rendering.Charge(static_cast<size_t>(count) * each));
  if (const Values* items = value.items()) return *items;
  if (const std::string* text = value.text()) {
    const std::vector<size_t> starts = CharacterStarts(*text);
    for (size_t i = 0; i + 1 < starts.size(); ++i)
      made.emplace_back(text->substr(starts[i], starts[i + 1] - starts[i]), value.is_markup());
    return made;
  }
  if (const auto* iterator = value.As<std::shared_ptr<Iterator>>()) {
    Iterator& state = **iterator;
    made.assign(state.items.begin() + static_cast<std::ptrdiff_t>(state.next), state.items.end());
    state.next = state.items.size();
    return made;
  }
  if (const Range* range = value.As<Range>()) {
    for (int64_t i = 0; i < range->size(); ++i) made.emplace_back(range->start + i * range->step);
    return made;
  }
  const View* view = value.As<View>();
  const Dict* dict = view != nullptr ? view->dict.get() : value.AsShared<Dict>();
  if (dict == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("a ", value.TypeName(), " has no items to go through"));
  const View::Kind kind = view == nullptr ? View::Kind::kKeys : view->kind;
  for (const auto& entry : dict->entries()) {
    if (kind == View::Kind::kItems) {
      made.push_back(Value::OfTuple({entry.first, entry.second}));
    } else {
      made.push_back(kind == View::Kind::kKeys ? entry.first : entry.second);
    }
  }
  return made;
}

std::optional<int64_t> LengthOf(const Value& value) {
  if (value.is_undefined()) return 0;
  if (const Values* items = value.items()) return static_cast<int64_t>(items->size());
  if (const std::string* text = value.text())
    return static_cast<int64_t>(CharacterStarts(*text).size()) - 1;
  if (const Dict* dict = value.AsShared<Dict>())
    return static_cast<int64_t>(dict->entries().size());
  if (const View* view = value.As<View>())
    return static_cast<int64_t>(view->dict->entries().size());
  if (const Range* range = value.As<Range>()) return range->size();
  if (const auto* loop = value.As<std::shared_ptr<LoopState>>())
    return static_cast<int64_t>((*loop)->items.size());
  return std::nullopt;
}

}  // namespace onward::chat_template

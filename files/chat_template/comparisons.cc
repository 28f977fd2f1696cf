#include <algorithm>

#include "absl/strings/str_cat.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/python_text.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

// Integers and floats are compared exactly.
int CompareNumbers(const Value& a, const Value& b) {
  const auto x = a.Integer(), y = b.Integer();
  if (x.has_value() && y.has_value()) return *x < *y ? -1 : *x > *y ? 1 : 0;
  const long double p = x.has_value() ? static_cast<long double>(*x) : *a.Number();
  const long double q = y.has_value() ? static_cast<long double>(*y) : *b.Number();
  if (p != p || q != q) return 2;  // neither
  return p < q ? -1 : p > q ? 1 : 0;
}

absl::StatusOr<bool> EqualItems(Rendering& rendering, const Values& a, const Values& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const bool equal, IsEqual(rendering, a[i], b[i]));
    if (!equal) return false;
  }
  return true;
}

absl::StatusOr<bool> EqualDicts(Rendering& rendering, const Dict& a, const Dict& b) {
  if (a.entries().size() != b.entries().size()) return false;
  for (const auto& entry : a.entries()) {
    ONWARD_ASSIGN_OR_RETURN(const Value* other, b.Find(entry.first));
    if (other == nullptr) return false;
    ONWARD_ASSIGN_OR_RETURN(const bool equal, IsEqual(rendering, entry.second, *other));
    if (!equal) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> IsEqual(Rendering& rendering, const Value& a, const Value& b) {
  const Rendering::Level level(rendering);
  ONWARD_RETURN_IF_ERROR(level.Check());
  ONWARD_RETURN_IF_ERROR(rendering.Step());
  if (a.Number().has_value() && b.Number().has_value()) return CompareNumbers(a, b) == 0;
  if (a.text() != nullptr && b.text() != nullptr) {
    ONWARD_RETURN_IF_ERROR(rendering.Charge(std::min(a.text()->size(), b.text()->size()) / 8));
    return *a.text() == *b.text();
  }
  if (a.payload().index() != b.payload().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (a.items() != nullptr) return EqualItems(rendering, *a.items(), *b.items());
  if (const Dict* dict = a.AsShared<Dict>())
    return EqualDicts(rendering, *dict, *b.AsShared<Dict>());
  if (const Range* range = a.As<Range>()) {
    const Range& other = *b.As<Range>();
    const int64_t size = range->size();
    return size == other.size() &&
           (size == 0 || (range->start == other.start && (size == 1 || range->step == other.step)));
  }
  if (a.As<Namespace*>() != nullptr) return *a.As<Namespace*>() == *b.As<Namespace*>();
  if (const auto* loop = a.As<std::shared_ptr<LoopState>>())
    return *loop == *b.As<std::shared_ptr<LoopState>>();
  if (const auto* iterator = a.As<std::shared_ptr<Iterator>>())
    return *iterator == *b.As<std::shared_ptr<Iterator>>();
  return absl::InvalidArgumentError(
      absl::StrCat("two values of type ", a.TypeName(), " cannot be compared"));
}

absl::StatusOr<bool> IsLess(Rendering& rendering, const Value& a, const Value& b) {
  const Rendering::Level level(rendering);
  ONWARD_RETURN_IF_ERROR(level.Check());
  ONWARD_RETURN_IF_ERROR(rendering.Step());
  if (a.Number().has_value() && b.Number().has_value()) return CompareNumbers(a, b) == -1;
  if (a.text() != nullptr && b.text() != nullptr) {
    ONWARD_RETURN_IF_ERROR(rendering.Charge(std::min(a.text()->size(), b.text()->size()) / 8));
    return *a.text() < *b.text();  // the order of UTF-8 is that of code points
  }
  if (a.items() != nullptr && a.payload().index() == b.payload().index()) {
    const Values &x = *a.items(), &y = *b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      ONWARD_ASSIGN_OR_RETURN(const bool equal, IsEqual(rendering, x[i], y[i]));
      if (!equal) return IsLess(rendering, x[i], y[i]);
    }
    return x.size() < y.size();
  }
  if (a.is_undefined()) return UndefinedError(a);
  if (b.is_undefined()) return UndefinedError(b);
  return absl::InvalidArgumentError(
      absl::StrCat("'<' of ", a.TypeName(), " and ", b.TypeName(), " is not possible"));
}

absl::StatusOr<bool> Contains(Rendering& rendering, const Value& container, const Value& item) {
  if (const std::string* text = container.text()) {
    if (item.text() == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("'in' a text needs a text, not a ", item.TypeName()));
    ONWARD_RETURN_IF_ERROR(rendering.Charge(text->size()));
    return text->find(*item.text()) != text->npos;
  }
  const View* view = container.As<View>();
  const Dict* dict = container.AsShared<Dict>();
  if (view != nullptr && view->kind == View::Kind::kKeys) dict = view->dict.get();
  if (dict != nullptr) {
    ONWARD_ASSIGN_OR_RETURN(const Value* found, dict->Find(item));
    return found != nullptr;
  }
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, container));
  for (const Value& other : items) {
    ONWARD_ASSIGN_OR_RETURN(const bool equal, IsEqual(rendering, other, item));
    if (equal) return true;
  }
  return false;
}

absl::StatusOr<bool> Compares(Rendering& rendering, std::string_view op, const Value& a,
                              const Value& b) {
  if (op == "==") return IsEqual(rendering, a, b);
  if (op == "<") return IsLess(rendering, a, b);
  if (op == ">") return IsLess(rendering, b, a);
  if (op == "in") return Contains(rendering, b, a);
  if (op == "!=" || op == "not in") {
    ONWARD_ASSIGN_OR_RETURN(const bool is, Compares(rendering, op == "!=" ? "==" : "in", a, b));
    return !is;
  }
  ONWARD_ASSIGN_OR_RETURN(const bool less,
                          IsLess(rendering, op == "<=" ? a : b, op == "<=" ? b : a));
  if (less) return true;
  return IsEqual(rendering, a, b);
}

}  // namespace onward::chat_template

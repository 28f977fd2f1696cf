#include "files/chat_template/value.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace onward::chat_template {

int64_t Range::size() const {
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

Value::Value(std::string text, bool markup)
    : payload_(std::make_shared<const Text>(Text{std::move(text), markup})) {}

Value Value::OfUndefined(std::string why) {
  return Value(Payload(Undefined{std::make_shared<const std::string>(std::move(why))}));
}

Value Value::OfList(Values items) {
  const int depth = DepthOf(items);
  return Value(Payload(std::make_shared<const List>(List{std::move(items), depth})));
}

Value Value::OfTuple(Values items) {
  const int depth = DepthOf(items);
  return Value(Payload(std::make_shared<const Tuple>(Tuple{std::move(items), depth})));
}

Value Value::OfIterator(Values items) {
  const int depth = DepthOf(items);
  return Value(Payload(std::make_shared<Iterator>(Iterator{std::move(items), depth})));
}

const Values* Value::items() const {
  if (const List* list = AsShared<List>()) return &list->items;
  if (const Tuple* tuple = AsShared<Tuple>()) return &tuple->items;
  return nullptr;
}

int DepthOf(const Values& values) {
  int deepest = 0;
  for (const Value& value : values) deepest = std::max(deepest, value.depth());
  return deepest + 1;
}

int Value::depth() const {
  if (const List* list = AsShared<List>()) return list->depth;
  if (const Tuple* tuple = AsShared<Tuple>()) return tuple->depth;
  if (const Dict* dict = AsShared<Dict>()) return dict->depth();
  if (const View* view = As<View>()) return view->dict->depth() + 1;
  if (const auto* iterator = As<std::shared_ptr<Iterator>>()) return (*iterator)->depth;
  if (const auto* loop = As<std::shared_ptr<LoopState>>()) return (*loop)->depth;
  return 0;
}

bool Value::IsTrue() const {
  if (is_undefined() || is_none()) return false;
  if (const auto* flag = As<bool>()) return *flag;
  if (const auto* integer = As<int64_t>()) return *integer != 0;
  if (const auto* number = As<double>()) return *number != 0;
  if (const std::string* bytes = text()) return !bytes->empty();
  if (const Values* some = items()) return !some->empty();
  if (const Dict* dict = AsShared<Dict>()) return !dict->entries().empty();
  if (const View* view = As<View>()) return !view->dict->entries().empty();
  if (const Range* range = As<Range>()) return range->size() > 0;
  return true;
}

const char* Value::TypeName() const {
  static constexpr const char* kNames[] = {"Undefined", "NoneType",    "bool",      "int",
                                           "float",     "str",         "list",      "tuple",
                                           "dict",      "dict view",   "generator", "range",
                                           "Namespace", "LoopContext", "function"};
  return is_markup() ? "Markup" : kNames[payload_.index()];
}

std::optional<int64_t> Value::Integer() const {
  if (const auto* flag = As<bool>()) return *flag ? 1 : 0;
  if (const auto* integer = As<int64_t>()) return *integer;
  return std::nullopt;
}

std::optional<double> Value::Number() const {
  if (const auto* number = As<double>()) return *number;
  if (const auto integer = Integer()) return static_cast<double>(*integer);
  return std::nullopt;
}

absl::StatusOr<std::string> KeyOf(const Value& value) {
  if (const std::string* text = value.text()) return std::string(1, 's') + *text;
  if (const auto integer = value.Integer()) return absl::StrCat("i", *integer);
  if (const auto* number = value.As<double>()) {
    constexpr double most = 9007199254740992;
    if (std::trunc(*number) == *number && std::abs(*number) <= most)
      return absl::StrCat("i", static_cast<int64_t>(*number));
    return absl::StrCat("f", std::string(reinterpret_cast<const char*>(number), sizeof *number));
  }
  if (value.is_none()) return std::string("n");
  if (value.is_undefined()) return std::string("u");
  if (const Tuple* tuple = value.AsShared<Tuple>()) {
    std::string key = "(";
    for (const Value& item : tuple->items) {
      const auto part = KeyOf(item);
      if (!part.ok()) return part.status();
      absl::StrAppend(&key, part->size(), ":", *part);
      if (key.size() > (size_t{1} << 20)) return absl::InvalidArgumentError("a key is too large");
    }
    return key;
  }
  if (value.AsShared<List>() == nullptr && value.AsShared<Dict>() == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("a ", value.TypeName(), " as a key is not supported"));
  return absl::InvalidArgumentError(absl::StrCat("a ", value.TypeName(), " cannot be a key"));
}

absl::Status Dict::Set(const Value& key, Value value) {
  auto found = KeyOf(key);
  if (!found.ok()) return found.status();
  depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
  const auto [it, added] = index_.emplace(*std::move(found), entries_.size());
  if (added) {
    entries_.emplace_back(key, std::move(value));
  } else {
    entries_[it->second].second = std::move(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<const Value*> Dict::Find(const Value& key) const {
  const auto text = KeyOf(key);
  if (!text.ok()) return text.status();
  const auto found = index_.find(*text);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::Find(std::string_view key) const {
  std::string text(1, 's');
  text += key;
  const auto found = index_.find(text);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

}  // namespace onward::chat_template

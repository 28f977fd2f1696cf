#include "files/chat_template/rendering.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

constexpr size_t kMostSpent = size_t{256} << 20;
constexpr int kDeepest = 400, kDeepestValue = 100;

}  // namespace

// Values may hold each other through namespaces, which do not own them together.
Rendering::~Rendering() = default;

absl::Status Rendering::Charge(size_t bytes) {
  if (bytes > kMostSpent - spent_)
    return absl::ResourceExhaustedError("the chat template does too much work");
  spent_ += bytes;
  return absl::OkStatus();
}

absl::Status Rendering::Level::Check() const {
  if (depth_ <= kDeepest) return absl::OkStatus();
  return absl::ResourceExhaustedError("the chat template calls itself too often");
}

absl::StatusOr<Value> Rendering::Checked(Value value, size_t items) {
  ONWARD_RETURN_IF_ERROR(Charge((items + 1) * sizeof(Value)));
  if (value.depth() > kDeepestValue)
    return absl::ResourceExhaustedError(
        absl::StrCat("values lie inside each other more than ", kDeepestValue, " times"));
  return value;
}

absl::StatusOr<Value> Rendering::MakeText(std::string text, bool markup) {
  ONWARD_RETURN_IF_ERROR(Charge(sizeof(Value) + sizeof(Text) + text.size()));
  return Value(std::move(text), markup);
}

absl::StatusOr<Value> Rendering::MakeList(Values items) {
  const size_t size = items.size();
  return Checked(Value::OfList(std::move(items)), size);
}

absl::StatusOr<Value> Rendering::MakeTuple(Values items) {
  const size_t size = items.size();
  return Checked(Value::OfTuple(std::move(items)), size);
}

absl::StatusOr<Value> Rendering::MakeIterator(Values items) {
  const size_t size = items.size();
  return Checked(Value::OfIterator(std::move(items)), size);
}

absl::StatusOr<Value> Rendering::MakeDict(Dict dict) {
  const size_t size = 4 * dict.entries().size();
  return Checked(Value(Value::Payload(std::make_shared<const Dict>(std::move(dict)))), size);
}

Namespace* Rendering::MakeNamespace() { return &namespaces_.emplace_back(); }

}  // namespace onward::chat_template

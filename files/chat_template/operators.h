// Python's operators.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/chat_template/rendering.h"
#include "files/chat_template/value.h"

namespace onward::chat_template {

// InvalidArgument: Python's TypeError, and integers beyond 64 bits.
absl::StatusOr<Value> Binary(Rendering& rendering, std::string_view op, const Value& a,
                             const Value& b);
absl::StatusOr<Value> Signed(std::string_view op, const Value& value);
// "==", "<", "in", "not in", ...
absl::StatusOr<bool> Compares(Rendering& rendering, std::string_view op, const Value& a,
                              const Value& b);
absl::StatusOr<bool> IsEqual(Rendering& rendering, const Value& a, const Value& b);
absl::StatusOr<bool> IsLess(Rendering& rendering, const Value& a, const Value& b);
absl::StatusOr<bool> Contains(Rendering& rendering, const Value& container, const Value& item);

// The items that a loop goes through. An iterator is empty afterwards.
absl::StatusOr<Values> ItemsOf(Rendering& rendering, const Value& value);
// nullopt: Python's len() refuses it.
std::optional<int64_t> LengthOf(const Value& value);

// `text % value`.
absl::StatusOr<Value> PercentFormat(Rendering& rendering, const std::string& text,
                                    const Value& value);

absl::Status UndefinedError(const Value& value);

}  // namespace onward::chat_template

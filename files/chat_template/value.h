// Values of templates: Python's, as templates see them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace onward::chat_template {

class Value;
class Dict;
struct Arguments;
using Values = std::vector<Value>;

struct Undefined {
  std::shared_ptr<const std::string> why;  // the message of those who need a value
};
struct None {};
struct Text {
  std::string bytes;    // UTF-8
  bool markup = false;  // `+` escapes what is added
};
struct List {
  Values items;
  int depth;  // how often containers lie inside each other here
};
struct Tuple {
  Values items;
  int depth;
};
// The result of a dict's keys(), values() and items().
struct View {
  enum class Kind { kKeys, kValues, kItems };
  Kind kind;
  std::shared_ptr<const Dict> dict;
};
// Its items can be taken once.
struct Iterator {
  Values items;
  int depth;
  size_t next = 0;
};
struct Range {
  int64_t start, stop, step;
  int64_t size() const;
};
// Lives as long as its rendering.
struct Namespace;
struct LoopState;
struct Callable {
  std::string name;
  std::function<absl::StatusOr<Value>(const Arguments&)> call;
};

// Small enough to copy: what is large is shared and does not change, but for namespaces, iterators
// and loops.
class Value {
 public:
  using Payload =
      std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const Text>,
                   std::shared_ptr<const List>, std::shared_ptr<const Tuple>,
                   std::shared_ptr<const Dict>, View, std::shared_ptr<Iterator>, Range, Namespace*,
                   std::shared_ptr<LoopState>, std::shared_ptr<const Callable>>;

  Value() : payload_(None()) {}
  explicit Value(Payload payload) : payload_(std::move(payload)) {}
  explicit Value(bool value) : payload_(value) {}
  explicit Value(int64_t value) : payload_(value) {}
  explicit Value(double value) : payload_(value) {}
  explicit Value(std::string text, bool markup = false);
  // `why`: "'name' is undefined".
  static Value OfUndefined(std::string why);
  static Value OfList(Values items);
  static Value OfTuple(Values items);
  static Value OfIterator(Values items);

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&payload_);
  }
  template <typename T>
  const T* AsShared() const {
    const auto* shared = std::get_if<std::shared_ptr<const T>>(&payload_);
    return shared == nullptr ? nullptr : shared->get();
  }
  const std::string* text() const {
    const Text* text = AsShared<Text>();
    return text == nullptr ? nullptr : &text->bytes;
  }
  bool is_undefined() const { return As<Undefined>() != nullptr; }
  bool is_none() const { return As<None>() != nullptr; }
  bool is_markup() const {
    const Text* text = AsShared<Text>();
    return text != nullptr && text->markup;
  }
  // The items of a list or a tuple.
  const Values* items() const;
  const Payload& payload() const { return payload_; }

  // The depth to which containers are nested in each other.
  int depth() const;
  bool IsTrue() const;
  // Python's name of the type.
  const char* TypeName() const;
  // As a number of Python's; a bool is one.
  std::optional<int64_t> Integer() const;
  std::optional<double> Number() const;

 private:
  Payload payload_;
};

// In order of insertion. Keys are what Python can hash.
class Dict {
 public:
  // InvalidArgument: such a key cannot be hashed.
  absl::Status Set(const Value& key, Value value);
  // nullptr: no such key.
  absl::StatusOr<const Value*> Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  int depth() const { return depth_; }

 private:
  int depth_ = 1;
  std::vector<std::pair<Value, Value>> entries_;
  absl::flat_hash_map<std::string, size_t> index_;  // by KeyOf
};

struct Namespace {
  Dict attributes;
};

struct LoopState {
  Values items;
  int depth;
  size_t index = 0;
};

// The arguments of a call.
struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

int DepthOf(const Values& values);

// Equal texts for equal keys. InvalidArgument: Python cannot hash the value.
absl::StatusOr<std::string> KeyOf(const Value& value);

}  // namespace onward::chat_template

// The names that every template can use: filters, tests, functions, attributes.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "files/chat_template/rendering.h"
#include "files/chat_template/value.h"

namespace onward::chat_template {

// Arguments by parameter.
class Bound {
 public:
  // `params`: "old new count?", where a question mark is what may be missing; "*" takes anything.
  static absl::StatusOr<Bound> Bind(const std::string& name, std::string_view params,
                                    const Arguments& arguments);

  bool has(size_t i) const { return values_[i].has_value(); }
  const Value& operator[](size_t i) const { return *values_[i]; }
  const Arguments& all() const { return *all_; }
  bool Flag(size_t i, bool otherwise) const { return has(i) ? values_[i]->IsTrue() : otherwise; }
  // InvalidArgument: not an integer, not a text.
  absl::StatusOr<int64_t> Integer(size_t i, std::optional<int64_t> otherwise = std::nullopt) const;
  absl::StatusOr<std::string> Text(size_t i,
                                   std::optional<std::string> otherwise = std::nullopt) const;
  // none counts as missing.
  absl::StatusOr<std::optional<std::string>> TextOrNone(size_t i) const;

 private:
  std::string name_;
  std::vector<std::optional<Value>> values_;
  const Arguments* all_ = nullptr;
};

struct Builtin {
  const char* name;
  const char* params;
  absl::StatusOr<Value> (*call)(Rendering& rendering, const Value& self, const Bound& arguments);
};
using Builtins = absl::Span<const Builtin>;
const Builtin* FindBuiltin(Builtins rows, std::string_view name);
absl::StatusOr<Value> CallBuiltin(Rendering& rendering, const Builtin& builtin, const Value& self,
                                  const Arguments& arguments);

// A source each.
Builtins TextFilters();
Builtins SequenceFilters();
Builtins SelectionFilters();
Builtins Tests();
Builtins Functions();
Builtins TextMethods();
Builtins DictMethods();
Builtins ListMethods();
Builtins LoopMethods();

bool IsFilter(std::string_view name);
bool IsTest(std::string_view name);
absl::StatusOr<Value> CallFilter(Rendering& rendering, const std::string& name, const Value& self,
                                 const Arguments& arguments);
absl::StatusOr<bool> CallTest(Rendering& rendering, const std::string& name, const Value& self,
                              const Arguments& arguments);
// nullopt: there is no such function.
std::optional<Value> FindFunction(Rendering& rendering, std::string_view name);
// `value.name` and `value[key]`; undefined where there is none.
absl::StatusOr<Value> Attribute(Rendering& rendering, const Value& value, const std::string& name);
absl::StatusOr<Value> Item(Rendering& rendering, const Value& value, const Value& key);
// A part of a sequence; bounds may be none.
absl::StatusOr<Value> Slice(Rendering& rendering, const Value& value, const Value& start,
                            const Value& stop, const Value& step);

}  // namespace onward::chat_template

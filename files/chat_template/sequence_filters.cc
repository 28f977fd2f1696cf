#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/chat_template/attribute_path.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/chat_template/python_text.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Made = absl::StatusOr<Value>;

Made Length(Rendering&, const Value& self, const Bound&) {
  const auto length = LengthOf(self);
  if (length.has_value()) return Value(*length);
  return absl::InvalidArgumentError(absl::StrCat("a ", self.TypeName(), " has no length"));
}

Made Default(Rendering&, const Value& self, const Bound& arguments) {
  const bool missing = self.is_undefined() || (arguments.Flag(1, false) && !self.IsTrue());
  if (!missing) return self;
  return arguments.has(0) ? arguments[0] : Value(std::string());
}

Made First(Rendering& rendering, const Value& self, const Bound&) {
  if (const auto* iterator = self.As<std::shared_ptr<Iterator>>()) {
    Iterator& state = **iterator;
    if (state.next < state.items.size()) return state.items[state.next++];
  }
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  return items.empty() ? Value::OfUndefined("the first item of nothing is undefined") : items[0];
}

Made Last(Rendering& rendering, const Value& self, const Bound&) {
  if (self.As<std::shared_ptr<Iterator>>() != nullptr)
    return absl::InvalidArgumentError("'last' of a generator: '| list' is missing");
  if (self.is_undefined()) return UndefinedError(self);
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  return items.empty() ? Value::OfUndefined("the last item of nothing is undefined") : items.back();
}

Made ListOf(Rendering& rendering, const Value& self, const Bound&) {
  ONWARD_ASSIGN_OR_RETURN(Values items, ItemsOf(rendering, self));
  return rendering.MakeList(std::move(items));
}

Made Items(Rendering& rendering, const Value& self, const Bound&) {
  if (self.is_undefined()) return rendering.MakeIterator({});
  if (self.AsShared<Dict>() == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("'items' needs a dict, not a ", self.TypeName()));
  const View view{View::Kind::kItems, *self.As<std::shared_ptr<const Dict>>()};
  ONWARD_ASSIGN_OR_RETURN(Values items, ItemsOf(rendering, Value(Value::Payload(view))));
  return rendering.MakeIterator(std::move(items));
}

Made Reverse(Rendering& rendering, const Value& self, const Bound&) {
  ONWARD_ASSIGN_OR_RETURN(Values items, ItemsOf(rendering, self));
  std::reverse(items.begin(), items.end());
  if (self.is_undefined()) return UndefinedError(self);
  if (self.text() == nullptr) {
    if (self.As<std::shared_ptr<Iterator>>() != nullptr)
      return rendering.MakeList(std::move(items));
    return rendering.MakeIterator(std::move(items));
  }
  std::string made;
  for (const Value& item : items) made += *item.text();
  return rendering.MakeText(std::move(made));
}

Made Join(Rendering& rendering, const Value& self, const Bound& arguments) {
  std::string between;
  if (arguments.has(0)) {
    ONWARD_ASSIGN_OR_RETURN(between, ToText(rendering, arguments[0]));
  }
  ONWARD_ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Of(arguments, 1));
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  std::string made;
  for (size_t i = 0; i < items.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const Value item, path.Get(rendering, items[i]));
    ONWARD_ASSIGN_OR_RETURN(const std::string text, ToText(rendering, item));
    ONWARD_RETURN_IF_ERROR(rendering.Charge(between.size()));
    absl::StrAppend(&made, i > 0 ? between : "", text);
  }
  return rendering.MakeText(std::move(made));
}

Made IgnoringCase(Rendering& rendering, const Value& value, bool case_sensitive) {
  if (case_sensitive || value.text() == nullptr) return value;
  ONWARD_RETURN_IF_ERROR(rendering.ChargeCharacters(value.text()->size()));
  return rendering.MakeText(Lower(*value.text()));
}

// Sorts by keys of one length each; an order that fails is an error.
absl::StatusOr<Values> Sorted(Rendering& rendering,
                              const std::vector<std::pair<Value, Value>>& rows, bool reverse) {
  std::vector<size_t> order(rows.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  absl::Status failed;
  // Reversed, equal ones keep their order too.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto less = reverse ? IsLess(rendering, rows[b].first, rows[a].first)
                              : IsLess(rendering, rows[a].first, rows[b].first);
    if (!less.ok() && failed.ok()) failed = less.status();
    return less.value_or(false);
  });
  ONWARD_RETURN_IF_ERROR(failed);
  Values made;
  for (const size_t i : order) made.push_back(rows[i].second);
  return made;
}

Made Sort(Rendering& rendering, const Value& self, const Bound& arguments) {
  std::vector<AttributePath> paths;
  if (arguments.has(2) && arguments[2].text() != nullptr) {
    for (const std::string& part :
         std::vector<std::string>(absl::StrSplit(*arguments[2].text(), ',')))
      paths.push_back(AttributePath::Of(part));
  } else {
    ONWARD_ASSIGN_OR_RETURN(AttributePath path, AttributePath::Of(arguments, 2));
    paths.push_back(std::move(path));
  }
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  std::vector<std::pair<Value, Value>> rows;
  for (const Value& item : items) {
    Values keys;
    for (const AttributePath& path : paths) {
      ONWARD_ASSIGN_OR_RETURN(const Value key, path.Get(rendering, item));
      ONWARD_ASSIGN_OR_RETURN(Value compared,
                              IgnoringCase(rendering, key, arguments.Flag(1, false)));
      keys.push_back(std::move(compared));
    }
    ONWARD_ASSIGN_OR_RETURN(Value key, rendering.MakeList(std::move(keys)));
    rows.emplace_back(std::move(key), item);
  }
  ONWARD_ASSIGN_OR_RETURN(Values made, Sorted(rendering, rows, arguments.Flag(0, false)));
  return rendering.MakeList(std::move(made));
}

Made DictSort(Rendering& rendering, const Value& self, const Bound& arguments) {
  const Dict* dict = self.AsShared<Dict>();
  ONWARD_ASSIGN_OR_RETURN(const std::string by, arguments.Text(1, "key"));
  if (self.is_undefined()) return UndefinedError(self);
  if (dict == nullptr || (by != "key" && by != "value"))
    return absl::InvalidArgumentError("'dictsort' sorts a dict by 'key' or 'value'");
  std::vector<std::pair<Value, Value>> rows;
  for (const auto& [key, value] : dict->entries()) {
    ONWARD_ASSIGN_OR_RETURN(Value pair, rendering.MakeTuple({key, value}));
    ONWARD_ASSIGN_OR_RETURN(Value compared, IgnoringCase(rendering, by == "key" ? key : value,
                                                         arguments.Flag(0, false)));
    rows.emplace_back(std::move(compared), std::move(pair));
  }
  ONWARD_ASSIGN_OR_RETURN(Values made, Sorted(rendering, rows, arguments.Flag(2, false)));
  return rendering.MakeList(std::move(made));
}

Made Unique(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Of(arguments, 1));
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  absl::flat_hash_set<std::string> seen;
  Values made;
  for (const Value& item : items) {
    ONWARD_ASSIGN_OR_RETURN(const Value value, path.Get(rendering, item));
    ONWARD_ASSIGN_OR_RETURN(const Value compared,
                            IgnoringCase(rendering, value, arguments.Flag(0, false)));
    ONWARD_ASSIGN_OR_RETURN(std::string key, KeyOf(compared));
    ONWARD_RETURN_IF_ERROR(rendering.Charge(key.size()));
    if (seen.insert(std::move(key)).second) made.push_back(item);
  }
  return rendering.MakeIterator(std::move(made));
}

template <bool most>
Made Extreme(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Of(arguments, 1));
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  std::optional<Value> best, key;
  for (const Value& item : items) {
    ONWARD_ASSIGN_OR_RETURN(Value own, path.Get(rendering, item));
    ONWARD_ASSIGN_OR_RETURN(own, IgnoringCase(rendering, own, arguments.Flag(0, false)));
    if (best.has_value()) {
      ONWARD_ASSIGN_OR_RETURN(const bool better,
                              most ? IsLess(rendering, *key, own) : IsLess(rendering, own, *key));
      if (!better) continue;
    }
    best = item;
    key = std::move(own);
  }
  return best.has_value() ? *best
                          : Value::OfUndefined("the least or largest of nothing is undefined");
}

Made Sum(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Of(arguments, 0));
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  Value made = arguments.has(1) ? arguments[1] : Value(int64_t{0});
  if (made.text() != nullptr)
    return absl::InvalidArgumentError("'sum' of texts is not possible: 'join' is");
  for (const Value& item : items) {
    ONWARD_ASSIGN_OR_RETURN(const Value value, path.Get(rendering, item));
    ONWARD_ASSIGN_OR_RETURN(made, Binary(rendering, "+", made, value));
  }
  return made;
}

Made Batch(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t count, arguments.Integer(0));
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  if (count < 1) return absl::InvalidArgumentError("'batch' needs a count of at least 1");
  Values made;
  for (size_t at = 0; at < items.size(); at += static_cast<size_t>(count)) {
    const size_t end = std::min(items.size(), at + static_cast<size_t>(count));
    Values some(items.begin() + static_cast<std::ptrdiff_t>(at),
                items.begin() + static_cast<std::ptrdiff_t>(end));
    const bool fill = arguments.has(1) && !arguments[1].is_none();
    if (fill) {
      ONWARD_RETURN_IF_ERROR(
          rendering.Charge(static_cast<size_t>(std::min(count, int64_t{1} << 30)) * sizeof(Value)));
      some.resize(static_cast<size_t>(count), arguments[1]);
    }
    ONWARD_ASSIGN_OR_RETURN(Value list, rendering.MakeList(std::move(some)));
    made.push_back(std::move(list));
  }
  return rendering.MakeIterator(std::move(made));
}

Made GroupBy(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(AttributePath path, AttributePath::Of(arguments, 0));
  if (arguments.has(1) && !arguments[1].is_none()) path.otherwise = arguments[1];
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, self));
  std::vector<std::pair<Value, Value>> rows;
  for (const Value& item : items) {
    ONWARD_ASSIGN_OR_RETURN(const Value key, path.Get(rendering, item));
    ONWARD_ASSIGN_OR_RETURN(Value compared, IgnoringCase(rendering, key, arguments.Flag(2, false)));
    rows.emplace_back(std::move(compared), item);
  }
  ONWARD_ASSIGN_OR_RETURN(const Values sorted, Sorted(rendering, rows, false));
  Values made, group;
  Value first, last;
  const auto close = [&]() -> absl::Status {
    ONWARD_ASSIGN_OR_RETURN(Value list, rendering.MakeList(std::move(group)));
    ONWARD_ASSIGN_OR_RETURN(Value pair, rendering.MakeTuple({first, std::move(list)}));
    made.push_back(std::move(pair));
    group.clear();
    return absl::OkStatus();
  };
  for (const Value& item : sorted) {
    ONWARD_ASSIGN_OR_RETURN(const Value value, path.Get(rendering, item));
    ONWARD_ASSIGN_OR_RETURN(const Value key,
                            IgnoringCase(rendering, value, arguments.Flag(2, false)));
    if (!group.empty()) {
      ONWARD_ASSIGN_OR_RETURN(const bool same, IsEqual(rendering, key, last));
      if (!same) ONWARD_RETURN_IF_ERROR(close());
    }
    if (group.empty()) first = value;
    last = key;
    group.push_back(item);
  }
  if (!group.empty()) ONWARD_RETURN_IF_ERROR(close());
  return rendering.MakeList(std::move(made));
}

constexpr Builtin kFilters[] = {
    {"batch", "linecount fill_with?", Batch},
    {"count", "", Length},
    {"d", "default_value? boolean?", Default},
    {"default", "default_value? boolean?", Default},
    {"dictsort", "case_sensitive? by? reverse?", DictSort},
    {"first", "", First},
    {"groupby", "attribute default? case_sensitive?", GroupBy},
    {"items", "", Items},
    {"join", "d? attribute?", Join},
    {"last", "", Last},
    {"length", "", Length},
    {"list", "", ListOf},
    {"max", "case_sensitive? attribute?", Extreme<true>},
    {"min", "case_sensitive? attribute?", Extreme<false>},
    {"reverse", "", Reverse},
    {"sort", "reverse? case_sensitive? attribute?", Sort},
    {"sum", "attribute? start?", Sum},
    {"unique", "case_sensitive? attribute?", Unique},
};

}  // namespace

Builtins SequenceFilters() { return kFilters; }

}  // namespace onward::chat_template

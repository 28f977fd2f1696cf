// Methods of texts, dicts, lists and loops.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "files/chat_template/builtins.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/chat_template/python_text.h"
#include "files/chat_template/text_operations.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Made = absl::StatusOr<Value>;

template <bool left, bool right>
Made StripText(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const auto characters, arguments.TextOrNone(0));
  return rendering.MakeText(std::string(Strip(*self.text(), characters, left, right)));
}

template <std::string (*change)(std::string_view)>
Made Change(Rendering& rendering, const Value& self, const Bound&) {
  return rendering.MakeText(change(*self.text()));
}

template <bool from_right>
Made SplitText(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const auto separator, arguments.TextOrNone(0));
  ONWARD_ASSIGN_OR_RETURN(const int64_t most, arguments.Integer(1, -1));
  if (separator.has_value() && separator->empty())
    return absl::InvalidArgumentError("'split' needs a separator that is not empty");
  ONWARD_RETURN_IF_ERROR(rendering.Charge(self.text()->size() * sizeof(Value)));
  Values parts;
  for (std::string& part : Split(*self.text(), separator, most, from_right))
    parts.emplace_back(std::move(part));
  return rendering.MakeList(std::move(parts));
}

Made Lines(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_RETURN_IF_ERROR(rendering.Charge(self.text()->size() * sizeof(Value)));
  Values lines;
  for (std::string& line : SplitLines(*self.text(), arguments.Flag(0, false)))
    lines.emplace_back(std::move(line));
  return rendering.MakeList(std::move(lines));
}

template <bool from_right>
Made Partition(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string separator, arguments.Text(0));
  if (separator.empty())
    return absl::InvalidArgumentError("'partition' needs a separator that is not empty");
  const std::string& text = *self.text();
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  if (at == text.npos) {
    const Value empty((std::string()));
    return rendering.MakeTuple(from_right ? Values{empty, empty, self}
                                          : Values{self, empty, empty});
  }
  return rendering.MakeTuple(
      {Value(text.substr(0, at)), Value(separator), Value(text.substr(at + separator.size()))});
}

// A bound of characters as a slice has it, in bytes.
absl::StatusOr<std::pair<size_t, size_t>> Within(const std::string& text, const Bound& arguments) {
  const std::vector<size_t> starts = CharacterStarts(text);
  const auto size = static_cast<int64_t>(starts.size()) - 1;
  size_t bounds[2] = {0, text.size()};
  for (size_t i = 0; i < 2; ++i) {
    if (!arguments.has(i + 1) || arguments[i + 1].is_none()) continue;
    ONWARD_ASSIGN_OR_RETURN(const int64_t given, arguments.Integer(i + 1));
    if (i == 0 && given > size) return std::pair(text.size() + 1, text.size());
    bounds[i] =
        starts[static_cast<size_t>(std::clamp(given < 0 ? given + size : given, int64_t{0}, size))];
  }
  return std::pair(bounds[0], bounds[1]);
}

template <bool at_end>
Made StartsOrEnds(Rendering&, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const auto within, Within(*self.text(), arguments));
  const Tuple* several = arguments[0].AsShared<Tuple>();
  const Values one = {arguments[0]};
  for (const Value& value : several == nullptr ? one : several->items) {
    if (value.text() == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("a text cannot begin or end with a ", value.TypeName()));
    if (within.first > within.second) continue;
    const std::string_view part =
        std::string_view(*self.text()).substr(within.first, within.second - within.first);
    const std::string& wanted = *value.text();
    if (part.size() < wanted.size()) continue;
    if (part.substr(at_end ? part.size() - wanted.size() : 0, wanted.size()) == wanted)
      return Value(true);
  }
  return Value(false);
}

// Where a text is in another, in characters; -1 where it is not, or an error.
template <bool from_right, bool must>
Made FindText(Rendering&, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string wanted, arguments.Text(0));
  ONWARD_ASSIGN_OR_RETURN(const auto within, Within(*self.text(), arguments));
  if (within.first <= within.second) {
    const std::string_view part =
        std::string_view(*self.text()).substr(within.first, within.second - within.first);
    const size_t at = from_right ? part.rfind(wanted) : part.find(wanted);
    if (at != part.npos) {
      const auto before = std::string_view(*self.text()).substr(0, within.first + at);
      return Value(static_cast<int64_t>(CharacterStarts(before).size()) - 1);
    }
  }
  if (must) return absl::InvalidArgumentError("'index': the text is not there");
  return Value(int64_t{-1});
}

Made CountText(Rendering&, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string wanted, arguments.Text(0));
  const std::string& text = *self.text();
  if (wanted.empty()) return Value(static_cast<int64_t>(CharacterStarts(text).size()));
  int64_t count = 0;
  for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + wanted.size()))
    ++count;
  return Value(count);
}

Made ReplaceText(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string from, arguments.Text(0));
  ONWARD_ASSIGN_OR_RETURN(const std::string to, arguments.Text(1));
  ONWARD_ASSIGN_OR_RETURN(const int64_t most, arguments.Integer(2, -1));
  return Replaced(rendering, *self.text(), from, to, most);
}

Made JoinText(Rendering& rendering, const Value& self, const Bound& arguments) {
  if (arguments[0].is_undefined()) return Value(std::string());
  ONWARD_ASSIGN_OR_RETURN(const Values items, ItemsOf(rendering, arguments[0]));
  std::string made;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].text() == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("'join' of a text needs texts, not a ", items[i].TypeName()));
    ONWARD_RETURN_IF_ERROR(rendering.Charge(items[i].text()->size() + self.text()->size()));
    absl::StrAppend(&made, i > 0 ? *self.text() : "", *items[i].text());
  }
  return rendering.MakeText(std::move(made));
}

template <bool prefix>
Made Remove(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const std::string part, arguments.Text(0));
  std::string_view text = *self.text();
  if (text.size() >= part.size() && !part.empty()) {
    if (prefix && text.substr(0, part.size()) == part) {
      text.remove_prefix(part.size());
    } else if (!prefix && text.substr(text.size() - part.size()) == part) {
      text.remove_suffix(part.size());
    }
  }
  return rendering.MakeText(std::string(text));
}

template <int side>  // where the text is: -1 left, 1 right, 0 in the middle
Made Padded(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0));
  ONWARD_ASSIGN_OR_RETURN(const std::string fill, arguments.Text(1, " "));
  if (CharacterStarts(fill).size() != 2)
    return absl::InvalidArgumentError("a text must be filled up with one character");
  return Filled(rendering, *self.text(), width, fill, side);
}

Made ZeroFilled(Rendering& rendering, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0));
  const std::string& text = *self.text();
  const bool sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  ONWARD_ASSIGN_OR_RETURN(const Value rest, Filled(rendering, text.substr(sign ? 1 : 0),
                                                   width - (sign ? 1 : 0), "0", 1));
  return rendering.MakeText((sign ? text.substr(0, 1) : "") + *rest.text());
}

Made Swapped(Rendering& rendering, const Value& self, const Bound&) {
  const std::vector<size_t> starts = CharacterStarts(*self.text());
  std::string made;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::string one = self.text()->substr(starts[i], starts[i + 1] - starts[i]);
    made += IsUpperText(one) ? Lower(one) : Upper(one);
  }
  return rendering.MakeText(std::move(made));
}

template <bool (*is)(uint32_t)>
Made Are(Rendering&, const Value& self, const Bound&) {
  return Value(All(*self.text(), is));
}

template <bool (*is)(std::string_view)>
Made Is(Rendering&, const Value& self, const Bound&) {
  return Value(is(*self.text()));
}

Made FormatText(Rendering& rendering, const Value& self, const Bound& arguments) {
  return BraceFormat(rendering, *self.text(), arguments.all());
}

template <View::Kind kind>
Made ViewOf(Rendering&, const Value& self, const Bound&) {
  return Value(Value::Payload(View{kind, *self.As<std::shared_ptr<const Dict>>()}));
}

Made GetOr(Rendering&, const Value& self, const Bound& arguments) {
  ONWARD_ASSIGN_OR_RETURN(const Value* found, self.AsShared<Dict>()->Find(arguments[0]));
  if (found != nullptr) return *found;
  return arguments.has(1) ? arguments[1] : Value();
}

Made Itself(Rendering&, const Value& self, const Bound&) { return self; }

Made CountItem(Rendering& rendering, const Value& self, const Bound& arguments) {
  int64_t count = 0;
  for (const Value& item : *self.items()) {
    ONWARD_ASSIGN_OR_RETURN(const bool equal, IsEqual(rendering, item, arguments[0]));
    count += equal ? 1 : 0;
  }
  return Value(count);
}

Made IndexOfItem(Rendering& rendering, const Value& self, const Bound& arguments) {
  const Values& items = *self.items();
  for (size_t i = 0; i < items.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const bool equal, IsEqual(rendering, items[i], arguments[0]));
    if (equal) return Value(static_cast<int64_t>(i));
  }
  return absl::InvalidArgumentError("'index': the item is not there");
}

Made Cycle(Rendering&, const Value& self, const Bound& arguments) {
  const Values& values = arguments.all().positional;
  if (values.empty()) return absl::InvalidArgumentError("'cycle' has nothing to cycle through");
  return values[(*self.As<std::shared_ptr<LoopState>>())->index % values.size()];
}

constexpr Builtin kText[] = {
    {"strip", "chars?", StripText<true, true>},
    {"lstrip", "chars?", StripText<true, false>},
    {"rstrip", "chars?", StripText<false, true>},
    {"split", "sep? maxsplit?", SplitText<false>},
    {"rsplit", "sep? maxsplit?", SplitText<true>},
    {"splitlines", "keepends?", Lines},
    {"partition", "sep", Partition<false>},
    {"rpartition", "sep", Partition<true>},
    {"startswith", "prefix start? end?", StartsOrEnds<false>},
    {"endswith", "suffix start? end?", StartsOrEnds<true>},
    {"find", "sub start? end?", FindText<false, false>},
    {"rfind", "sub start? end?", FindText<true, false>},
    {"index", "sub start? end?", FindText<false, true>},
    {"rindex", "sub start? end?", FindText<true, true>},
    {"count", "sub", CountText},
    {"replace", "old new count?", ReplaceText},
    {"join", "iterable", JoinText},
    {"removeprefix", "prefix", Remove<true>},
    {"removesuffix", "suffix", Remove<false>},
    {"upper", "", Change<Upper>},
    {"lower", "", Change<Lower>},
    {"title", "", Change<Title>},
    {"capitalize", "", Change<Capitalize>},
    {"swapcase", "", Swapped},
    {"ljust", "width fillchar?", Padded<-1>},
    {"rjust", "width fillchar?", Padded<1>},
    {"center", "width fillchar?", Padded<0>},
    {"zfill", "width", ZeroFilled},
    {"isspace", "", Are<IsSpaceCharacter>},
    {"isalpha", "", Are<IsAlphaCharacter>},
    {"isdigit", "", Are<IsDigitCharacter>},
    {"isupper", "", Is<IsUpperText>},
    {"islower", "", Is<IsLowerText>},
    {"istitle", "", Is<IsTitleText>},
    {"format", "*", FormatText},
};
constexpr Builtin kDict[] = {
    {"items", "", ViewOf<View::Kind::kItems>},
    {"keys", "", ViewOf<View::Kind::kKeys>},
    {"values", "", ViewOf<View::Kind::kValues>},
    {"get", "key default?", GetOr},
    {"copy", "", Itself},
};
constexpr Builtin kList[] = {
    {"count", "value", CountItem}, {"index", "value", IndexOfItem}, {"copy", "", Itself}};
constexpr Builtin kLoop[] = {{"cycle", "*", Cycle}};

}  // namespace

Builtins TextMethods() { return kText; }
Builtins DictMethods() { return kDict; }
Builtins ListMethods() { return kList; }
Builtins LoopMethods() { return kLoop; }

}  // namespace onward::chat_template

#include "files/chat_template/text_operations.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "files/chat_template/operators.h"
#include "files/chat_template/printing.h"
#include "files/chat_template/python_text.h"
#include "onward/status.h"

namespace onward::chat_template {

absl::StatusOr<Value> Replaced(Rendering& rendering, const std::string& text,
                               const std::string& from, const std::string& to, int64_t most) {
  std::string made;
  const std::vector<size_t> starts = from.empty() ? CharacterStarts(text) : std::vector<size_t>();
  size_t done = 0;
  for (int64_t count = 0; most < 0 || count < most; ++count) {
    const auto turn = static_cast<size_t>(count);
    if (from.empty() && turn >= starts.size()) break;
    const size_t at = from.empty() ? starts[turn] : text.find(from, done);
    if (at == text.npos) break;
    ONWARD_RETURN_IF_ERROR(rendering.Charge(to.size() + 1));
    made.append(text, done, at - done);
    made += to;
    done = at + from.size();
  }
  made.append(text, done, text.npos);
  return rendering.MakeText(std::move(made));
}

absl::StatusOr<Value> Filled(Rendering& rendering, const std::string& text, int64_t width,
                             const std::string& fill, int side) {
  const auto size = static_cast<int64_t>(CharacterStarts(text).size()) - 1;
  const auto count = static_cast<size_t>(std::max<int64_t>(0, width - size));
  if (count > (size_t{1} << 30)) return absl::ResourceExhaustedError("the width is too large");
  ONWARD_RETURN_IF_ERROR(rendering.Charge(count * fill.size()));
  // As Python's: what is left over stands on the left where the width is odd.
  const size_t before = side < 0   ? 0
                        : side > 0 ? count
                                   : count / 2 + (count & static_cast<size_t>(width) & 1);
  std::string made;
  for (size_t i = 0; i < before; ++i) made += fill;
  made += text;
  for (size_t i = before; i < count; ++i) made += fill;
  return rendering.MakeText(std::move(made));
}

namespace {

// The value of a field by number or name.
absl::StatusOr<Value> FieldOf(const std::string& field, size_t& next, const Arguments& arguments) {
  const bool digits = std::all_of(field.begin(), field.end(), absl::ascii_isdigit);
  if (digits) {
    const size_t index = field.empty() ? next++ : field.size() > 6 ? SIZE_MAX : std::stoul(field);
    if (index < arguments.positional.size()) return arguments.positional[index];
    return absl::InvalidArgumentError("'format' has fewer values than fields");
  }
  for (const auto& [name, value] : arguments.named)
    if (name == field) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("'format' has no value '", field, "', or the field is not supported"));
}

}  // namespace

absl::StatusOr<Value> BraceFormat(Rendering& rendering, const std::string& text,
                                  const Arguments& arguments) {
  std::string made;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      made += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      made += c;
      ++i;
      continue;
    }
    const size_t end = c == '{' ? text.find('}', i) : text.npos;
    if (end == text.npos) return absl::InvalidArgumentError("'format' has an unmatched brace");
    std::string field = text.substr(i + 1, end - i - 1);
    const bool repr = field.size() >= 2 && field.substr(field.size() - 2) == "!r";
    if (repr || (field.size() >= 2 && field.substr(field.size() - 2) == "!s"))
      field.resize(field.size() - 2);
    ONWARD_ASSIGN_OR_RETURN(const Value value, FieldOf(field, next, arguments));
    ONWARD_ASSIGN_OR_RETURN(const std::string printed,
                            repr ? ToRepr(rendering, value) : ToText(rendering, value));
    ONWARD_RETURN_IF_ERROR(rendering.Charge(printed.size()));
    made += printed;
    i = end;
  }
  return rendering.MakeText(std::move(made));
}

namespace {

struct Directive {
  std::string flags, key;
  int64_t width = 0, precision = -1;
  bool has_key = false;
  char type = '\0';
};

class PercentFormatter {
 public:
  PercentFormatter(Rendering& rendering, const std::string& text, const Value& value)
      : rendering_(rendering), text_(text), value_(value) {
    const Tuple* tuple = value.AsShared<Tuple>();
    values_ = tuple != nullptr ? tuple->items : Values{value};
    // As in Python, which takes what has items for a mapping.
    must_use_all_ =
        tuple != nullptr || (value.AsShared<Dict>() == nullptr && value.items() == nullptr &&
                             value.As<Range>() == nullptr && !value.is_undefined());
  }

  absl::StatusOr<Value> Run() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c != '%') {
        made_ += c;
        continue;
      }
      ONWARD_ASSIGN_OR_RETURN(const Directive directive, Read());
      if (directive.type == '%') {
        made_ += '%';
        continue;
      }
      ONWARD_ASSIGN_OR_RETURN(const Value value, Next(directive));
      ONWARD_RETURN_IF_ERROR(Add(directive, value));
    }
    if (next_ < values_.size() && must_use_all_ && !keyed_)
      return absl::InvalidArgumentError("'%' has more values than directives");
    return rendering_.MakeText(std::move(made_));
  }

 private:
  int64_t Digits() {
    int64_t made = 0;
    while (at_ < text_.size() && absl::ascii_isdigit(text_[at_]) && made < 100000)
      made = made * 10 + (text_[at_++] - '0');
    return made;
  }

  absl::StatusOr<Directive> Read() {
    Directive made;
    if (at_ < text_.size() && text_[at_] == '(') {
      const size_t end = text_.find(')', at_);
      if (end == text_.npos) return absl::InvalidArgumentError("'%(' is not closed");
      made.key = text_.substr(at_ + 1, end - at_ - 1);
      made.has_key = true;
      at_ = end + 1;
    }
    while (at_ < text_.size() &&
           std::string_view("-+ 0#").find(text_[at_]) != std::string_view::npos)
      made.flags += text_[at_++];
    made.width = Digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      made.precision = Digits();
    }
    if (at_ == text_.size()) return absl::InvalidArgumentError("'%' stands at the end of a format");
    made.type = text_[at_++];
    if (std::string_view("srdiufFeEgGxX%").find(made.type) == std::string_view::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("the format '%", std::string(1, made.type), "' is not supported"));
    return made;
  }

  absl::StatusOr<Value> Next(const Directive& directive) {
    if (directive.has_key) {
      keyed_ = true;
      const Dict* dict = value_.AsShared<Dict>();
      const Value* found = dict == nullptr ? nullptr : dict->Find(directive.key);
      if (found != nullptr) return *found;
      return absl::InvalidArgumentError(absl::StrCat("'%' has no value '", directive.key, "'"));
    }
    if (next_ < values_.size()) return values_[next_++];
    return absl::InvalidArgumentError("'%' has fewer values than directives");
  }

  absl::Status Add(const Directive& directive, const Value& value) {
    std::string printed;
    if (directive.type == 's' || directive.type == 'r') {
      ONWARD_ASSIGN_OR_RETURN(
          printed, directive.type == 's' ? ToText(rendering_, value) : ToRepr(rendering_, value));
      if (directive.precision >= 0) {
        const std::vector<size_t> starts = CharacterStarts(printed);
        const auto most = static_cast<size_t>(directive.precision);
        if (most + 1 < starts.size()) printed.resize(starts[most]);
      }
    } else {
      ONWARD_ASSIGN_OR_RETURN(printed, Number(directive, value));
    }
    const bool left = directive.flags.find('-') != directive.flags.npos;
    ONWARD_ASSIGN_OR_RETURN(const Value filled,
                            Filled(rendering_, printed, directive.width, " ", left ? -1 : 1));
    made_ += *filled.text();
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Number(const Directive& directive, const Value& value) {
    const bool integer = std::string_view("diuxX").find(directive.type) != std::string_view::npos;
    const auto number = value.Number();
    const bool hexadecimal = directive.type == 'x' || directive.type == 'X';
    if (!number.has_value() || (hexadecimal && !value.Integer().has_value()) ||
        directive.width > 10000 || directive.precision > 300)
      return absl::InvalidArgumentError(absl::StrCat("'%", std::string(1, directive.type),
                                                     "' cannot write a ", value.TypeName()));
    std::string format = "%" + directive.flags;
    if (directive.width > 0) absl::StrAppend(&format, directive.width);
    if (directive.precision >= 0) absl::StrAppend(&format, ".", directive.precision);
    std::string made(static_cast<size_t>(11000), '\0');
    int size;
    if (integer) {
      if (!value.Integer().has_value() && !(std::abs(*number) < 9e18))
        return absl::InvalidArgumentError("integers beyond 64 bits are not supported");
      const int64_t whole = value.Integer().value_or(static_cast<int64_t>(*number));
      if (hexadecimal && whole < 0)
        return absl::InvalidArgumentError("'%x' of a negative number is not supported");
      format += std::string("l") + (hexadecimal ? directive.type : 'd');
      size = std::snprintf(made.data(), made.size(), format.c_str(), static_cast<long>(whole));
    } else {
      format += directive.type;
      size = std::snprintf(made.data(), made.size(), format.c_str(), *number);
    }
    made.resize(static_cast<size_t>(std::max(size, 0)));
    return made;
  }

  Rendering& rendering_;
  const std::string& text_;
  const Value& value_;
  Values values_;
  std::string made_;
  size_t at_ = 0, next_ = 0;
  bool must_use_all_, keyed_ = false;
};

}  // namespace

absl::StatusOr<Value> PercentFormat(Rendering& rendering, const std::string& text,
                                    const Value& value) {
  return PercentFormatter(rendering, text, value).Run();
}

}  // namespace onward::chat_template

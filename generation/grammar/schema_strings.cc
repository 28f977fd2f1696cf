// Strings of a schema.
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "generation/grammar/schema_compiler.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

#define ONWARD_DATE                                                            \
  "[1-9]\\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[" \
  "12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))"
#define ONWARD_TIME \
  "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"

// RFC 3339, RFC 9562, RFC 2673; of RFC 5321 and RFC 3986 what is common.
constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date", "^" ONWARD_DATE "$"},
    {"time", "^" ONWARD_TIME "$"},
    {"date-time", "^" ONWARD_DATE "T" ONWARD_TIME "$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"ipv4",
     "^((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)$"},
    {"email",
     "^[A-Za-z0-9]{1,32}([._+-][A-Za-z0-9]{1,16}){0,2}@([A-Za-z0-9]{1,30}(-[A-Za-z0-9]{1,30})?\\.)"
     "{1,4}[A-Za-z]{2,12}$"},
    {"uri",
     "^[a-z][a-z0-9+.-]{1,15}://[A-Za-z0-9]{1,60}([.-][A-Za-z0-9]{1,60}){0,5}(:[1-9]\\d{0,3})?"
     "(/[A-Za-z0-9._~!$&'()*+,;=:@-]*)*(\\?[A-Za-z0-9._~!$&'()*+,;=:@/?-]*)?$"},
};
#undef ONWARD_DATE
#undef ONWARD_TIME

}  // namespace

absl::StatusOr<Grammar::Node> SchemaCompiler::BuildString(const SchemaPlace& at, Node next) {
  ONWARD_ASSIGN_OR_RETURN(const uint32_t least, at.Count("minLength", 0));
  ONWARD_ASSIGN_OR_RETURN(const uint32_t most, at.Count("maxLength", kNoLimit));
  if (least > most) return at.At("maxLength").Error("is less than minLength");
  const char* keyword = at.Find("pattern") != nullptr ? "pattern" : "format";
  const Json* given = at.Find(keyword);
  if (given == nullptr) return grammar_.String(least, most, next);
  const SchemaPlace place = at.At(keyword);
  if (!given->is_string()) return place.Error("expected a string");
  if (least > 0 || most != kNoLimit)
    return place.Error("is not supported beside minLength and maxLength");
  if (keyword[0] == 'p' && at.Find("format") != nullptr)
    return place.Error("is not supported beside format");
  std::string pattern = given->get<std::string>();
  if (keyword[0] == 'f') {
    const auto* const row = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [&](const auto& each) { return each.first == pattern; });
    if (row == std::end(kFormats))
      return place.Error(absl::StrCat("'", files::PrintableUtf8(pattern), "' is not supported"));
    pattern = std::string(row->second);
  }
  GrammarBuilder& b = grammar_.builder();
  const absl::StatusOr<Node> inner = PatternNode(pattern, grammar_, b.Text("\"", next));
  if (!inner.ok()) return place.Error(std::string(inner.status().message()));
  return b.Text("\"", *inner);
}

}  // namespace onward::generation

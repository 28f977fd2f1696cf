// Arrays and objects of a schema.
#include <algorithm>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "generation/grammar/schema_compiler.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using Json = nlohmann::ordered_json;
using Node = Grammar::Node;

const Json& AnySchema() {
  static const Json any = true;
  return any;
}

bool IsFalse(const Json* schema) { return schema != nullptr && *schema == false; }

struct Property {
  std::string name;
  SchemaPlace schema;
  bool required = false;
};

// The facts of a schema about an object: its properties in their order, and others that may come.
struct ObjectFacts {
  std::vector<Property> properties;
  SchemaPlace others;  // its schema is null: there are none
  uint32_t fewest = 0, most = kNoLimit;
};

absl::Status AddRequired(const SchemaPlace& at, ObjectFacts& facts) {
  const Json* required = at.Find("required");
  if (required == nullptr) return absl::OkStatus();
  const SchemaPlace place = at.At("required");
  if (!required->is_array()) return place.Error("expected an array of names");
  for (const Json& name : *required) {
    if (!name.is_string()) return place.Error("expected an array of names");
    const auto found =
        absl::c_find_if(facts.properties, [&](const Property& each) { return each.name == name; });
    if (found != facts.properties.end()) {
      found->required = true;
      continue;
    }
    SchemaPlace schema = facts.others;
    if (at.Find("additionalProperties") == nullptr) schema = {&AnySchema(), at.path};
    if (schema.schema == nullptr)
      return place.Error(absl::StrCat("'", files::PrintableUtf8(name.get<std::string>()),
                                      "' is not a property, and additionalProperties is false"));
    facts.properties.push_back({name.get<std::string>(), schema, true});
  }
  return absl::OkStatus();
}

absl::StatusOr<ObjectFacts> FactsOf(const SchemaPlace& at) {
  ObjectFacts facts;
  if (const Json* properties = at.Find("properties")) {
    const SchemaPlace place = at.At("properties");
    if (!properties->is_object()) return place.Error("expected an object of schemas");
    for (const auto& [name, schema] : properties->items())
      if (!IsFalse(&schema)) facts.properties.push_back({name, place.At(name), false});
  }
  // Small models would not stop to add properties of their own.
  const Json* others = at.Find("additionalProperties");
  const bool any = others == nullptr && facts.properties.empty();
  if (any) facts.others = {&AnySchema(), at.path};
  if (others != nullptr && !IsFalse(others)) facts.others = at.At("additionalProperties");
  ONWARD_RETURN_IF_ERROR(AddRequired(at, facts));
  ONWARD_ASSIGN_OR_RETURN(facts.fewest, at.Count("minProperties", 0));
  ONWARD_ASSIGN_OR_RETURN(facts.most, at.Count("maxProperties", kNoLimit));
  return facts;
}

}  // namespace

// An object whose properties are not named. Names that come twice are one property, so that it is
// not known how many there are at least.
absl::StatusOr<Node> SchemaCompiler::BuildMap(const SchemaPlace& at, const SchemaPlace& values,
                                              Node next) {
  ONWARD_ASSIGN_OR_RETURN(const uint32_t fewest, at.Count("minProperties", 0));
  ONWARD_ASSIGN_OR_RETURN(const uint32_t most, at.Count("maxProperties", kNoLimit));
  if (fewest > 1) return at.At("minProperties").Error("more than 1 is not supported");
  if (fewest > most) return at.At("maxProperties").Error("is less than minProperties");
  GrammarBuilder& b = grammar_.builder();
  const Node empty = b.Text("}", next);
  if (most == 0 || values.schema == nullptr) return grammar_.Open('{', empty);
  const auto member = [&](Node value, Node after) -> absl::StatusOr<Node> {
    const Node key = grammar_.String(0, kNoLimit, grammar_.Mark(':', b.Call(value, after)));
    return key;
  };
  ONWARD_ASSIGN_OR_RETURN(const Node value_start, Build(values, Grammar::kReturn));
  const int32_t value = b.Rule(value_start);
  ONWARD_ASSIGN_OR_RETURN(const Node another, member(value, Grammar::kReturn));
  const int32_t more = b.Rule(grammar_.Mark(',', another));
  const uint32_t rest = most == kNoLimit ? kNoLimit : most - 1;
  ONWARD_ASSIGN_OR_RETURN(const Node first,
                          member(value, b.Repeat(more, 0, rest, grammar_.Close('}', next))));
  return grammar_.Open('{', fewest > 0 ? first : b.Choice({first, empty}));
}

absl::StatusOr<Node> SchemaCompiler::BuildObject(const SchemaPlace& at, Node next) {
  ONWARD_ASSIGN_OR_RETURN(const ObjectFacts facts, FactsOf(at));
  if (facts.properties.empty()) return BuildMap(at, facts.others, next);
  const auto required = static_cast<uint32_t>(
      absl::c_count_if(facts.properties, [](const Property& each) { return each.required; }));
  if (facts.fewest > required)
    return at.At("minProperties")
        .Error("more than the number of required properties is not supported");
  if (facts.most < facts.properties.size() ||
      (facts.most != kNoLimit && facts.others.schema != nullptr))
    return at.At("maxProperties")
        .Error("less than the number of possible properties is not supported");
  GrammarBuilder& b = grammar_.builder();
  // The parts behind the properties so far: `later` where there was one, else `first`.
  Node later = grammar_.Close('}', next), first = b.Text("}", next);
  if (facts.others.schema != nullptr) {
    std::vector<std::string> names;
    for (const Property& property : facts.properties) names.push_back(property.name);
    ONWARD_ASSIGN_OR_RETURN(const Node value, Build(facts.others, Grammar::kReturn));
    const int32_t member = b.Rule(grammar_.OtherKey(names, grammar_.Mark(':', value)));
    const int32_t more = b.Rule(grammar_.Mark(',', b.Call(member, Grammar::kReturn)));
    const Node rest = b.Repeat(more, 0, kNoLimit, later);
    first = b.Choice({b.Call(member, rest), first});
    later = rest;
  }
  for (size_t i = facts.properties.size(); i-- > 0;) {
    const Property& property = facts.properties[i];
    ONWARD_ASSIGN_OR_RETURN(const Node value, Build(property.schema, later));
    const Node here = b.Text(grammar_.Written(property.name), grammar_.Mark(':', value));
    const Node another = grammar_.Mark(',', here);
    later = property.required ? another : b.Choice({another, later});
    first = property.required ? here : b.Choice({here, first});
  }
  return grammar_.Open('{', first);
}

absl::StatusOr<Node> SchemaCompiler::BuildArray(const SchemaPlace& at, Node next) {
  ONWARD_ASSIGN_OR_RETURN(const bool unique, at.Flag("uniqueItems", false));
  if (unique) return at.At("uniqueItems").Error("true is not supported");
  ONWARD_ASSIGN_OR_RETURN(const uint32_t fewest, at.Count("minItems", 0));
  ONWARD_ASSIGN_OR_RETURN(const uint32_t most, at.Count("maxItems", kNoLimit));
  if (fewest > most) return at.At("maxItems").Error("is less than minItems");
  const Json* prefix = at.Find("prefixItems");
  if (prefix != nullptr && !prefix->is_array())
    return at.At("prefixItems").Error("expected an array of schemas");
  const size_t places = prefix == nullptr ? 0 : prefix->size();
  // All items of the prefix come, as far as there may be so many, and others where they are named.
  const auto count = static_cast<uint32_t>(std::min<size_t>(places, most));
  SchemaPlace items = at.At("items");
  if (items.schema == nullptr && places == 0) items = {&AnySchema(), at.path};
  if (items.schema != nullptr && items.schema->is_array())
    return items.Error("an array is not supported; use prefixItems");
  const bool more = items.schema != nullptr && !IsFalse(items.schema) && most > count;
  if (!more && fewest > count) return at.At("minItems").Error("is more than there may be");
  GrammarBuilder& b = grammar_.builder();
  Node rest = grammar_.Close(']', next), all = b.Text("]", next);
  if (more) {
    ONWARD_ASSIGN_OR_RETURN(const Node start, Build(items, Grammar::kReturn));
    const int32_t item = b.Rule(start);
    const int32_t another = b.Rule(grammar_.Mark(',', b.Call(item, Grammar::kReturn)));
    const uint32_t least = fewest > count ? fewest - count : 0;
    const uint32_t left = most == kNoLimit ? kNoLimit : most - count;
    const Node begun =
        b.Repeat(another, least == 0 ? 0 : least - 1, left == kNoLimit ? kNoLimit : left - 1, rest);
    const Node first = b.Call(item, begun);
    all = least > 0 ? first : b.Choice({first, all});
    rest = b.Repeat(another, least, left, rest);
  }
  for (size_t i = count; i-- > 0;) {
    const SchemaPlace place = {&(*prefix)[i], absl::StrCat(at.path, ".prefixItems[", i, "]")};
    ONWARD_ASSIGN_OR_RETURN(all, Build(place, rest));
    rest = grammar_.Mark(',', all);
  }
  return grammar_.Open('[', all);
}

}  // namespace onward::generation

// References, and schemas of several branches.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "generation/grammar/schema_compiler.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using Json = nlohmann::ordered_json;
using Node = Grammar::Node;

constexpr int kMostComparisons = 20000;
constexpr int kMostReferences = 64;  // one after the other

// "%20" and the like.
std::string WithoutPercents(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::SimpleHexAtoi(std::string(text.substr(i + 1, 2)), &byte)) {
      made += static_cast<char>(byte);
      i += 2;
    } else {
      made += text[i];
    }
  }
  return made;
}

bool TypesExclude(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto has = [](const std::vector<std::string>& types, const char* type) {
    return absl::c_linear_search(types, type);
  };
  if (a.empty() || b.empty()) return false;
  if ((has(a, "integer") && has(b, "number")) || (has(a, "number") && has(b, "integer")))
    return false;
  return absl::c_none_of(a, [&](const std::string& type) { return has(b, type.c_str()); });
}

// The values of an enum or const; nullopt: it is neither.
std::optional<std::vector<Json>> ValuesOf(const SchemaPlace& at) {
  if (const Json* value = at.Find("const")) return std::vector<Json>{*value};
  const Json* values = at.Find("enum");
  if (values == nullptr || !values->is_array()) return std::nullopt;
  return std::vector<Json>(values->begin(), values->end());
}

// Empty: any.
std::vector<std::string> SaidTypes(const SchemaPlace& at) {
  if (at.Find("type") == nullptr) return {};
  return TypesOf(at).value_or(std::vector<std::string>());
}

bool Requires(const SchemaPlace& at, const std::string& property) {
  const Json* required = at.Find("required");
  return required != nullptr && required->is_array() && absl::c_linear_search(*required, property);
}

}  // namespace

absl::StatusOr<SchemaPlace> SchemaCompiler::Resolve(const SchemaPlace& at) const {
  const Json& reference = *at.Find("$ref");
  if (!reference.is_string()) return at.At("$ref").Error("expected a string");
  const std::string text = WithoutPercents(reference.get<std::string>());
  if (text != "#" && text.substr(0, 2) != "#/")
    return at.At("$ref").Error("only references within the schema ('#/...') are supported");
  SchemaPlace target = root_;
  if (text == "#") return target;
  for (const absl::string_view part : absl::StrSplit(text.substr(2), '/')) {
    const std::string name = absl::StrReplaceAll(part, {{"~1", "/"}, {"~0", "~"}});
    size_t index = 0;
    if (target.schema->is_array() && absl::SimpleAtoi(name, &index) &&
        index < target.schema->size()) {
      target = {&(*target.schema)[index], absl::StrCat(target.path, "[", index, "]")};
      continue;
    }
    target = target.At(name);
    if (target.schema == nullptr) return at.At("$ref").Error("leads to nothing");
  }
  return target;
}

absl::StatusOr<SchemaPlace> SchemaCompiler::Resolved(SchemaPlace at) const {
  for (int i = 0; i < kMostReferences; ++i) {
    const Json* all = at.Find("allOf");
    if (at.Find("$ref") != nullptr) {
      ONWARD_ASSIGN_OR_RETURN(at, Resolve(at));
    } else if (all != nullptr && all->is_array() && all->size() == 1) {
      at = {&(*all)[0], absl::StrCat(at.path, ".allOf[0]")};
    } else {
      return at;
    }
  }
  return at.Error("refers to itself");
}

absl::StatusOr<Node> SchemaCompiler::BuildReference(const SchemaPlace& at, Node next) {
  for (const auto& [name, value] : at.schema->items()) {
    if (absl::c_linear_search(
            std::vector<std::string>{"$ref", "title", "description", "default", "examples", "$defs",
                                     "definitions", "$schema", "$id", "$comment", "deprecated",
                                     "readOnly", "writeOnly"},
            name))
      continue;
    return at.At(name).Error("is not supported beside $ref");
  }
  ONWARD_ASSIGN_OR_RETURN(SchemaPlace target, Resolve(at));
  const auto [rule, added] = rules_.try_emplace(target.schema, 0);
  if (added) {
    rule->second = grammar_.builder().NewRule();
    undefined_.emplace_back(std::move(target), rule->second);
  }
  return grammar_.builder().Call(rule->second, next);
}

absl::StatusOr<Node> SchemaCompiler::BuildBranches(const SchemaPlace& at, const char* keyword,
                                                   Node next) {
  const Json& branches = *at.Find(keyword);
  if (!branches.is_array() || branches.empty())
    return at.At(keyword).Error("expected an array of schemas");
  if (std::string_view(keyword) == "allOf" && branches.size() > 1)
    return at.At(keyword).Error("more than one schema is not supported");
  std::vector<SchemaPlace> places;
  for (size_t i = 0; i < branches.size(); ++i)
    places.push_back({&branches[i], absl::StrCat(at.path, ".", keyword, "[", i, "]")});
  if (std::string_view(keyword) == "oneOf") {
    for (size_t i = 0; i < places.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (!Exclude(places[j], places[i], 0))
          return at.At(keyword).Error(
              absl::StrCat("schemas ", j, " and ", i,
                           " may take the same value, which is not supported; use anyOf"));
  }
  std::vector<Node> ways;
  for (const SchemaPlace& place : places) {
    ONWARD_ASSIGN_OR_RETURN(const Node way, Build(place, next));
    ways.push_back(way);
  }
  return grammar_.builder().Choice(ways);
}

bool SchemaCompiler::Exclude(const SchemaPlace& a, const SchemaPlace& b, int depth) {
  if (++comparisons_ > kMostComparisons || depth > 8) return false;
  const absl::StatusOr<SchemaPlace> left = Resolved(a), right = Resolved(b);
  if (!left.ok() || !right.ok() || !left->schema->is_object() || !right->schema->is_object())
    return false;
  for (const auto& [one, other] : {std::pair(*left, *right), std::pair(*right, *left)}) {
    for (const char* keyword : {"anyOf", "oneOf"}) {
      const Json* branches = one.Find(keyword);
      if (branches == nullptr || !branches->is_array()) continue;
      const SchemaPlace whole = other;
      const std::string path = one.path;
      return absl::c_all_of(*branches, [&](const Json& branch) {
        return Exclude({&branch, path}, whole, depth + 1);
      });
    }
  }
  const auto values = ValuesOf(*left), others = ValuesOf(*right);
  const std::vector<std::string> types = SaidTypes(*left), other_types = SaidTypes(*right);
  if (values && others)
    return absl::c_none_of(
        *values, [&](const Json& value) { return absl::c_linear_search(*others, value); });
  const auto none_has = [](const std::vector<Json>& all, const std::vector<std::string>& kinds) {
    return !kinds.empty() && absl::c_none_of(all, [&](const Json& value) {
      return absl::c_any_of(kinds, [&](const std::string& type) { return HasType(value, type); });
    });
  };
  if (values) return none_has(*values, other_types);
  if (others) return none_has(*others, types);
  if (TypesExclude(types, other_types)) return true;
  // Objects with a property that both must have.
  const Json* properties = left->Find("properties");
  if (properties == nullptr || !properties->is_object()) return false;
  if (types != std::vector<std::string>{"object"} || types != other_types) return false;
  const SchemaPlace mine = left->At("properties"), theirs = right->At("properties");
  for (const auto& [name, schema] : properties->items()) {
    if (theirs.Find(name) == nullptr || !Requires(*left, name) || !Requires(*right, name)) continue;
    if (Exclude(mine.At(name), theirs.At(name), depth + 1)) return true;
  }
  return false;
}

}  // namespace onward::generation

// From a schema to the steps of a grammar.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "generation/grammar/json_grammar.h"

namespace onward::generation {

// A schema and where it stands, for errors and references.
struct SchemaPlace {
  const nlohmann::ordered_json* schema = nullptr;
  std::string path;

  SchemaPlace At(std::string_view keyword) const;
  // Null: there is no such keyword.
  const nlohmann::ordered_json* Find(std::string_view keyword) const;
  absl::Status Error(std::string_view what) const;
  // A keyword's whole number; `otherwise` where it is absent.
  absl::StatusOr<uint32_t> Count(std::string_view keyword, uint32_t otherwise) const;
  // Returns whether a switch is on.
  absl::StatusOr<bool> Flag(std::string_view keyword, bool otherwise) const;
};

class SchemaCompiler {
 public:
  using Node = Grammar::Node;
  using Json = nlohmann::ordered_json;

  SchemaCompiler(SchemaPlace root, JsonGrammar& grammar)
      : root_(std::move(root)), grammar_(grammar) {}

  absl::StatusOr<Node> Compile(Node next);

 private:
  absl::StatusOr<Node> Build(const SchemaPlace& at, Node next);
  absl::StatusOr<Node> BuildTyped(const SchemaPlace& at, Node next);
  absl::StatusOr<Node> BuildType(const SchemaPlace& at, const std::string& type, Node next);
  absl::StatusOr<Node> BuildValues(const SchemaPlace& at, Node next);
  absl::StatusOr<Node> BuildBranches(const SchemaPlace& at, const char* keyword, Node next);
  absl::StatusOr<Node> BuildReference(const SchemaPlace& at, Node next);
  absl::StatusOr<Node> BuildString(const SchemaPlace& at, Node next);
  absl::StatusOr<Node> BuildNumber(const SchemaPlace& at, bool integer, Node next);
  absl::StatusOr<Node> BuildArray(const SchemaPlace& at, Node next);
  absl::StatusOr<Node> BuildObject(const SchemaPlace& at, Node next);
  absl::StatusOr<Node> BuildMap(const SchemaPlace& at, const SchemaPlace& values, Node next);

  // The schema that a reference leads to.
  absl::StatusOr<SchemaPlace> Resolve(const SchemaPlace& at) const;
  // The same, through references and allOf of one, as far as they lead.
  absl::StatusOr<SchemaPlace> Resolved(SchemaPlace at) const;
  // Returns whether no value is an instance of both, as far as that is seen easily.
  bool Exclude(const SchemaPlace& a, const SchemaPlace& b, int depth);

  const SchemaPlace root_;
  JsonGrammar& grammar_;
  std::map<const Json*, int32_t> rules_;  // by what is referred to
  std::deque<std::pair<SchemaPlace, int32_t>> undefined_;
  int comparisons_ = 0;
};

// The types of a schema; what its other keywords are about where it does not say any. Empty: any.
absl::StatusOr<std::vector<std::string>> TypesOf(const SchemaPlace& at);
// Returns whether a value has one of JSON Schema's types.
bool HasType(const nlohmann::ordered_json& value, const std::string& type);

// A pattern (ECMA-262's regular expressions, searched for) as a string's characters.
// InvalidArgument: it is wrong, or has what is not done.
absl::StatusOr<Grammar::Node> PatternNode(std::string_view pattern, JsonGrammar& grammar,
                                          Grammar::Node next);

}  // namespace onward::generation

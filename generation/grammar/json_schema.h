// Grammars of JSON by a schema (JSON Schema 2020-12, as far as OpenAI's response_format and
// Pydantic use it). Every text of the grammar is an instance of the schema; where a schema takes
// more than the grammar has, that is said below.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generation/grammar/grammar.h"
#include "generation/grammar/token_order.h"

namespace onward::generation {

// Any object.
absl::StatusOr<Grammar> JsonObjectGrammar(const TokenOrder& tokens);

// Understood are: type (one or several), enum, const, properties, required, additionalProperties,
// minProperties, maxProperties, items, prefixItems, minItems, maxItems, minLength, maxLength,
// pattern, format, minimum, maximum, exclusiveMinimum, exclusiveMaximum, anyOf, oneOf (of branches
// that exclude each other), allOf of one, $ref within the schema. Properties come in the order of
// the schema; those that it does not name come only where it names none, or where
// additionalProperties says so. InvalidArgument names the path of a keyword that is not understood,
// or of what no value satisfies. `path` stands before it.
absl::StatusOr<Grammar> JsonSchemaGrammar(const nlohmann::ordered_json& schema,
                                          const TokenOrder& tokens, const std::string& path);

// An instance of a schema between two texts.
struct FramedSchema {
  std::string before;
  nlohmann::ordered_json schema;
  std::string path;  // for errors
  std::string after;
};

// `begin`, at least one instance, `separator` between two of them, `end`. Each is one of `items`.
struct SchemaSequence {
  std::string begin = {};
  std::vector<FramedSchema> items = {};
  std::string separator = {};
  std::string end = {};
  uint32_t most = 1;  // instances; at least 1
};

// Errors are JsonSchemaGrammar's.
absl::StatusOr<Grammar> SchemaSequenceGrammar(const SchemaSequence& sequence,
                                              const TokenOrder& tokens);

}  // namespace onward::generation

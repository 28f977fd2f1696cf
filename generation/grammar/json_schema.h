// Grammars of JSON by a schema (JSON Schema 2020-12, as far as OpenAI's response_format and
// Pydantic use it). Every text of the grammar is an instance of the schema; where a schema takes
// more than the grammar has, that is said below.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace onward::generation

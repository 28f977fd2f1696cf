// The files of tokenizers as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"
#include "files/tokenizer/tokenizer.h"

namespace onward::tokenizer {

inline constexpr char kConfigFile[] = "tokenizer_config.json";

// InvalidArgument: not JSON, or nested too deeply.
absl::StatusOr<nlohmann::json> ReadJson(std::string_view bytes);
// The bytes of a tokenizer_config.json; an empty object where there are none.
absl::StatusOr<nlohmann::json> ReadConfig(std::string_view bytes);
// The id of a token of the configuration, which is its text or an object that has it; nullopt: the
// configuration does not name it.
absl::StatusOr<std::optional<int64_t>> NamedToken(const JsonField& config, const char* name,
                                                  const files::Tokenizer& made);

}  // namespace onward::tokenizer

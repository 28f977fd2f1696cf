#include "serving/protocol/parameters.h"

#include <functional>
#include <limits>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

using Take = std::function<absl::Status(const std::string& name, JsonElement value,
                                        const std::string& where)>;

bool StartsWith(std::string_view name, std::string_view prefix) {
  return name.substr(0, prefix.size()) == prefix;
}

absl::Status ForEachParameter(JsonObject object, const std::string& where, const Take& take) {
  JsonElement member;
  if (object["parameters"].get(member) != simdjson::SUCCESS) return absl::OkStatus();
  const std::string at = where.empty() ? "parameters" : absl::StrCat(where, ".parameters");
  ONWARD_ASSIGN_OR_RETURN(const JsonObject parameters, ObjectOf(member, at));
  for (const auto [key, value] : parameters) {
    const std::string name(key);
    const std::string of_it = absl::StrCat(at, ".", name);
    if (StartsWith(name, "triton_"))
      return Wrong(of_it, "names that begin with triton_ are the server's own");
    if (StartsWith(name, "shared_memory_")) return Wrong(of_it, "shared memory is off");
    ONWARD_RETURN_IF_ERROR(take(name, value, of_it));
  }
  return absl::OkStatus();
}

absl::Status ReadTimeout(JsonElement value, const std::string& where, InferRequest& request) {
  ONWARD_ASSIGN_OR_RETURN(const uint64_t microseconds, CountOf(value, where));
  if (microseconds > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return Wrong(where, "is more microseconds than 64 bits with a sign hold");
  if (microseconds > 0)
    request.timeout = std::chrono::microseconds(static_cast<int64_t>(microseconds));
  return absl::OkStatus();
}

// 0 and "" stand for a request of no sequence.
absl::Status ReadSequenceId(JsonElement value, const std::string& where, Sequence& sequence) {
  if (value.is_string()) {
    ONWARD_ASSIGN_OR_RETURN(std::string text, TextOf(value, where));
    constexpr size_t kLongest = 128;  // as Triton has it
    if (text.size() > kLongest)
      return Wrong(where, absl::StrCat("has ", text.size(), " bytes, at most ", kLongest));
    if (!text.empty()) sequence.id = std::move(text);
    return absl::OkStatus();
  }
  if (!value.is_number())
    return Wrong(where, absl::StrCat("is ", std::string(KindOf(value)),
                                     ", expected a whole number or a string"));
  ONWARD_ASSIGN_OR_RETURN(const uint64_t number, CountOf(value, where));
  if (number > 0) sequence.id = number;
  return absl::OkStatus();
}

template <typename T>
absl::Status Assign(absl::StatusOr<T> read, T& to) {
  if (!read.ok()) return read.status();
  to = *std::move(read);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadRequestParameters(JsonObject object, InferRequest& request) {
  Sequence& sequence = request.sequence;
  ONWARD_RETURN_IF_ERROR(ForEachParameter(
      object, "",
      [&](const std::string& name, JsonElement value, const std::string& where) -> absl::Status {
        if (name == "binary_data_output")
          return Assign(BoolOf(value, where), request.binary_output);
        if (name == "priority") return Assign(CountOf(value, where), request.priority);
        if (name == "timeout") return ReadTimeout(value, where, request);
        if (name == "sequence_id") return ReadSequenceId(value, where, sequence);
        if (name == "sequence_start") return Assign(BoolOf(value, where), sequence.start);
        if (name == "sequence_end") return Assign(BoolOf(value, where), sequence.end);
        return absl::OkStatus();
      }));
  const bool of_none = std::holds_alternative<std::monostate>(sequence.id);
  if (of_none && (sequence.start || sequence.end))
    return Wrong("parameters.sequence_id",
                 "is missing, though sequence_start or sequence_end is true");
  return absl::OkStatus();
}

absl::StatusOr<std::optional<uint64_t>> ReadInputParameters(JsonObject object,
                                                            const std::string& where) {
  std::optional<uint64_t> size;
  ONWARD_RETURN_IF_ERROR(ForEachParameter(
      object, where,
      [&](const std::string& name, JsonElement value, const std::string& at) -> absl::Status {
        if (name != "binary_data_size") return absl::OkStatus();
        return Assign(CountOf(value, at), size.emplace());
      }));
  return size;
}

absl::StatusOr<OutputParameters> ReadOutputParameters(JsonObject object, const std::string& where) {
  OutputParameters read;
  ONWARD_RETURN_IF_ERROR(ForEachParameter(
      object, where,
      [&](const std::string& name, JsonElement value, const std::string& at) -> absl::Status {
        if (name == "binary_data") return Assign(BoolOf(value, at), read.binary_data.emplace());
        if (name == "classification") return Assign(CountOf(value, at), read.classification);
        return absl::OkStatus();
      }));
  return read;
}

}  // namespace onward::serving

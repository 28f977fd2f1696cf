// The settings of the server's log: the protocol's extension `logging`.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/closest_name.h"
#include "onward/status.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

using nlohmann::json;

struct Switch {
  const char* name;
  std::atomic<bool> LogSettings::*value;
};
constexpr Switch kSwitches[] = {{"log_info", &LogSettings::news},
                                {"log_warning", &LogSettings::warnings},
                                {"log_error", &LogSettings::errors}};

// The log's place is not for clients to know, nor to choose.
json SettingsJson(const LogSettings& settings) {
  json document = {{"log_file", ""},
                   {"log_format", "default"},
                   {"log_verbose_level", settings.verbose_level.load()}};
  for (const Switch& each : kSwitches) document[each.name] = (settings.*each.value).load();
  return document;
}

absl::Status WrongMember(const std::string& name, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

absl::Status CheckMember(const std::string& name, const json& value) {
  std::vector<std::string> known = {"log_file", "log_format", "log_verbose_level"};
  for (const Switch& each : kSwitches) {
    if (name == each.name && !value.is_boolean())
      return WrongMember(name, "expected true or false");
    known.push_back(each.name);
  }
  if (name == "log_file" && value != "") return WrongMember(name, "cannot be changed by a request");
  if (name == "log_format" && value != "default")
    return WrongMember(name, "expected \"default\", the one that is known here");
  const bool is_level = value.is_number_unsigned() && value.get<uint64_t>() <= UINT32_MAX;
  if (name == "log_verbose_level" && !is_level)
    return WrongMember(name, "expected a whole number of at least 0");
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is not a setting of the log", DidYouMean(name, known)));
}

// All of the changes, or none.
absl::Status Change(const json& document, LogSettings& settings) {
  for (const auto& [name, value] : document.items())
    ONWARD_RETURN_IF_ERROR(CheckMember(name, value));
  for (const Switch& each : kSwitches)
    if (document.contains(each.name)) settings.*each.value = document[each.name].get<bool>();
  if (document.contains("log_verbose_level"))
    settings.verbose_level = document["log_verbose_level"].get<uint32_t>();
  return absl::OkStatus();
}

}  // namespace

void LogSettingsNow(ServerState& state, Call call) {
  call.respond(JsonReply(SettingsJson(state.log_settings)));
}

void ChangeLogSettings(ServerState& state, Call call) {
  constexpr size_t kMostBytes = 4096;  // that the network's thread parses
  const std::string& body = call.request.body;
  if (body.size() > kMostBytes)
    return call.respond(ErrorReply(400, "the body is larger than settings of a log are"));
  const json document = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return call.respond(ErrorReply(400, "the body is not a JSON object"));
  const absl::Status status = Change(document, state.log_settings);
  if (!status.ok()) return call.respond(ErrorReply(status));
  LogSettingsNow(state, std::move(call));
}

}  // namespace onward::serving

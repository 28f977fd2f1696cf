// Which requests are traced: the protocol's extension `trace`, whose values are texts.
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/closest_name.h"
#include "onward/status.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

using nlohmann::json;

// The traces' place is not for clients to know, nor to choose.
json SettingsJson(const RequestTracing& tracing) {
  const bool on = tracing.on && !tracing.directory.empty();
  return {{"trace_file", ""},
          {"trace_level", json::array({on ? "TIMESTAMPS" : "OFF"})},
          {"trace_rate", absl::StrCat(tracing.rate.load())},
          {"trace_count", absl::StrCat(tracing.left.load())},
          {"log_frequency", "0"}};
}

// The settings that a request changes; those that it does not name stay.
struct Changes {
  std::optional<bool> on;
  std::optional<uint64_t> rate;
  std::optional<int64_t> count;
};

absl::Status WrongSetting(const std::string& name, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

absl::Status ReadLevel(const json& value, Changes& changes) {
  const json levels = value.is_string() ? json::array({value}) : value;
  changes.on = levels.is_null();
  if (levels.is_null()) return absl::OkStatus();
  if (!levels.is_array()) return WrongSetting("trace_level", "expected an array of texts");
  for (const json& level : levels) {
    if (level == "TENSORS") return WrongSetting("trace_level", "tensors are not traced");
    if (level != "OFF" && level != "TIMESTAMPS")
      return WrongSetting("trace_level", "expected OFF or TIMESTAMPS");
    changes.on = level == "TIMESTAMPS";
  }
  return absl::OkStatus();
}

// A number as such or as text; null: `otherwise`.
bool ReadNumber(const json& value, int64_t least, int64_t otherwise, int64_t& number) {
  number = otherwise;
  if (value.is_null()) return true;
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return absl::SimpleAtoi(text, &number) && number >= least;
}

absl::Status ReadChange(const std::string& name, const json& value, Changes& changes) {
  static const std::vector<std::string> kNames = {"trace_file", "trace_level", "trace_rate",
                                                  "trace_count", "log_frequency"};
  int64_t number = 0;
  if (name == "trace_level") return ReadLevel(value, changes);
  if (name == "trace_rate") {
    if (!ReadNumber(value, 1, RequestTracing::kRate, number))
      return WrongSetting("trace_rate", "expected a whole number of at least 1");
    changes.rate = static_cast<uint64_t>(number);
  } else if (name == "trace_count") {
    if (!ReadNumber(value, -1, RequestTracing::kCount, number))
      return WrongSetting("trace_count",
                          "expected a whole number of at least 0, or -1 for no limit");
    changes.count = number;
  } else if (name == "log_frequency") {
    if (!ReadNumber(value, 0, 0, number) || number != 0)
      return WrongSetting("log_frequency", "expected 0: each request has a file of its own");
  } else if (name == "trace_file") {
    if (!value.is_null() && value != "")
      return WrongSetting("trace_file", "cannot be changed by a request");
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is not a setting of traces", DidYouMean(name, kNames)));
  }
  return absl::OkStatus();
}

}  // namespace

void TraceSettingsNow(ServerState& state, Call call) {
  call.respond(JsonReply(SettingsJson(state.tracing)));
}

void ChangeTraceSettings(ServerState& state, Call call) {
  constexpr size_t kMostBytes = 4096;  // that the network's thread parses
  const std::string& body = call.request.body;
  if (body.size() > kMostBytes)
    return call.respond(ErrorReply(400, "the body is larger than settings of traces are"));
  const json document = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return call.respond(ErrorReply(400, "the body is not a JSON object"));
  Changes changes;
  for (const auto& [name, value] : document.items())
    if (const absl::Status status = ReadChange(name, value, changes); !status.ok())
      return call.respond(ErrorReply(status));
  const bool asked = document.contains("trace_level") && !document["trace_level"].is_null();
  if (asked && *changes.on && state.tracing.directory.empty())
    return call.respond(ErrorReply(400, "the server has no directory for traces (--trace-dir)"));
  if (changes.on) state.tracing.on = *changes.on;
  if (changes.rate) state.tracing.rate = *changes.rate;
  if (changes.count) state.tracing.left = *changes.count;
  TraceSettingsNow(state, std::move(call));
}

}  // namespace onward::serving

// The shell command that a user pastes to ask a model.
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "serving/example_inputs.h"
#include "serving/http/framing.h"
#include "serving/protocol/datatype.h"
#include "serving/served_model.h"
#include "serving/text/text_model.h"

namespace onward::serving {
namespace {

constexpr int64_t kWritten = 16;  // zeros that stand in the command; the shell makes more of them
// The system takes 128 KiB in one argument of a command.
constexpr size_t kLongestArgument = 100'000;
constexpr char kFirstOfSequence[] = R"("parameters":{"sequence_id":1,"sequence_start":true},)";

// A part of the body: text, and the zeros behind it.
struct Part {
  std::string text, zero;
  int64_t zeros = 0;
};

std::string InSingleQuotes(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}});
}

std::vector<Part> BodyOf(const ServedModel& model) {
  std::vector<Part> parts;
  std::string text =
      absl::StrCat("{", model.sequences() == nullptr ? "" : kFirstOfSequence, "\"inputs\":[");
  for (const ValueInfo& input : model.inputs()) {
    if (input.optional) continue;
    const DType dtype = input.type.dtype;
    const std::vector<int64_t> shape = ExampleShape(input.type, model.example_size());
    const std::string name =
        nlohmann::json(input.name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    absl::StrAppend(&text, parts.empty() ? "" : "]},", "{\"name\":", name, ",\"datatype\":\"",
                    std::string(DatatypeName(dtype)), "\",\"shape\":", nlohmann::json(shape).dump(),
                    ",\"data\":[");
    const char* zero = dtype == DType::kString ? "\"\"" : dtype == DType::kBool ? "false" : "0";
    parts.push_back({std::move(text), zero, NumElements(Dims(shape.begin(), shape.end()))});
    text.clear();
  }
  parts.push_back({parts.empty() ? text + "]}" : "]}]}", "", 0});
  return parts;
}

// The body as an argument in single quotes.
std::string AsArgument(const std::vector<Part>& parts) {
  std::string argument = "'";
  for (const Part& part : parts) {
    argument += InSingleQuotes(part.text);
    if (part.zeros > kWritten) {
      absl::StrAppend(&argument, "'\"$(yes '", part.zero, "' | head -n ", part.zeros,
                      " | paste -sd, -)\"'");
      continue;
    }
    for (int64_t i = 0; i < part.zeros; ++i)
      absl::StrAppend(&argument, i == 0 ? "" : ",", part.zero);
  }
  return argument + "'";
}

// A command that prints the body.
std::string AsCommand(const std::vector<Part>& parts) {
  std::string command = "{";
  for (const Part& part : parts) {
    absl::StrAppend(&command, " printf %s '", InSingleQuotes(part.text), "';");
    if (part.zeros > 0)
      absl::StrAppend(&command, " yes '", part.zero, "' | head -n ", part.zeros,
                      " | paste -sd, -;");
  }
  return command + " }";
}

}  // namespace

std::string ServedModel::CurlLine(const std::string& curl, const std::string& url) const {
  const std::string path =
      absl::StrCat(curl, " '", url, "/v2/models/", InSingleQuotes(EncodedSegment(name_)));
  if (text() != nullptr && text()->generates())
    return absl::StrCat(path, "/generate' -d '{\"text_input\":\"Once\"}'");
  const std::vector<Part> body = BodyOf(*this);
  size_t bytes = 0;
  for (const Part& part : body)
    bytes += part.text.size() + static_cast<size_t>(part.zeros) * (part.zero.size() + 1);
  if (bytes <= kLongestArgument) return absl::StrCat(path, "/infer' -d ", AsArgument(body));
  return absl::StrCat(AsCommand(body), " | ", path, "/infer' -d @-");
}

}  // namespace onward::serving

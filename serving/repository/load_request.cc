#include "serving/repository/load_request.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/http/framing.h"

namespace onward::serving {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "file:";

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

bool IsVersionAndFile(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == 0 || slash == name.npos || slash > 18) return false;
  const std::string_view version = name.substr(0, slash), file = name.substr(slash + 1);
  for (const char c : version)
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  return !file.empty() && file.size() <= 255 && CanBeSegment(file);
}

absl::Status ReadParameter(const std::string& key, const nlohmann::json& value,
                           LoadRequest& request) {
  const std::string where = absl::StrCat("parameters['", key, "']");
  const bool is_file = key.compare(0, kFile.size(), kFile) == 0;
  if (key != "config" && !is_file) return absl::OkStatus();
  if (!value.is_string())
    return Wrong(where, absl::StrCat("expected a string, got ", std::string(value.type_name())));
  const std::string& text = value.get_ref<const std::string&>();
  if (!is_file) {
    request.config = text;
    return absl::OkStatus();
  }
  const std::string name = key.substr(kFile.size());
  if (!IsVersionAndFile(name)) return Wrong(where, "the name is not file:VERSION/FILE");
  if (!absl::Base64Unescape(text, &request.files[name])) return Wrong(where, "is not base64");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoadRequest> ReadLoadRequest(std::string_view body) {
  LoadRequest request;
  if (body.empty()) return request;
  const nlohmann::json document = nlohmann::json::parse(body, nullptr, false);
  if (!document.is_object()) return absl::InvalidArgumentError("the body is not a JSON object");
  const auto parameters = document.find("parameters");
  if (parameters == document.end()) return request;
  if (!parameters->is_object()) return Wrong("parameters", "expected an object");
  for (const auto& [key, value] : parameters->items())
    ONWARD_RETURN_IF_ERROR(ReadParameter(key, value, request));
  if (!request.files.empty() && !request.config)
    return Wrong("parameters", "files need a configuration: \"config\"");
  return request;
}

absl::StatusOr<std::unique_ptr<PrivateDirectory>> PrivateDirectory::Create() {
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "onward_model_XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr)
    return absl::InternalError("there is no directory for the model's files");
  return std::unique_ptr<PrivateDirectory>(new PrivateDirectory(pattern));
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

absl::Status PrivateDirectory::Write(const std::string& name, std::string_view bytes) const {
  const fs::path path = fs::path(path_) / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (error || !file)
    return absl::ResourceExhaustedError(absl::StrCat("'", name, "' cannot be stored"));
  return absl::OkStatus();
}

}  // namespace onward::serving

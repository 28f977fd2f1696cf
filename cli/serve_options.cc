#include "cli/serve_options.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "cli/serve_grpc.h"
#include "graph/base/byte_text.h"
#include "graph/base/closest_name.h"
#include "onward/session.h"
#include "onward/status.h"
#include "onward/thread_pool.h"
#include "onward/version.h"

namespace onward::cli {
namespace {

struct Member {
  const char* name;  // less "--"
  std::string ServeFlags::*value;
  const char* otherwise;
  const char* help;
};
constexpr Member kMembers[] = {
    {"http", &ServeFlags::http, "127.0.0.1:8000",
     "HOST:PORT or unix:PATH to listen on (default: 127.0.0.1:8000)"},
    {"grpc", &ServeFlags::grpc, "",
     "HOST:PORT to listen on for gRPC, in builds that have it (default: there is no gRPC)"},
    {"max-body", &ServeFlags::max_body, "64MB", "the largest request (default: 64MB)"},
    {"max-wait", &ServeFlags::max_wait, "2s",
     "how long a request may wait for its turn; one that would wait longer is refused at once "
     "(default: 2s)"},
    {"drain-timeout", &ServeFlags::drain_timeout, "30s",
     "how long requests under way may take once the server stops (default: 30s)"},
    {"api-key-file", &ServeFlags::api_key_file, "",
     "keys of which inference needs one, a line each (default: it needs none)"},
    {"admin-key-file", &ServeFlags::admin_key_file, "",
     "keys of administrators (default: nobody may administer)"},
    {"tls-cert", &ServeFlags::tls_cert, "", "certificate chain in PEM: connections are encrypted"},
    {"tls-key", &ServeFlags::tls_key, "", "the certificate's key in PEM"},
    {"access-log", &ServeFlags::access_log, "",
     "a file that gets a line of JSON for each request; - is standard output"},
    {"trace-dir", &ServeFlags::trace_dir, "",
     "a directory that gets Chrome traces of the first 100 inferences, and of more where an "
     "administrator asks for them"},
};

// "127.0.0.1:8000", "[::1]:8000", "unix:/run/onward.sock".
absl::Status ReadAddress(const std::string& flag, const std::string& text,
                         serving::HttpAddress& address) {
  const int otherwise = address.port;
  if (absl::StartsWith(text, "unix:") && text.size() > 5) {
    address.unix_path = text.substr(5);
    return absl::OkStatus();
  }
  const size_t colon = text.rfind(':');
  if (colon == text.npos || !absl::SimpleAtoi(text.substr(colon + 1), &address.port) ||
      address.port < 0 || address.port > 65535)
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", text, "' is not HOST:PORT, such as 127.0.0.1:", otherwise,
                     flag == "--http" ? ", nor unix:PATH" : ""));
  address.host = text.substr(0, colon);
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  return absl::OkStatus();
}

// "2s", "500ms", "1m"; a number alone is seconds.
absl::StatusOr<std::chrono::microseconds> ReadDuration(const std::string& flag,
                                                       const std::string& text) {
  absl::Duration duration;
  const bool read =
      absl::ParseDuration(text, &duration) || absl::ParseDuration(text + "s", &duration);
  if (read && duration >= absl::ZeroDuration() && duration <= absl::Hours(24))
    return absl::ToChronoMicroseconds(duration);
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", text, "' is not a duration from 0 to 24h, such as 2s or 500ms"));
}

// Null where no file is named. Lines are appended, each as a whole.
absl::StatusOr<serving::AccessLog> OpenAccessLog(const std::string& path) {
  if (path.empty()) return serving::AccessLog();
  std::shared_ptr<std::FILE> file(stdout, [](std::FILE*) {});
  if (path != "-") {
    std::FILE* const opened = std::fopen(path.c_str(), "ae");
    if (opened == nullptr)
      return absl::NotFoundError(
          absl::StrCat("--access-log: '", path, "' cannot be written: ", std::strerror(errno)));
    file.reset(opened, [](std::FILE* ended) { std::fclose(ended); });
  }
  return serving::AccessLog([file](const std::string& line) {
    const std::string whole = line + "\n";
    std::fwrite(whole.data(), 1, whole.size(), file.get());
    std::fflush(file.get());
  });
}

absl::Status CheckTraceDirectory(const std::string& path) {
  if (path.empty() || (access(path.c_str(), W_OK | X_OK) == 0 &&
                       std::filesystem::is_directory(std::filesystem::path(path))))
    return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("--trace-dir: '", path, "' is not a directory that can be written to"));
}

absl::Status TakeGrpc(const ServeFlags& flags, ServeOptions& options) {
  serving::HttpAddress& address = options.grpc.emplace();
  address.port = 8001;
  address.certificate_file = flags.tls_cert;
  address.key_file = flags.tls_key;
  ONWARD_RETURN_IF_ERROR(ReadAddress("--grpc", flags.grpc, address));
  return AddGrpc(address, options.server);
}

// Nothing where no file is named.
absl::StatusOr<std::optional<serving::KeyList>> ReadKeys(const char* option,
                                                         const std::string& path) {
  if (path.empty()) return std::optional<serving::KeyList>();
  absl::StatusOr<serving::KeyList> keys = serving::KeyList::Read(path);
  if (!keys.ok()) return Annotate(keys.status(), absl::StrCat(option, ":"));
  if (keys->others_may_read())
    std::fprintf(stderr, "warning: every user of this machine may read '%s': chmod o-r\n",
                 path.c_str());
  return std::optional<serving::KeyList>(*std::move(keys));
}

absl::Status TakeMember(const std::string& name, const nlohmann::json& value, ServeFlags& flags) {
  if (name == "models" && value.is_array()) {
    const bool given = !flags.models.empty();
    for (const nlohmann::json& model : value) {
      if (!model.is_string())
        return absl::InvalidArgumentError("models: expected texts, \"[NAME=]MODEL\"");
      if (!given) flags.models.push_back(model.get<std::string>());
    }
    return absl::OkStatus();
  }
  std::vector<std::string> known = {"models"};
  for (const Member& member : kMembers) {
    known.push_back(member.name);
    if (name != member.name) continue;
    if (!value.is_string())
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": expected a string, as the flag takes it"));
    if ((flags.*member.value).empty()) flags.*member.value = value.get<std::string>();
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is not a member of the configuration", DidYouMean(name, known)));
}

absl::Status ReadConfig(ServeFlags& flags) {
  if (flags.config.empty()) return absl::OkStatus();
  const std::string where = absl::StrCat("--config '", flags.config, "':");
  std::ifstream file(flags.config);
  if (!file) return absl::NotFoundError(absl::StrCat(where, " cannot be read"));
  const nlohmann::json document = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object())
    return absl::InvalidArgumentError(absl::StrCat(where, " expected an object in JSON"));
  for (const auto& [name, value] : document.items())
    if (absl::Status status = TakeMember(name, value, flags); !status.ok())
      return Annotate(status, where);
  return absl::OkStatus();
}

std::string InBrackets(const std::string& host) {
  return host.find(':') == std::string::npos ? host : absl::StrCat("[", host, "]");
}

}  // namespace

void AddServeFlags(Command& command, ServeFlags& flags) {
  command.Option("models", flags.models, "[NAME=]MODEL: ONNX files, and directories of them");
  for (const Member& member : kMembers)
    command.Option(absl::StrCat("--", member.name), flags.*member.value, member.help);
  command.Option("--config", flags.config,
                 "a file in JSON whose members are these flags and count where a flag is missing");
  command.Flag("--check", flags.check,
               "load all models, say what is wrong with them and with the options, and end without "
               "opening a port");
}

absl::StatusOr<ServeOptions> ReadServeOptions(ServeFlags flags, const CommonOptions& common) {
  ONWARD_RETURN_IF_ERROR(ReadConfig(flags));
  for (const Member& member : kMembers)
    if ((flags.*member.value).empty()) flags.*member.value = member.otherwise;
  ServeOptions options;
  if (flags.models.empty()) return absl::InvalidArgumentError("name a model to serve");
  options.models = flags.models;
  serving::ServerOptions& server = options.server;
  ONWARD_RETURN_IF_ERROR(ReadAddress("--http", flags.http, server.address));
  server.address.certificate_file = flags.tls_cert;
  server.address.key_file = flags.tls_key;
  ONWARD_ASSIGN_OR_RETURN(const int64_t most, ParseBytes("--max-body", flags.max_body));
  server.limits.body_bytes = most;
  if (!flags.grpc.empty()) ONWARD_RETURN_IF_ERROR(TakeGrpc(flags, options));
  ONWARD_ASSIGN_OR_RETURN(server.scheduling.max_wait, ReadDuration("--max-wait", flags.max_wait));
  ONWARD_ASSIGN_OR_RETURN(options.drain, ReadDuration("--drain-timeout", flags.drain_timeout));
  ONWARD_ASSIGN_OR_RETURN(server.keys.api, ReadKeys("--api-key-file", flags.api_key_file));
  ONWARD_ASSIGN_OR_RETURN(server.keys.admin, ReadKeys("--admin-key-file", flags.admin_key_file));
  ONWARD_ASSIGN_OR_RETURN(server.access_log, OpenAccessLog(flags.access_log));
  ONWARD_RETURN_IF_ERROR(CheckTraceDirectory(flags.trace_dir));
  server.trace_directory = flags.trace_dir;
  server.log_news = common.verbose;
  server.log_verbose_level = common.verbose ? 1 : 0;
  server.scheduling.cores = common.threads > 0 ? common.threads : PhysicalCores();
  server.version =
      absl::StrCat(ONWARD_VERSION_MAJOR, ".", ONWARD_VERSION_MINOR, ".", ONWARD_VERSION_PATCH);
  return options;
}

std::string HostAndPort(const serving::HttpAddress& address) {
  return absl::StrCat(InBrackets(address.host), ":", address.port);
}

std::string UrlOf(const serving::HttpAddress& address) {
  if (!address.unix_path.empty()) return absl::StrCat("unix:", address.unix_path);
  return absl::StrCat(address.certificate_file.empty() ? "http://" : "https://",
                      HostAndPort(address));
}

CurlCall CurlTo(const serving::HttpAddress& address) {
  const auto quoted = [](const std::string& text) {
    return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
  };
  CurlCall call{"curl", UrlOf(address)};
  if (!address.certificate_file.empty())
    absl::StrAppend(&call.command, " --cacert ", quoted(address.certificate_file));
  if (!address.unix_path.empty()) {
    absl::StrAppend(&call.command, " --unix-socket ", quoted(address.unix_path));
    call.url = address.certificate_file.empty() ? "http://localhost" : "https://localhost";
  }
  return call;
}

}  // namespace onward::cli

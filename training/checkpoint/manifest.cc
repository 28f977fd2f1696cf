#include "training/checkpoint/manifest.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "graph/base/crc32c.h"
#include "onward/status.h"

namespace onward::training {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

// The text without its checksum; objects are sorted by name, so it is the only one.
std::string Body(const Manifest& manifest) {
  json body = {{"format", kFormat},
               {"step", manifest.step},
               {"values", manifest.values},
               {"state.safetensors", {{"size", manifest.size}, {"crc32c", manifest.crc32c}}},
               {"tensors", manifest.tensors}};
  if (manifest.metric) body["metric"] = *manifest.metric;
  return body.dump(1);
}

std::string WithChecksum(const std::string& body) {
  return absl::StrCat("{\"checkpoint\":", body, ",\"crc32c\":", Crc32c(body), "}\n");
}

absl::StatusOr<Manifest> FromJson(const json& document) {
  const json& body = document.at("checkpoint");
  if (body.at("format") != kFormat) {
    return absl::UnimplementedError(
        absl::StrCat("written in format ", body.at("format").dump(), ", not ", kFormat));
  }
  Manifest manifest;
  manifest.step = body.at("step").get<int64_t>();
  if (body.contains("metric")) manifest.metric = body.at("metric").get<double>();
  manifest.values = body.at("values").get<std::map<std::string, std::string>>();
  manifest.size = body.at("state.safetensors").at("size").get<int64_t>();
  manifest.crc32c = body.at("state.safetensors").at("crc32c").get<uint32_t>();
  manifest.tensors = body.at("tensors").get<std::map<std::string, uint32_t>>();
  return manifest;
}

}  // namespace

absl::StatusOr<std::string> ManifestText(const Manifest& manifest) {
  for (const auto& [name, value] : manifest.values) {
    if (!files::IsUtf8(name) || !files::IsUtf8(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value '", files::PrintableUtf8(name), "' is not UTF-8"));
    }
  }
  Manifest finite = manifest;
  if (finite.metric && !std::isfinite(*finite.metric)) finite.metric.reset();
  return WithChecksum(Body(finite));
}

absl::StatusOr<Manifest> ParseManifest(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return absl::DataLossError("damaged: not JSON");
  absl::StatusOr<Manifest> manifest = absl::DataLossError("");
  try {
    manifest = FromJson(document);
  } catch (const json::exception& error) {
    return absl::DataLossError(absl::StrCat("damaged: ", error.what()));
  }
  if (manifest.ok() && WithChecksum(Body(*manifest)) != text)
    return absl::DataLossError("damaged: its checksum differs");
  return manifest;
}

}  // namespace onward::training

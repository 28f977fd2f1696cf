// Finds models: files, directories of them, and Triton's repositories
// (MODEL/[config.pbtxt], MODEL/VERSION/model.onnx).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/log.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

struct ModelSource {
  std::string name;
  std::string path;  // an .onnx file, or a model's directory
};

// The model of a file, of a model's directory, or those of a directory of such: subdirectories
// that are models', and .onnx files. Named after files and directories. NotFound: there are none.
absl::StatusOr<std::vector<ModelSource>> SourcesIn(const std::string& path, const LogSink& log);

// The same, where one model has the name of `place`, if that has one.
absl::StatusOr<std::vector<ModelSource>> SourcesAt(const ModelSource& place, const LogSink& log);

// Returns whether a directory is a model's: it has a configuration, a version or a model.onnx.
bool IsModelDirectory(const std::string& path);

// Returns whether SourcesIn takes the path for a directory of models rather than for one model.
bool HoldsModels(const std::string& path);

// The files of the versions that the policy chooses; version 1 is a file or model.onnx where there
// are not directories of versions. NotFound: there are none, or one that is asked for is missing.
absl::StatusOr<std::map<int64_t, std::string>> VersionsOf(const ModelSource& source,
                                                          const config::ModelConfig& config);

}  // namespace onward::serving

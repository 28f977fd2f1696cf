// The loaders, the log and the other models that the loading of a model needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "onward/log.h"
#include "onward/session.h"
#include "serving/repository/model_directory.h"
#include "serving/served_model.h"
#include "serving/text/load_text.h"

namespace onward::serving {

// Makes sessions of files.
struct SessionLoader {
  // The file may be overwritten afterwards: ImportOptions::copy_weights.
  std::function<absl::StatusOr<Model>(const std::string& path)> import = nullptr;
  std::function<absl::StatusOr<std::unique_ptr<Session>>(Model model, const std::string& provider)>
      create = nullptr;
  std::string provider = "cpu";  // of instances for which no configuration names a device
  bool deterministic = false;    // ServedModelFacts::deterministic
};

struct LoadContext {
  SessionLoader load_session;
  GeneratorLoader load_generator;  // null: models do not generate text
  LogSink log;
  // Returns the statistics that count the requests to a version.
  std::function<std::shared_ptr<ModelStatistics>(int64_t version)> statistics;
  // Finds another model of the repository, for ensembles. NotFound.
  std::function<absl::StatusOr<ModelSource>(const std::string& name)> find;
};

}  // namespace onward::serving

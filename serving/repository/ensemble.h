// Ensembles: models of a repository that run one after the other, served as one model of one graph.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "serving/repository/labels.h"
#include "serving/repository/load_context.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

struct ReadEnsembleModel {
  Model model;
  Labels labels;  // of classes that the graphs name
};

// The models that the steps name, as one. They need not be loaded, and may be ensembles.
// InvalidArgument names the step: an unknown model, a tensor that nobody makes, types that do not
// meet (see Compose), an ensemble that is a step of itself. Other errors as of importing.
absl::StatusOr<ReadEnsembleModel> ReadEnsemble(const ModelSource& source,
                                               const config::ModelConfig& config,
                                               const LoadContext& context);

// An ensemble's version: its highest version directory, which has no file; 1 where there is none.
int64_t EnsembleVersion(const ModelSource& source);

}  // namespace onward::serving

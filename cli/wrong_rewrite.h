// The rewrite of a model's graph that makes its outputs wrong, by bisection.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"

namespace onward::cli {

struct WrongRewrite {
  int number = 0;    // the outputs are right after one less; 0: they are wrong without any
  int rewrites = 0;  // that the session makes
  std::string pass;
  std::vector<std::string> nodes;  // that it made or changed: "[Conv 'c'] (fuse-batch-norm)"
};

// The model with its outputs is wrong with all rewrites, by `right`, which runs a session of it.
// Loads the model once for each halving of the number of rewrites.
absl::StatusOr<WrongRewrite> FindWrongRewrite(
    const std::string& model, const SessionOptions& options,
    const std::function<absl::StatusOr<bool>(Session& session)>& right);

}  // namespace onward::cli

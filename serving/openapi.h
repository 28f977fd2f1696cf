// OpenAPI 3.0 of the endpoints and of the models that are loaded.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "serving/routes.h"
#include "serving/served_model.h"

namespace onward::serving {

struct ApiFacts {
  std::string version;    // of the program
  bool has_keys = false;  // inference wants one
  std::vector<std::shared_ptr<ServedModel>> models;
};

// The routes that have a summary, and for each model the path of its inference: what its request is
// made of, with an example of zeros (1 for dims that vary). Models whose inputs are very large have
// no example.
nlohmann::json OpenApi(absl::Span<const Route> routes, const ApiFacts& facts);

}  // namespace onward::serving

// The models that a server has, by name and version.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/served_model.h"

namespace onward::serving {

class ModelRepository {
 public:
  // AlreadyExists: a model of that name is there.
  absl::Status Add(std::shared_ptr<ServedModel> model);

  // The model of that name and version; version "": the newest. NotFound names the closest.
  absl::StatusOr<std::shared_ptr<ServedModel>> Find(const std::string& name,
                                                    const std::string& version) const;
  std::vector<std::string> Names() const;

 private:
  std::map<std::string, std::shared_ptr<ServedModel>> models_;
};

}  // namespace onward::serving

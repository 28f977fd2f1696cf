#include "serving/model_repository.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {

absl::Status ModelRepository::Add(std::shared_ptr<ServedModel> model) {
  const std::string name = model->name();
  if (models_.emplace(name, std::move(model)).second) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("two models are named '", name, "': NAME=MODEL gives one another name"));
}

absl::StatusOr<std::shared_ptr<ServedModel>> ModelRepository::Find(
    const std::string& name, const std::string& version) const {
  const auto found = models_.find(name);
  if (found == models_.end()) {
    const std::string closest = ClosestName(name, Names());
    return absl::NotFoundError(
        absl::StrCat("Request for unknown model: '", name, "' is not found",
                     closest.empty() ? "" : absl::StrCat("; the closest is '", closest, "'")));
  }
  if (!version.empty() && version != kOnlyVersion)
    return absl::NotFoundError(absl::StrCat("Request for unknown model: '", name,
                                            "' has no version ", version, ", it has ",
                                            kOnlyVersion));
  return found->second;
}

std::vector<std::string> ModelRepository::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, model] : models_) names.push_back(name);
  return names;
}

}  // namespace onward::serving

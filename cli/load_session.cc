#include "cli/load_session.h"

#include "onward/import.h"
#include "onward/status.h"
#include "training/gradient/expand_gradient.h"

namespace onward::cli {

absl::StatusOr<std::unique_ptr<Session>> CreateSession(Model model, const SessionOptions& options) {
  ONWARD_RETURN_IF_ERROR(ExpandGradientNodes(model.graph));
  return Session::Create(std::move(model), options);
}

absl::StatusOr<std::unique_ptr<Session>> LoadSession(const std::string& path,
                                                     const SessionOptions& options,
                                                     Metadata* metadata) {
  ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(path));
  if (metadata != nullptr) *metadata = model.metadata;
  SessionOptions again = options;
  again.import_again = [path]() -> absl::StatusOr<Model> {
    ImportOptions separate;
    separate.separate_dim_names = true;
    ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(path, separate));
    ONWARD_RETURN_IF_ERROR(ExpandGradientNodes(model.graph));
    return model;
  };
  return CreateSession(std::move(model), again);
}

}  // namespace onward::cli

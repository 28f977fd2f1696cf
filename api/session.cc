#include "onward/session.h"

#include <utility>

#include "executors/create_session.h"
#include "executors/select_outputs.h"
#include "onnx_io/expand_functions.h"
#include "onward/import.h"
#include "onward/status.h"
#include "training/gradient/expand_gradient.h"

namespace onward {

absl::StatusOr<std::unique_ptr<Session>> Session::Create(Model model,
                                                         const SessionOptions& options) {
  ONWARD_RETURN_IF_ERROR(executors::SelectOutputs(model, options.outputs));
  ONWARD_RETURN_IF_ERROR(training::ExpandGradientNodes(model.graph));
  return executors::CreateSession(std::move(model), options,
                                  {.expand_ops = onnx_io::ExpandFunctions});
}

absl::StatusOr<std::unique_ptr<Session>> Session::Load(const std::string& path,
                                                       const SessionOptions& options) {
  SessionOptions limited = options;
  limited.memory = executors::MemoryOf(options);
  const MemoryScope scope(limited.memory);
  const auto import = [path, copy_weights = options.copy_weights, outputs = options.outputs](
                          bool separate_dim_names) -> absl::StatusOr<Model> {
    ImportOptions import_options;
    import_options.separate_dim_names = separate_dim_names;
    import_options.copy_weights = copy_weights;
    ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(path, import_options));
    ONWARD_RETURN_IF_ERROR(executors::SelectOutputs(model, outputs));
    ONWARD_RETURN_IF_ERROR(training::ExpandGradientNodes(model.graph));
    return model;
  };
  ONWARD_ASSIGN_OR_RETURN(Model model, import(false));
  // The file may be another one by the time it would be read again.
  if (options.copy_weights)
    return executors::CreateSession(std::move(model), limited,
                                    {.expand_ops = onnx_io::ExpandFunctions});
  return executors::CreateSession(
      std::move(model), limited,
      {.expand_ops = onnx_io::ExpandFunctions, .import_again = [import] { return import(true); }});
}

}  // namespace onward

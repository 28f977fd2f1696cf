#include "graph/infer/infer.h"
#include "onward/export.h"
#include "onward/import.h"
#include "tests/fuzz/harnesses.h"
#include "tests/fuzz/random_model.h"

namespace onward::fuzz {

void ModelBytes(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Model> model = ImportBytes(bytes);
  if (model.ok()) (void)ExportBytes(*model);
  ImportOptions options;
  options.for_inspection = true;
  options.training = true;
  std::vector<TrainingInitialization> initializations;
  options.initializations = &initializations;
  (void)ImportBytes(bytes, "", options);
}

void ShapeInference(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, size);
  const std::string serialized = RandomModel(bytes, false).SerializeAsString();
  ImportOptions options;
  options.for_inspection = true;
  absl::StatusOr<Model> model = ImportBytes(serialized, "", options);
  if (model.ok()) (void)InferGraph(model->graph);
}

}  // namespace onward::fuzz

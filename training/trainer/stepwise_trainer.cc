#include "onward/stepwise_trainer.h"

#include <new>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/communicator.h"
#include "onward/status.h"
#include "training/config/check_config.h"
#include "training/trainer/stepwise.h"

namespace onward {
namespace {

// Everything that a loop decides itself is not in the config.
absl::Status CheckFields(const TrainConfig& config) {
  static const std::set<std::string> counting = {
      "loss",       "optimizer",     "clip",           "precision", "trainable", "frozen",
      "shared",     "untied",        "weights",        "head",      "data",      "seed",
      "average",    "stop_gradient", "inference_mode", "threads",   "provider",  "deterministic",
      "accumulate", "log",           "recompute",      "non_finite"};
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  config.GetReflection()->ListFields(config, &fields);
  const auto refused = [](const std::string& field) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the configuration: ", field, " is a part of Trainer, not of single steps; leave it out"));
  };
  for (const auto* field : fields)
    if (counting.count(field->name()) == 0) return refused(field->name());
  if (config.data().source_case() != DataConfig::SOURCE_NOT_SET) return refused("data's source");
  if (config.recompute().has_memory_budget()) return refused("recompute.memory_budget");
  if (config.log().has_every_steps()) return refused("log.every_steps");
  if (config.log().has_tensorboard()) return refused("log.tensorboard");
  if (config.log().has_histogram_steps()) return refused("log.histogram_steps");
  for (const auto& group : config.optimizer().group())
    if (group.has_schedule()) return refused("optimizer.group.schedule");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepwiseTrainer>> StepwiseTrainer::Create(
    Model model, const TrainConfig& config, const std::vector<Field>& fields,
    StepwiseOptions options) {
  ONWARD_RETURN_IF_ERROR(CheckFields(config));
  TrainConfig complete = config;
  complete.mutable_data();
  TrainConfig checked = complete;
  checked.set_steps(1);
  ONWARD_RETURN_IF_ERROR(
      training::StatusOf(training::CheckTrainConfig(checked, /*has_model=*/true)));
  if (options.communicator != nullptr && options.communicator->size() == 1)
    options.communicator = nullptr;
  auto made = std::make_unique<training::Stepwise>(std::move(complete), std::move(options));
  try {
    ONWARD_RETURN_IF_ERROR(made->Open(std::move(model), fields));
  } catch (const std::bad_alloc& error) {  // tensors that find no memory throw
    return absl::ResourceExhaustedError(error.what());
  }
  return made;
}

}  // namespace onward

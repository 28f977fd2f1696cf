// Trainings whose loop is the program's own: one batch at a time, with a rate of its choice.
//
//   onward::TrainConfig config;
//   config.mutable_loss()->mutable_cross_entropy();
//   config.mutable_optimizer()->mutable_adam()->set_lr(1e-3);
//   const std::vector<onward::Field> targets = {
//       {"label", onward::Type::Tensor(onward::DType::kInt64, {})}};
//   ONWARD_ASSIGN_OR_RETURN(auto trainer, onward::StepwiseTrainer::Create(model, config, targets));
//   for (const auto& [image, label] : batches) {
//     ONWARD_ASSIGN_OR_RETURN(double loss, trainer->Step({{"image", image}, {"label", label}}));
//   }
//   ONWARD_RETURN_IF_ERROR(trainer->Export("trained.onnx"));
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/dataset.h"
#include "onward/graph.h"
#include "onward/tensor.h"
#include "onward/train_config.h"
#include "onward/weight_choice.h"

namespace onward {

// Not thread-safe.
class StepwiseTrainer {
 public:
  using Batch = std::map<std::string, Tensor>;  // by field: [batch, ...]

  // These fields of `config` may be set: loss, optimizer (not lbfgs, and no schedules of groups),
  // clip, precision (not FLOAT16), trainable, frozen, shared, untied, stop_gradient,
  // inference_mode, weights, head, data.inputs, seed, threads, deterministic. `fields` are those
  // that batches have besides the model's inputs, such as the target: their types are those of one
  // example, where a dim that differs from example to example is symbolic.
  // InvalidArgument: another field is set, or as Trainer::Create.
  static absl::StatusOr<std::unique_ptr<StepwiseTrainer>> Create(Model model,
                                                                 const TrainConfig& config,
                                                                 const std::vector<Field>& fields);
  virtual ~StepwiseTrainer() = default;

  // Makes one step: loss, gradients, new weights. Returns the loss before it, which may be NaN.
  // InvalidArgument: a field that is missing, a dtype or a shape that does not fit. Others as
  // Session::Run, such as a class that is out of range: weights are then those before the step,
  // running statistics may have seen the batch.
  virtual absl::StatusOr<double> Step(const Batch& batch) = 0;
  // The loss of a batch in inference mode, which changes nothing.
  virtual absl::StatusOr<double> Loss(const Batch& batch) = 0;
  // The class with the highest score, int64, where the loss is one of classes. Errors as Step;
  // FailedPrecondition: another loss.
  virtual absl::StatusOr<Tensor> Predict(const Batch& batch) = 0;
  // The coming steps have the optimizer's rates times `factor`: a schedule of your own.
  virtual absl::Status SetRateFactor(double factor) = 0;

  virtual int64_t steps_done() const = 0;
  virtual const std::vector<std::string>& parameters()
      const = 0;                                                 // names of those that are trained
  virtual const std::vector<WeightChoice>& choices() const = 0;  // see Trainer
  // State by name, as Trainer's; SetState gives it another value, such as that of another training.
  // InvalidArgument: no such state, or another dtype or shape.
  virtual std::vector<std::string> state_names() const = 0;
  virtual absl::StatusOr<Tensor> State(const std::string& name) const = 0;
  virtual absl::Status SetState(const std::string& name, Tensor value) = 0;

  // The model with the weights as they are, in inference form.
  virtual absl::StatusOr<Model> TrainedModel() const = 0;
  // Writes TrainedModel() as ONNX.
  virtual absl::Status Export(const std::string& path) const = 0;
};

}  // namespace onward

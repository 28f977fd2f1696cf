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
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/communicator.h"
#include "onward/dataset.h"
#include "onward/graph.h"
#include "onward/log.h"
#include "onward/tensor.h"
#include "onward/train_config.h"
#include "onward/training_report.h"
#include "onward/weight_choice.h"

namespace onward {

struct StepwiseOptions {
  // Joins ranks that train together (onward/ranks.h), each with a trainer and its own rows of every
  // batch: losses, gradients and weights are those of one rank with the rows of all. All ranks call
  // Create and Step alike; the weights to begin with are rank 0's. Null: one rank.
  std::shared_ptr<Communicator> communicator = nullptr;
  LogSink log = nullptr;  // is told of problems that do not end the training
};

// Not thread-safe.
class StepwiseTrainer {
 public:
  using Batch = std::map<std::string, Tensor>;  // by field: [batch, ...]

  // These fields of `config` may be set: loss, optimizer (no schedules of groups), clip, precision,
  // accumulate, average, trainable, frozen, shared, untied, stop_gradient, inference_mode, weights,
  // head, data.inputs, seed, threads, provider, deterministic, non_finite (SKIP; otherwise a loss
  // that is not finite is the caller's to look at), recompute.segment, log.detect_anomaly,
  // log.gradient_norms. `fields` are those that batches have besides the model's inputs, such as
  // the target: their types are those of one example, where a dim that differs from example to
  // example is symbolic. InvalidArgument: another field is set, or as Trainer::Create.
  static absl::StatusOr<std::unique_ptr<StepwiseTrainer>> Create(Model model,
                                                                 const TrainConfig& config,
                                                                 const std::vector<Field>& fields,
                                                                 StepwiseOptions options = {});
  virtual ~StepwiseTrainer() = default;

  // Makes one step: loss, gradients, new weights. Returns the loss before it, which may be NaN.
  // With precision FLOAT16 or non_finite SKIP a step whose loss or gradients are not finite leaves
  // the weights (last_step().skipped), and the scale of the loss follows torch.amp.GradScaler.
  // InvalidArgument: a field that is missing, a dtype or a shape that does not fit. Others as
  // Session::Run, such as a class that is out of range: weights are then those before the step,
  // running statistics may have seen the batch.
  virtual absl::StatusOr<double> Step(const Batch& batch) = 0;
  // The same of 1 to `accumulate` batches, whose step and loss are those of one large batch.
  virtual absl::StatusOr<double> StepOver(absl::Span<const Batch> batches) = 0;
  // Reports the last step: norms of its gradients (clip, log.gradient_norms), rates, the scale of
  // its loss, whether it was skipped.
  virtual const StepReport& last_step() const = 0;

  // Loss, Predict and TrainedModel have the averaged weights where the config has averages and a
  // step has counted.
  // The loss of a batch in inference mode, which changes nothing.
  virtual absl::StatusOr<double> Loss(const Batch& batch) = 0;
  // The class with the highest score, int64, where the loss is one of classes. Errors as Step;
  // FailedPrecondition: another loss.
  virtual absl::StatusOr<Tensor> Predict(const Batch& batch) = 0;
  // The coming steps have the optimizer's rates times `factor`: a schedule of your own.
  virtual absl::Status SetRateFactor(double factor) = 0;
  // Computes the running statistics of uniformly averaged weights on the batches that `next`
  // returns until it returns none (torch.optim.swa_utils.update_bn). Where the model has
  // BatchNormalizations that train, Loss, Predict and TrainedModel are FailedPrecondition until
  // then.
  using NextBatch = std::function<absl::StatusOr<std::optional<Batch>>()>;
  virtual absl::Status UpdateAverageStatistics(const NextBatch& next) = 0;

  virtual int64_t steps_done() const = 0;
  virtual const std::vector<std::string>& parameters()
      const = 0;                                                 // names of those that are trained
  virtual const std::vector<WeightChoice>& choices() const = 0;  // see Trainer
  // State by name, as Trainer's; SetState gives it another value, such as that of another training.
  // InvalidArgument: no such state, or another dtype or shape.
  virtual std::vector<std::string> state_names() const = 0;
  virtual absl::StatusOr<Tensor> State(const std::string& name) const = 0;
  virtual absl::Status SetState(const std::string& name, Tensor value) = 0;

  // Adds a checkpoint to `directory`, whole or not at all and durable, of which the newest `keep`
  // stay. Of several ranks one saves. Errors as a full disk; earlier checkpoints are then there.
  virtual absl::Status SaveCheckpoint(const std::string& directory, int keep = 2) const = 0;
  // Continues from the newest one that is whole, bit for bit: weights, the optimizer's state,
  // averages, the scale of the loss, the number of the step. NotFound: there is none;
  // InvalidArgument: it is of another model, optimizer or seed.
  virtual absl::Status RestoreCheckpoint(const std::string& directory) = 0;

  // The model with the weights as they are, in inference form.
  virtual absl::StatusOr<Model> TrainedModel() const = 0;
  // Writes TrainedModel() as ONNX.
  virtual absl::Status Export(const std::string& path) const = 0;
};

}  // namespace onward

#include "onward/stepwise_trainer.h"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/rewrite/state.h"
#include "onward/status.h"
#include "onward/thread_pool.h"
#include "training/config/check_config.h"
#include "training/config/precision.h"
#include "training/prepare/load_model.h"
#include "training/step/batch_inputs.h"
#include "training/step/phases.h"
#include "training/step/step_outputs.h"
#include "training/step/training_session.h"
#include "training/trainer/trained_model.h"

namespace onward {
namespace {

// Everything that a loop decides itself is not in the config.
absl::Status CheckFields(const TrainConfig& config) {
  static const std::set<std::string> counting = {
      "loss",          "optimizer",      "clip",    "precision",    "trainable", "frozen",
      "shared",        "untied",         "weights", "head",         "data",      "seed",
      "stop_gradient", "inference_mode", "threads", "deterministic"};
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  config.GetReflection()->ListFields(config, &fields);
  const auto refused = [](const std::string& field) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the configuration: ", field, " is a part of Trainer, not of single steps; leave it out"));
  };
  for (const auto* field : fields)
    if (counting.count(field->name()) == 0) return refused(field->name());
  if (config.data().source_case() != DataConfig::SOURCE_NOT_SET) return refused("data's source");
  if (IsLbfgs(config)) return refused("optimizer.lbfgs");
  if (ScalesLoss(config)) return refused("precision.autocast FLOAT16");
  for (const auto& group : config.optimizer().group())
    if (group.has_schedule()) return refused("optimizer.group.schedule");
  return absl::OkStatus();
}

class Stepwise : public StepwiseTrainer {
 public:
  explicit Stepwise(TrainConfig config) : config_(std::move(config)) {}

  absl::Status Open(Model model, const std::vector<Field>& fields) {
    ONWARD_ASSIGN_OR_RETURN(trained_, LoadModel(config_, "", nullptr, std::move(model)));
    ONWARD_ASSIGN_OR_RETURN(phases_, MakeTrainingPhases(trained_, config_, fields));
    SessionOptions options;
    options.pool =
        std::make_shared<ThreadPool>(config_.threads() > 0 ? config_.threads() : PhysicalCores());
    options.seed = config_.seed();
    options.deterministic = config_.deterministic();
    options.precision = SessionPrecision(config_);
    ONWARD_ASSIGN_OR_RETURN(session_,
                            TrainingSession::Create(std::exchange(phases_.models, {}), {options}));
    // The session has the weights from now on.
    weights_ = ReleaseWeights(session_->state_names(), trained_.model.graph);
    return SetRateFactor(1);
  }

  absl::StatusOr<double> Step(const Batch& batch) override {
    session_->session().set_run_index(static_cast<uint64_t>(steps_));
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                            InputsOf(session_->data_inputs(), batch, config_.data()));
    ONWARD_RETURN_IF_ERROR(
        Annotate(session_->Step(given, outputs_), absl::StrCat("step ", steps_ + 1, ":")));
    ++steps_;
    return LossOf(outputs_);
  }

  absl::StatusOr<double> Loss(const Batch& batch) override {
    ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, Evaluate(batch));
    LossMean mean;
    mean.Add(outputs);
    return mean.value();
  }

  absl::StatusOr<Tensor> Predict(const Batch& batch) override {
    ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, Evaluate(batch));
    const auto prediction = outputs.find("prediction");
    if (prediction == outputs.end())
      return absl::FailedPreconditionError(
          "Predict: the loss is not one of classes; run TrainedModel() in a Session");
    return prediction->second.tensor();
  }

  absl::Status SetRateFactor(double factor) override {
    for (const GroupSettings& group : phases_.groups) {
      Tensor settings(DType::kFloat64, {static_cast<int64_t>(group.values.size())});
      for (size_t i = 0; i < group.values.size(); ++i) {
        settings.mutable_data<double>()[i] =
            group.values[i] * (group.settings[i] == "lr" ? factor : 1);
      }
      ONWARD_RETURN_IF_ERROR(session_->Set(group.input, std::move(settings)));
    }
    return absl::OkStatus();
  }

  int64_t steps_done() const override { return steps_; }
  const std::vector<std::string>& parameters() const override { return phases_.parameters; }
  const std::vector<WeightChoice>& choices() const override { return phases_.choices; }
  std::vector<std::string> state_names() const override { return session_->state_names(); }
  absl::StatusOr<Tensor> State(const std::string& name) const override {
    return session_->State(name);
  }
  absl::Status SetState(const std::string& name, Tensor value) override {
    ONWARD_RETURN_IF_ERROR(session_->State(name).status());
    return session_->Set(name, value.Clone());
  }

  absl::StatusOr<Model> TrainedModel() const override {
    Model model = trained_.model;
    for (const std::string& name : weights_) {
      ONWARD_ASSIGN_OR_RETURN(Tensor value, session_->State(name));
      SetConstant(model.graph, model.graph.FindValue(name), std::move(value));
    }
    ONWARD_RETURN_IF_ERROR(ToInferenceForm(model));
    return model;
  }

  absl::Status Export(const std::string& path) const override {
    ONWARD_ASSIGN_OR_RETURN(Model model, TrainedModel());
    return ExportTrainedModel(std::move(model), config_, path);
  }

 private:
  absl::StatusOr<Session::Outputs> Evaluate(const Batch& batch) {
    ONWARD_ASSIGN_OR_RETURN(
        const Session::Inputs given,
        InputsOf(session_->data_inputs(phases_.evaluate), batch, config_.data()));
    return session_->Step(given, phases_.evaluate);
  }

  const TrainConfig config_;
  TrainableModel trained_;            // without the values of weights_
  std::vector<std::string> weights_;  // constants of the model that are state
  TrainingPhases phases_;
  std::unique_ptr<TrainingSession> session_;
  Session::Outputs outputs_;  // of the last step, whose memory the next one uses again
  int64_t steps_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepwiseTrainer>> StepwiseTrainer::Create(
    Model model, const TrainConfig& config, const std::vector<Field>& fields) {
  ONWARD_RETURN_IF_ERROR(CheckFields(config));
  TrainConfig complete = config;
  complete.mutable_data();
  TrainConfig checked = complete;
  checked.set_steps(1);
  ONWARD_RETURN_IF_ERROR(StatusOf(CheckTrainConfig(checked, /*has_model=*/true)));
  auto made = std::make_unique<Stepwise>(std::move(complete));
  try {
    ONWARD_RETURN_IF_ERROR(made->Open(std::move(model), fields));
  } catch (const std::bad_alloc& error) {  // tensors that find no memory throw
    return absl::ResourceExhaustedError(error.what());
  }
  return made;
}

}  // namespace onward

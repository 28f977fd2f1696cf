// Trainings: a model, data and a configuration become a trained model, as `onward train` does it.
//
//   ONWARD_ASSIGN_OR_RETURN(auto config, onward::ReadTrainConfig("mnist/train.textproto"));
//   ONWARD_ASSIGN_OR_RETURN(auto trainer, onward::Trainer::Create(config, {.directory = "mnist"}));
//   ONWARD_RETURN_IF_ERROR(trainer->Run());
//   ONWARD_RETURN_IF_ERROR(trainer->Export("trained.onnx"));
//
// Model and data may come from the program too (TrainerOptions::model, ::data).
// With a directory of checkpoints a training that was cut off resumes bit for bit.
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
#include "onward/counters.h"
#include "onward/dataset.h"
#include "onward/explanation.h"
#include "onward/graph.h"
#include "onward/log.h"
#include "onward/metric.h"
#include "onward/session.h"
#include "onward/tensor.h"
#include "onward/train_config.h"
#include "onward/training_report.h"
#include "onward/weight_choice.h"

namespace onward {

class Communicator;  // onward/communicator.h

struct TrainerOptions {
  // The model that is trained, in place of the config's `model` or `built`: made in C++
  // (onward/nn.h), or imported. Its weights are its constants, by their names.
  std::optional<Model> model = std::nullopt;
  // The data, in place of the source that the config's `data` names; the other fields of `data`
  // count (inputs, pad, shuffle, ...). `evaluation_data` is the same for `evaluation`. A training
  // that resumes cannot tell whether such data are those that it had.
  std::shared_ptr<const Dataset> data = nullptr;
  std::shared_ptr<const Dataset> evaluation_data = nullptr;
  std::string directory = {};       // a relative path of the model is below it
  std::string data_directory = {};  // relative paths of data are below it; "": `directory`
  // Multiplies the rate of a group of parameters in the step after `steps` steps, beside its
  // schedule, as PyTorch's LambdaLR does: a function of these numbers alone, so that a training
  // that resumes continues with the same rates. `group`: in the config's order, the rest of the
  // parameters last. A factor that is negative or not finite ends the training (InvalidArgument).
  std::function<double(int64_t steps, int64_t group)> rate_factor = nullptr;
  // The metrics that the config declares (evaluation.own), by name; neither has one that the other
  // lacks.
  std::map<std::string, MetricFactory> metrics = {};
  std::function<void(const StepReport&)> on_step = nullptr;
  std::function<void(const EvaluationReport&)> on_evaluation = nullptr;
  // Is told of problems that do not end the training: a checkpoint that could not be written or is
  // damaged.
  LogSink log = nullptr;
  // Count steps ("training/steps", "training/skipped_steps"), evaluations ("training/evaluations"),
  // checkpoints ("checkpoint/begun", "checkpoint/failed"), and what sessions count.
  std::shared_ptr<Counters> counters = nullptr;
  // Asked after each step; true ends the training early, with a checkpoint.
  std::function<bool()> stop = nullptr;
  // The same, but asked between the batches of a step and of an evaluation too: true ends the
  // training as soon as its work can be saved. What it was doing is done again by a training that
  // resumes. Once true it stays so.
  std::function<bool()> interrupted = nullptr;
  std::string checkpoint_directory = {};  // "": none are written
  // The directory for checkpoints that find no room in the first one; "": none.
  std::string second_checkpoint_directory = {};
  bool resume = false;  // from the newest whole checkpoint, if there is one
  // Checkpoints of an earlier training go once the first of this one is durable. Without it and
  // without `resume` a directory that has some is refused.
  bool overwrite = false;
  // Resume although the data are not those of the checkpoint.
  bool allow_other_data = false;
  int profiled_batches = 0;  // so many are recorded, for WriteProfile
  int profile_skip = 0;      // after so many, which warm up
  // Only the first so many rewrites of the step's and the evaluation's graphs are made (fusions,
  // casts of mixed precision, what is kept in 16 bits or computed again), so that a wrong one can
  // be found by bisection; negative: no limit.
  int stop_after_patches = -1;
  int threads = 0;  // where the config has none; 0: the physical cores
  // Joins ranks that train together, each with a trainer and its share of every batch: steps,
  // losses and weights are those of one rank with the whole batch. Rank 0 evaluates and writes
  // checkpoints; what any rank is asked by `stop` and `interrupted`, which all have or none, ends
  // all. Null: one rank.
  std::shared_ptr<Communicator> communicator = nullptr;
};

// Not thread-safe.
class Trainer {
 public:
  // InvalidArgument: a configuration that ValidateTrainConfig refuses, or that does not fit the
  // model or the data; others as reading either.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const TrainConfig& config,
                                                         TrainerOptions options = {});
  virtual ~Trainer() = default;

  // Trains to the end. Errors: data (see Dataset), a loss that is not finite (FailedPrecondition,
  // names the step) unless the config skips it.
  virtual absl::Status Run() = 0;

  // Evaluates on the config's evaluation data. On every rank, where there are several.
  virtual absl::StatusOr<Evaluation> Evaluate() = 0;
  // The trained model in inference form, with the weights of `exported_step`, as averages where the
  // config has such and a step has counted. Uniform averages of models with BatchNormalizations go
  // through the training data once, for their running statistics. Its metadata says how images
  // become its input, the names of its classes and the vocabulary of its text, where the data have
  // such (docs/data.md).
  virtual absl::StatusOr<Model> TrainedModel() const = 0;
  // Writes TrainedModel() as ONNX, as the config's `export` says.
  virtual absl::Status Export(const std::string& path) const = 0;
  // One step as a model with TrainingInfoProto, in ops of the standard alone: inputs are the batch
  // and the state as it stands, outputs the loss and "next/<state>". FailedPrecondition: gradients
  // are accumulated over several batches.
  virtual absl::Status ExportStep(const std::string& path) const = 0;

  // --- progress
  virtual int64_t steps_done() const = 0;
  virtual int64_t total_steps() const = 0;
  virtual int64_t steps_per_epoch() const = 0;
  // The training was interrupted before the evaluation after that step; Run makes it first.
  virtual bool evaluation_due() const = 0;
  // Why the last Run came to its end.
  virtual TrainingEnd end() const = 0;
  // Nothing where no evaluation has been made, or all were NaN.
  virtual std::optional<BestEvaluation> best() const = 0;
  // The step after which the weights of TrainedModel were: once Run has come to its end the best
  // one, where the config has an evaluation and does not ask for the last weights (export.weights).
  virtual int64_t exported_step() const = 0;

  // --- weights
  virtual const std::vector<std::string>& parameters()
      const = 0;  // names of those that are trained
  // All float initializers: whether each is trained, and why.
  virtual const std::vector<WeightChoice>& choices() const = 0;
  // Names of the state, which steps update: parameters, running statistics, the optimizer's state,
  // averages.
  virtual std::vector<std::string> state_names() const = 0;
  // InvalidArgument: no such state.
  virtual absl::StatusOr<Tensor> State(const std::string& name) const = 0;
  // Names of the classes that targets count, where the data has names for them.
  virtual std::vector<std::string> class_names() const = 0;

  // --- checkpoints
  // The error of the checkpoint after the last step, which Run tried for `checkpoint.wait_seconds`.
  virtual const absl::Status& checkpoint_status() const = 0;
  // Makes room on a full disk: removes the oldest checkpoint that is neither the best nor the
  // newest whole one. False: there is none.
  virtual bool RemoveOldCheckpoint() = 0;

  // --- seeing inside
  virtual const TrainingMemory& planned_memory() const = 0;
  int64_t planned_bytes() const { return planned_memory().total(); }
  virtual int64_t peak_bytes() const = 0;  // of tensors, so far
  // Parts of the forward pass that are computed again to keep to recompute.memory_budget.
  virtual int recomputed_segments() const = 0;
  // The nodes of the graphs that make a step, in their order.
  virtual std::vector<NodeExplanation> ExplainStep() const = 0;
  // Writes what was recorded of TrainerOptions::profiled_batches as a Chrome trace, with
  // the update of the weights where that is a graph of its own. Errors as Session::WriteProfile.
  virtual absl::Status WriteProfile(const std::string& path) const = 0;
  virtual std::optional<MemoryPeak> RecordedPeak() const = 0;
  virtual std::vector<TraceEvent> RecordedSteps() const = 0;  // as Session's, of both graphs
};

}  // namespace onward

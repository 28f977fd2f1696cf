// The news of a training: what its steps and evaluations did, how it ended, the memory that it
// takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onward/tensor.h"

namespace onward {

// One step.
struct StepReport {
  int64_t step = 0;  // from 1 on
  int64_t epoch = 0;
  double loss = 0;  // mean over the targets of all accumulated batches
  // The losses that `loss` is the sum of, with their factors: the config's `loss` first, then each
  // auxiliary_loss; empty without one.
  std::vector<double> losses;
  double rate = 0;                               // of the default group
  std::vector<double> rates;                     // of all, in the config's order, the default last
  std::optional<double> gradient_norm;           // of all together, before it is bounded
  std::map<std::string, double> gradient_norms;  // by parameter, where log.gradient_norms asks
  std::optional<double> loss_scale;              // of the step, where the loss is scaled
  bool skipped = false;       // the loss was not finite, or a gradient of a scaled one
  int64_t skipped_steps = 0;  // since the training began, this one included
  // By parameter, each log.histogram_steps: gradients before they are bounded, weights after.
  std::map<std::string, Tensor> gradients, weights;
  int64_t broken_examples = 0;  // left out so far, where data.skip_broken says so
  int64_t examples = 0;
  double seconds = 0;       // of the step with its data
  double data_seconds = 0;  // of those, waiting for data
};

// The quality of a model on a data set.
struct Evaluation {
  // The mean over the targets of all examples, as of one batch; over the examples of losses that
  // are summed or that the model computes.
  double loss = 0;
  std::vector<double> losses;  // see StepReport
  int64_t examples = 0;
  // The number of targets, where those are classes; what ignore_index names does not count.
  int64_t targets = 0;
  int64_t right = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> confusion;  // (target, prediction) -> how often
  // The place of the first element that is not finite, where the loss is not finite because of it.
  std::string not_finite;
  // By name: those that the config asks for, but for loss and accuracy. One that is undefined for
  // these targets (auc, where all are of one class) is left out.
  std::map<std::string, double> metrics;

  std::optional<double> accuracy() const {
    if (targets == 0) return std::nullopt;
    return static_cast<double>(right) / static_cast<double>(targets);
  }
};

// One evaluation of a training.
struct EvaluationReport {
  int64_t step = 0;
  int64_t epoch = 0;  // epochs that are done
  Evaluation evaluation;
  bool best = false;
};

// Why Trainer::Run came to its end.
enum class TrainingEnd : uint8_t {
  kSteps,     // all steps are done
  kPatience,  // `evaluation.patience` evaluations were no better than the best one
  kStopped,   // by TrainerOptions::stop or ::interrupted
};

// The evaluation that was the best so far, by `evaluation.metric`.
struct BestEvaluation {
  int64_t step = 0;
  double metric = 0;
};

// The memory of a training at its peak, as it is planned before the first step: bytes of tensors
// (see MemoryLimit).
struct TrainingMemory {
  int64_t held = 0;       // there already: state, frozen weights, what kernels packed, data
  int64_t state = 0;      // of that, what steps update
  int64_t arena = 0;      // where steps and evaluations compute
  int64_t outputs = 0;    // of theirs
  int64_t plans = 0;      // for batches of other dims
  int64_t copies = 0;     // of state: while a checkpoint is written, or for steps that are skipped
  int64_t optimizer = 0;  // the history of LBFGS and what it works with
  int64_t batches = 0;    // read, and read ahead
  int64_t measured = 0;  // what `sized_at_run` nodes took beside that in a run of the largest batch
  int64_t creation = 0;  // the peak until here
  int sized_at_run = 0;  // nodes whose sizes data decides, or that run a body
  int64_t total() const {
    return std::max(creation,
                    held + arena + outputs + plans + copies + optimizer + batches + measured);
  }
};

}  // namespace onward

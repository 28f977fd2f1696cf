// The names of the values that training adds to a model. State is found by these names in
// checkpoints, and logs and exported steps show them; graphs refer to ids and positions.
#pragma once

#include <string_view>

namespace onward::training {

// Outputs of phases (training/step/phases.h).
inline constexpr char kLoss[] = "loss";                   // float32 scalar
inline constexpr char kLossPartPrefix[] = "loss_part/";   // of each loss, where several add up
inline constexpr char kLossCount[] = "loss_count";        // see LossParts::count
inline constexpr char kPrediction[] = "prediction";       // of classes
inline constexpr char kScores[] = "evaluation/scores";    // what metrics look at
inline constexpr char kGradientNorm[] = "gradient_norm";  // float32 scalar, of all gradients
inline constexpr char kGradientsFinite[] = "gradients_finite";  // bool scalar

// Inputs, with defaults.
inline constexpr char kLossScaleInput[] = "scaler/scale";  // float32 scalar, 1 by default
// The share of the new weights in their average, float64. Not below kAveragePrefix:
// "average/weight" is of a parameter "weight".
inline constexpr char kAverageWeight[] = "averaging/weight";
// The rank's share of the rows of a batch, float64, 1 by default. 0: its rows count for nothing,
// they are there for their shape alone.
inline constexpr char kBatchShare[] = "batch/share";

// State.
inline constexpr char kStepNumber[] = "optimizer/step";  // of the coming step, from 1
// A step that adds gradients up over several batches keeps its targets so far, and the first count
// of the step that is not 0.
inline constexpr char kAccumulatedCount[] = "accumulate/count";
inline constexpr char kAccumulatedReference[] = "accumulate/reference";

// Before the name of a parameter, or of a group of parameters.
inline constexpr char kAveragePrefix[] = "average/";       // state
inline constexpr char kGradientSumPrefix[] = "gradient/";  // state, over several batches
inline constexpr char kOptimizerPrefix[] = "optimizer/";   // state, and settings of groups
inline constexpr char kNextPrefix[] = "next/";             // outputs: state after the run
inline constexpr char kGradientNormPrefix[] = "gradient_norm/";
inline constexpr char kGradientValuePrefix[] = "gradient_value/";
inline constexpr char kLbfgsGradientPrefix[] = "lbfgs_gradient/";  // of what LBFGS evaluates

// Tensors of checkpoints that LBFGS keeps outside the graph.
inline constexpr char kLbfgsPrefix[] = "lbfgs/";

// All of the graphs, so that none is forgotten where a model's own values are to stand aside.
inline constexpr std::string_view kTrainingNames[] = {
    kLoss,         kLossCount,       kPrediction,       kScores,
    kGradientNorm, kGradientsFinite, kLossScaleInput,   kAverageWeight,
    kBatchShare,   kStepNumber,      kAccumulatedCount, kAccumulatedReference};
inline constexpr std::string_view kTrainingPrefixes[] = {
    kAveragePrefix,      kGradientSumPrefix,   kOptimizerPrefix,     kNextPrefix,
    kGradientNormPrefix, kGradientValuePrefix, kLbfgsGradientPrefix, kLossPartPrefix};

}  // namespace onward::training

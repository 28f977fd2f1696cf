// The model that a training leaves: the graph that it began with, and weights of its state.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/train_config.pb.h"
#include "training/prepare/trainable_model.h"

namespace onward::training {

// Puts the values of `state`, such as a checkpoint's tensors, into the initializers of `model` of
// the same names; `averaged`: their averages, where there are some. InvalidArgument: a value of
// another dtype or shape, or no value at all: they are of another model.
absl::Status SetWeights(const std::map<std::string, Tensor>& state, bool averaged,
                        TrainableModel& model);

// Drops the values of the constants that a session has as states of these names, so that they are
// in memory once. Returns which ones those are.
std::vector<std::string> ReleaseWeights(const std::vector<std::string>& names, Graph& graph);

// `model` with the values of `state`, which is not copied, as its constants of these names;
// `averaged`: their averages, where `state` has such.
Model ModelWithWeights(Model model, const std::vector<std::string>& names, bool averaged,
                       const std::map<std::string, Tensor>& state);

// Turns a model in training form, with the values of its weights, into one for inference. Errors as
// SetInferenceMode.
absl::Status ToInferenceForm(Model& model);

// Puts notes on the data (training/data/model_notes.h) into the metadata of `model`.
void SetNotes(const TrainConfig& config, const std::map<std::string, std::string>& notes,
              Model& model);

// Writes a model in inference form as ONNX, as `config.export` says.
absl::Status ExportTrainedModel(Model model, const TrainConfig& config, const std::string& path);

}  // namespace onward::training

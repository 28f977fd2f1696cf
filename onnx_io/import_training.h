// TrainingInfoProto: what a model says about training itself.
#pragma once

#include <string>
#include <vector>

#include "graph/base/hash_map.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/problems.h"
#include "onward/graph.h"
#include "onward/import.h"

namespace onward::onnx_io {

// Appends the algorithms to the model's graph, as the standard defines their meaning. Initializers
// that a step updates, or an initialization graph sets, become inputs with a default.
void CombineTraining(onnx::ModelProto& model);

// A model of an initialization graph, which leaves `training`, with the opsets and functions of
// `model`.
onnx::ModelProto TakeInitialization(const onnx::ModelProto& model,
                                    onnx::TrainingInfoProto& training);

// Reports bindings to initializers or from outputs that are not there.
std::vector<TrainingInitialization::Binding> InitializationBindings(
    const onnx::TrainingInfoProto& training, const onnx::ModelProto& model,
    const Graph& initialization, Problems& problems);

// The update bindings of training information whose algorithm is part of the graph. `values`: the
// graph's, by name.
void ImportUpdates(const onnx::ModelProto& proto, const HashMap<std::string, ValueId>& values,
                   Model& model, Problems& problems);

}  // namespace onward::onnx_io

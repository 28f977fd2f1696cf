// TrainingInfoProto: what a model says about training itself.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/graph.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/problems.h"

namespace onward {

// Appends the algorithms to the model's graph, as the standard defines their meaning. Initializers
// that a step updates become inputs with a default. Initialization graphs are not supported.
void CombineTraining(onnx::ModelProto& model, Problems& problems);

// The update bindings of training information whose algorithm is part of the graph. `values`: the
// graph's, by name.
void ImportUpdates(const onnx::ModelProto& proto,
                   const absl::flat_hash_map<std::string, ValueId>& values, Model& model,
                   Problems& problems);

}  // namespace onward

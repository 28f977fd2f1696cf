// Input shapes that ONNX's inference functions take for others.
#pragma once

#include <vector>

#include "onnx/onnx_pb.h"
#include "onward/graph.h"

namespace onward {

// Changes the types of a node's inputs, as its schema's inference function sees them, where the
// function would refuse a node that runs: it reads a size that is not known as 0 (the length of
// Resize's sizes, a batch of StringNormalizer) or does not take a scalar (ArgMax, ArgMin, OneHot).
void CompleteMisreadShapes(const Node& node, std::vector<onnx::TypeProto>& inputs);

}  // namespace onward

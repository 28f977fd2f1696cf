// Schemas that the standard does not have: of the domain `onward`, ops that exist to be faster than
// their function bodies, and of `com.microsoft`, the ops of ONNX Runtime that exported models
// contain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onnx {
class OpSchema;
}

namespace onward {

inline constexpr char kOnwardDomain[] = "onward";
inline constexpr char kMicrosoftDomain[] = "com.microsoft";
// In the metadata of a node that draws numbers: a number that names its stream, in place of the
// node's own, which rewrites of the graph change.
inline constexpr char kStreamKey[] = "onward.stream";
// In the metadata of a node that draws numbers for the rows of a batch: the axis that counts them,
// in what it draws for.
inline constexpr char kBatchAxisKey[] = "onward.batch_axis";
// In the metadata of a node whose outputs the model has in 16 bits and a pass made float32: the
// dtype's name.
inline constexpr char kNarrowKey[] = "onward.narrow";
// In the metadata of an Identity that no gradient passes, as which a StopGradient is written to
// files.
inline constexpr char kStopGradientKey[] = "onward.stop_gradient";

// The schema of an op at the opset used inside, null when there is none. Registers the `onward`
// schemas on first use; thread-safe.
const onnx::OpSchema* FindSchema(const std::string& op, const std::string& domain);

// Registers the `onward` schemas with ONNX's registry, once; thread-safe. Needed before a model
// that uses them is given to ONNX's own functions.
void RegisterOnwardSchemas();

// Rows of RegisterOnwardSchemas, by family.
std::vector<onnx::OpSchema> AllReduceSchemas();
std::vector<onnx::OpSchema> CopySchemas();
std::vector<onnx::OpSchema> FusedSchemas();
std::vector<onnx::OpSchema> RequireSchemas();
std::vector<onnx::OpSchema> StopGradientSchemas();
// Steps of optimizers: graph/optimizers.
std::vector<onnx::OpSchema> OptimizerSchemas();
// graph/gradients
std::vector<onnx::OpSchema> GradientSchemas();
// graph/microsoft
std::vector<onnx::OpSchema> MicrosoftSchemas();

}  // namespace onward

#include "generation/compile_decoder.h"

#include <utility>
#include <vector>

#include "executors/create_session.h"
#include "executors/dim_names.h"
#include "onnx_io/expand_functions.h"
#include "onward/generation/decoder_signature.h"
#include "onward/status.h"

namespace onward::generation {

absl::StatusOr<std::unique_ptr<Session>> CompileDecoder(Model model, SessionOptions options,
                                                        bool caches_on_device) {
  const Graph& graph = model.graph;
  const std::vector<ValueInfo> inputs = executors::InputsOf(graph);
  std::vector<ValueInfo> outputs;
  for (const ValueId id : graph.outputs())
    outputs.push_back({graph.value(id).name, graph.type(id), false});
  const absl::StatusOr<DecoderSignature> signature = FindSignature(inputs, outputs);
  if (caches_on_device && signature.ok()) {
    for (const DecoderSignature::Cache& cache : signature->caches) {
      options.device_values.push_back(inputs[cache.past].name);
      options.device_values.push_back(outputs[cache.present].name);
    }
  }
  return executors::CreateSession(std::move(model), options,
                                  {.expand_ops = onnx_io::ExpandFunctions});
}

}  // namespace onward::generation

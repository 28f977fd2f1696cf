#include <algorithm>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "onward/export.h"
#include "onward/generation/beam_search.h"
#include "onward/generation/generate.h"
#include "onward/import.h"
#include "onward/models.h"
#include "tests/fuzz/capped_run.h"
#include "tests/fuzz/harnesses.h"
#include "tests/fuzz/random_message.h"
#include "tests/fuzz/random_model.h"
#include "training/gradient/gradient_model.h"

namespace onward::fuzz {
namespace {

// Floats of the top graph, some of them twice.
std::vector<std::string> PickFloats(FuzzBytes& bytes, const Graph& graph, bool last) {
  std::vector<std::string> floats, picked;
  for (int i = 0; i < graph.num_values(); ++i) {
    const Type& type = graph.type({i});
    if (type.is_tensor() && IsFloating(type.dtype)) floats.push_back(graph.value({i}).name);
  }
  if (floats.empty()) return {};
  const int64_t count = bytes.Between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    // What is differentiated lies behind what it is differentiated by.
    const size_t half = (floats.size() + 1) / 2, at = bytes.Below(half);
    picked.push_back(last ? floats[floats.size() - 1 - at] : floats[at]);
  }
  return picked;
}

}  // namespace

void GradientOfModel(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, size);
  const bool concrete = !bytes.OneIn(3);
  training::GradientModelOptions options;
  options.allow_onward_ops = bytes.OneIn(2);
  const std::string serialized = RandomModel(bytes, concrete).SerializeAsString();
  ImportOptions import;
  import.max_nodes = 20000;
  absl::StatusOr<Model> model = ImportBytes(serialized, "", import);
  if (!model.ok()) return;
  options.of = PickFloats(bytes, model->graph, true);
  options.wrt = PickFloats(bytes, model->graph, false);
  if (options.of.empty() || !training::MakeGradientModel(*model, options).ok()) return;
  ExportOptions written;
  written.keep_onward_ops = options.allow_onward_ops;
  (void)ExportBytes(*model, written);
  CappedRun(*std::move(model), bytes);
}

void GenerateTokens(const uint8_t* data, size_t size) {
  static constexpr const char* kWords[] = {
      "",       "tokens",     "input_ids",     "attention_mask",
      "logits", "past.0.key", "present.0.key", "position_ids",
      "Add",    "MatMul",     "axis",          "h.0.attn.c_attn.weight"};
  static const auto* decoders = [] {
    auto* made = new std::vector<std::string>();
    for (const double cache : {0, 1}) {
      const auto model = BuildModel("gpt", {{"vocabulary", 8},
                                            {"width", 4},
                                            {"heads", 2},
                                            {"layers", 1},
                                            {"context", 8},
                                            {"cache", cache}});
      if (model.ok()) made->push_back(*ExportBytes(*model));
    }
    const auto lstm = BuildModel("lstm_lm", {{"vocabulary", 8}, {"width", 4}, {"layers", 1}});
    if (lstm.ok()) made->push_back(*ExportBytes(*lstm));
    return made;
  }();
  FuzzBytes bytes(data, size);
  onnx::ModelProto proto;
  proto.ParseFromString(bytes.Pick(*decoders));
  for (int64_t changes = bytes.Between(0, 3); changes > 0; --changes)
    ChangeField(bytes, kWords, proto);
  absl::StatusOr<Model> model = ImportBytes(proto.SerializeAsString());
  if (!model.ok()) return;
  SessionOptions session;
  session.num_threads = 1;
  session.max_memory = int64_t{32} << 20;
  session.max_executed_nodes = 5000;
  auto decoder = generation::Decoder::Create(*std::move(model), session, bytes.Between(0, 12));
  if (!decoder.ok()) return;
  std::vector<int64_t> prompt, stops;
  for (int64_t i = bytes.Between(0, 9); i > 0; --i)
    prompt.push_back(bytes.OneIn(8) ? bytes.Integer() : bytes.Between(0, 7));
  for (int64_t i = bytes.Between(0, 2); i > 0; --i) stops.push_back(bytes.Integer());
  generation::GenerateOptions options;
  options.max_new_tokens = std::min<int64_t>(bytes.Integer(), 12);
  options.stop_tokens = stops;
  options.sampling.greedy = bytes.OneIn(2);
  options.sampling.temperature = static_cast<double>(bytes.Real());
  options.sampling.top_k = bytes.Integer();
  options.sampling.top_p = static_cast<double>(bytes.Real());
  options.sampling.repetition_penalty = static_cast<double>(bytes.Real());
  if (bytes.OneIn(3)) {
    options.sampling = {};
    options.sampling.greedy = bytes.OneIn(2);
  }
  (void)generation::Generate(**decoder, prompt, options);
  generation::BeamOptions beams;
  beams.beams = std::min<int64_t>(bytes.Integer(), 6);
  beams.length_penalty = static_cast<double>(bytes.Real());
  beams.early_stopping = bytes.OneIn(2);
  (void)generation::BeamSearch(**decoder, prompt, options.max_new_tokens, stops, beams,
                               static_cast<double>(bytes.Real()));
}

}  // namespace onward::fuzz

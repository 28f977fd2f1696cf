// A model's texts, from the files that exporters lay beside model.onnx: tokenizer.json
// or tokenizer.model, tokenizer_config.json, generation_config.json, config.json,
// chat_template.jinja, 1_Pooling.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "onward/generation/batch_generator.h"
#include "onward/log.h"
#include "onward/session.h"
#include "serving/text/text_model.h"

namespace onward::serving {

// A generator of the file, which may be overwritten afterwards.
using GeneratorLoader = std::function<absl::StatusOr<std::unique_ptr<generation::BatchGenerator>>(
    const std::string& path, int64_t context)>;

struct TextLoadContext {
  std::string name;                // of the model, for the log
  std::string file;                // the model's
  std::string directory;           // the model's; the tokenizer may lie here or beside the file
  GeneratorLoader load_generator;  // null: nothing generates
  LogSink log;
};

// Null: there is no tokenizer. The model generates if it is a decoder with a score for each
// token. InvalidArgument names the file and the member that cannot be read; a chat template that is
// not understood is told to the log, and switches chat off.
absl::StatusOr<std::shared_ptr<TextModel>> LoadText(const Session& session,
                                                    const TextLoadContext& context);

}  // namespace onward::serving

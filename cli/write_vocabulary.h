// Writes what decodes the text that a trained model generates, beside the model.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "onward/train_config.pb.h"

namespace onward::cli {

// Writes vocabulary.txt, or copies the files of the config's tokenizer, which may be there already.
// Writes nothing for data without text, and for texts of numbers. `directory`: relative paths of
// the data are below it.
absl::Status WriteVocabulary(const TrainConfig& config, const std::string& directory,
                             const std::filesystem::path& output);

}  // namespace onward::cli

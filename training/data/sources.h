// Every source of examples: what OpenDataset chooses from. One file each; data_config.proto says
// which fields they have.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "onward/dataset.h"
#include "onward/vocabulary.h"

namespace onward::training {

using OpenedDataset = absl::StatusOr<std::shared_ptr<const Dataset>>;

OpenedDataset OpenMnist(const MnistData& config, const std::string& directory);
OpenedDataset OpenCsv(const CsvData& config, const std::string& directory);
OpenedDataset OpenImages(const ImageData& config, const std::string& directory);
OpenedDataset OpenJsonl(const JsonlData& config, const std::string& directory);
OpenedDataset OpenMnist(const MnistData& config, const std::string& directory);
OpenedDataset OpenNpz(const ArrayData& config, const std::string& directory);
OpenedDataset OpenSafetensors(const ArrayData& config, const std::string& directory);
OpenedDataset OpenText(const TextData& config, const std::string& directory);

// Returns whether it is a text with a vocabulary: its tokens are not numbers, nor a tokenizer's.
bool HasVocabulary(const DataConfig& config);
// The vocabulary of a text, to decode what a model of it generates.
absl::StatusOr<Vocabulary> VocabularyOf(const TextData& config, const std::string& directory);

// The path of the tokenizer that makes the tokens of the data, the first where there are several;
// "" where none does.
std::string TokenizerOf(const DataConfig& config, const std::string& directory);

// `path` itself when it is absolute, else below `directory`.
std::string PathBelow(const std::string& directory, const std::string& path);

}  // namespace onward::training

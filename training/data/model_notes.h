// Notes of a trained model on its inputs and outputs: how images become its input, the names of
// its classes, the vocabulary of its text. Kept in the metadata of the ONNX file (metadata_props),
// so that whoever runs the model gives it what it was trained on. docs/data.md describes the keys.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_io/classes_note.h"
#include "onward/data_config.pb.h"
#include "onward/dataset.h"
#include "onward/tensor.h"
#include "onward/train_config.pb.h"

namespace onward::training {

inline constexpr char kImageNote[] = "onward.image";
inline constexpr char kVocabularyNote[] = "onward.vocabulary";

using Notes = std::map<std::string, std::string>;

// The steps that make a file the value of `inputs`: ImageData's steps, mean, deviation and gray.
struct ImageNote {
  std::vector<std::string> inputs;
  ImageData image;
};

// The notes of a model that is trained as `config` says on data with `fields`; relative paths of
// data are below `directory`. `inputs` and `output`: the model's, the scored one. Images are
// prepared as for an evaluation: steps that draw are left out, and the size is that of `fields`.
// Errors: a vocabulary that cannot be read any more.
absl::StatusOr<Notes> NotesOf(const TrainConfig& config, absl::Span<const Field> fields,
                              const std::string& directory, absl::Span<const std::string> inputs,
                              const std::string& output);

// From the metadata of a model; nullopt: it says nothing. InvalidArgument names the key.
absl::StatusOr<std::optional<ImageNote>> ReadImageNote(const Notes& metadata);

// The bytes of an image file as float32 [channels, height, width].
absl::StatusOr<Tensor> PrepareImage(std::string_view bytes, const ImageData& image);

// "resize to 32 x 32, (x / 255 - [0.5]) / [0.25], gray".
std::string DescribeImage(const ImageData& image);

}  // namespace onward::training

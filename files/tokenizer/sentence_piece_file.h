// A tokenizer.model: SentencePiece's ModelProto (sentencepiece_model.proto), as far as encoding
// and decoding want it. The library itself cannot be linked: Debian's has a Protobuf of its own in
// it, whose names are those of the one that ONNX uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tokenizer/character_map.h"

namespace onward::tokenizer {

struct SentencePiece {
  enum class Kind : uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };

  std::string text;
  float score = 0;
  Kind kind = Kind::kNormal;
};

struct SentencePieceFile {
  enum class Type : uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kCharacter = 4 };

  std::vector<SentencePiece> pieces;
  Type type = Type::kUnigram;
  bool byte_fallback = false;
  std::string bos = "<s>", eos = "</s>";
  CharacterMap map;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true;
};

// InvalidArgument: the bytes are not such a file, or ask for what is not done: models of words,
// spaces as suffixes or as they are, denormalizers.
absl::StatusOr<SentencePieceFile> ReadSentencePieceFile(std::string_view bytes);

}  // namespace onward::tokenizer

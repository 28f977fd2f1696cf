#include "files/tokenizer/sentence_piece_file.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

constexpr size_t kMostPieceBytes = 1024;

// A field of a message in Protobuf's wire format.
struct Field {
  uint32_t number = 0;
  uint64_t value = 0;      // of numbers
  std::string_view bytes;  // of strings and messages
};

absl::Status Broken() {
  return absl::InvalidArgumentError("cannot be read as a model of SentencePiece: it is damaged");
}

bool TakeVarint(std::string_view& rest, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest[0]);
    rest.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool TakeFixed(std::string_view& rest, size_t bytes, uint64_t& value) {
  if (rest.size() < bytes) return false;
  value = 0;
  for (size_t i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(rest[i])) << (8 * i);
  rest.remove_prefix(bytes);
  return true;
}

bool TakeField(std::string_view& rest, Field& field) {
  uint64_t key = 0;
  if (!TakeVarint(rest, key) || key >> 3 == 0 || key >> 32 != 0) return false;
  field = {.number = static_cast<uint32_t>(key >> 3), .value = 0, .bytes = {}};
  switch (key & 7) {
    case 0:
      return TakeVarint(rest, field.value);
    case 1:
      return TakeFixed(rest, 8, field.value);
    case 5:
      return TakeFixed(rest, 4, field.value);
    case 2: {
      uint64_t size = 0;
      if (!TakeVarint(rest, size) || size > rest.size()) return false;
      field.bytes = rest.substr(0, size);
      rest.remove_prefix(size);
      return true;
    }
    default:
      return false;
  }
}

absl::Status EachField(std::string_view message,
                       const std::function<absl::Status(const Field&)>& see) {
  Field field;
  while (!message.empty()) {
    if (!TakeField(message, field)) return Broken();
    ONWARD_RETURN_IF_ERROR(see(field));
  }
  return absl::OkStatus();
}

absl::Status NotDone(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("its ", std::string(what), " not supported"));
}

absl::Status ReadPiece(std::string_view message, SentencePieceFile& file) {
  SentencePiece piece;
  ONWARD_RETURN_IF_ERROR(EachField(message, [&piece](const Field& field) {
    if (field.number == 1) piece.text = std::string(field.bytes);
    if (field.number == 2) {
      const auto bits = static_cast<uint32_t>(field.value);
      std::memcpy(&piece.score, &bits, sizeof(bits));
    }
    if (field.number == 3) {
      if (field.value < 1 || field.value > 6) return Broken();
      piece.kind = static_cast<SentencePiece::Kind>(field.value);
    }
    return absl::OkStatus();
  }));
  if (piece.text.empty() || !files::IsUtf8(piece.text) || !std::isfinite(piece.score))
    return Broken();
  if (piece.text.size() > kMostPieceBytes)
    return absl::InvalidArgumentError(
        absl::StrCat("has a piece of more than ", kMostPieceBytes, " bytes"));
  file.pieces.push_back(std::move(piece));
  return absl::OkStatus();
}

absl::Status ReadTrainer(const Field& field, SentencePieceFile& file) {
  if (field.number == 3) {
    if (field.value < 1 || field.value > 4) return Broken();
    file.type = static_cast<SentencePieceFile::Type>(field.value);
    if (file.type == SentencePieceFile::Type::kWord) return NotDone("word model is");
  }
  if (field.number == 24 && field.value != 0)
    return NotDone("spaces as suffixes (treat_whitespace_as_suffix) are");
  if (field.number == 35) file.byte_fallback = field.value != 0;
  if (field.number == 46) file.bos = std::string(field.bytes);
  if (field.number == 47) file.eos = std::string(field.bytes);
  return absl::OkStatus();
}

absl::Status ReadNormalizer(const Field& field, SentencePieceFile& file) {
  if (field.number == 2 && !field.bytes.empty() && !file.map.Read(field.bytes)) return Broken();
  if (field.number == 3) file.add_dummy_prefix = field.value != 0;
  if (field.number == 4) file.remove_extra_whitespaces = field.value != 0;
  if (field.number == 5 && field.value == 0)
    return NotDone("unescaped spaces (escape_whitespaces: false) are");
  return absl::OkStatus();
}

absl::Status CheckPieces(const SentencePieceFile& file) {
  std::set<std::string_view> texts;
  int unknown = 0;
  for (const SentencePiece& piece : file.pieces) {
    if (!texts.insert(piece.text).second)
      return absl::InvalidArgumentError(
          absl::StrCat("has the piece '", files::PrintableUtf8(piece.text), "' twice"));
    unknown += static_cast<int>(piece.kind == SentencePiece::Kind::kUnknown);
  }
  if (unknown == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot be read as a model of SentencePiece: it has ", unknown,
                   " pieces of the kind UNKNOWN, expected one"));
}

}  // namespace

absl::StatusOr<SentencePieceFile> ReadSentencePieceFile(std::string_view bytes) {
  SentencePieceFile file;
  ONWARD_RETURN_IF_ERROR(EachField(bytes, [&file](const Field& field) {
    if (field.number == 1) return ReadPiece(field.bytes, file);
    if (field.number == 2)
      return EachField(field.bytes, [&](const Field& one) { return ReadTrainer(one, file); });
    if (field.number == 3)
      return EachField(field.bytes, [&](const Field& one) { return ReadNormalizer(one, file); });
    if (field.number == 5)
      return EachField(field.bytes, [&](const Field& one) {
        return one.number == 2 && !one.bytes.empty() ? NotDone("denormalizer is")
                                                     : absl::OkStatus();
      });
    return absl::OkStatus();
  }));
  ONWARD_RETURN_IF_ERROR(CheckPieces(file));
  return file;
}

}  // namespace onward::tokenizer

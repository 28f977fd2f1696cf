// Windows of a text of tokens, each with the tokens that follow.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "files/tokenizer/tokenizer.h"
#include "graph/base/checked.h"
#include "onward/status.h"
#include "onward/vocabulary.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

// The tokens [begin, begin + count) of a text as int64.
class Tokens {
 public:
  virtual ~Tokens() = default;
  virtual int64_t size() const = 0;
  virtual void Read(int64_t begin, int64_t count, int64_t* to) const = 0;
};

// Numbers of type T in memory that `owner` keeps.
template <typename T>
class Numbers : public Tokens {
 public:
  Numbers(const void* data, int64_t size, std::shared_ptr<const void> owner)
      : data_(static_cast<const char*>(data)), size_(size), owner_(std::move(owner)) {}
  int64_t size() const override { return size_; }
  void Read(int64_t begin, int64_t count, int64_t* to) const override {
    for (int64_t i = 0; i < count; ++i) {
      T number;
      std::memcpy(&number, data_ + (begin + i) * sizeof(T), sizeof(T));
      to[i] = static_cast<int64_t>(number);
    }
  }

 private:
  const char* data_;
  int64_t size_;
  std::shared_ptr<const void> owner_;
};

using OpenedTokens = absl::StatusOr<std::shared_ptr<const Tokens>>;

OpenedTokens Narrowed(const std::vector<int64_t>& ids) {
  auto kept = std::make_shared<const std::vector<int32_t>>(ids.begin(), ids.end());
  return std::make_shared<Numbers<int32_t>>(kept->data(), static_cast<int64_t>(kept->size()), kept);
}

OpenedTokens Encoded(const Vocabulary& vocabulary, std::string_view text) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, vocabulary.Encode(text));
  return Narrowed(ids);
}

// The text as one, without the tokens that stand around texts.
OpenedTokens Tokenized(const TextData& config, std::string_view text,
                       const std::string& directory) {
  if (config.tokenizer().empty())
    return absl::InvalidArgumentError(
        "data.text: tokens: TOKENIZER needs tokenizer: a tokenizer.json");
  ONWARD_ASSIGN_OR_RETURN(const files::Tokenizer tokenizer,
                          files::Tokenizer::Read(PathBelow(directory, config.tokenizer())));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> ids,
                          tokenizer.Encode(text, /*add_special=*/false));
  return Narrowed(ids);
}

OpenedTokens Tokenize(const TextData& config, const std::shared_ptr<files::MappedFile>& file,
                      const std::string& directory) {
  const std::string_view text = file->bytes();
  const auto bytes = static_cast<int64_t>(text.size());
  switch (config.tokens()) {
    case TextData::BYTES:
      return std::make_shared<Numbers<uint8_t>>(text.data(), bytes, file);
    case TextData::UINT16:
    case TextData::UINT32: {
      const int64_t width = config.tokens() == TextData::UINT16 ? 2 : 4;
      if (bytes % width != 0)
        return absl::InvalidArgumentError(
            absl::StrCat(bytes, " bytes are not a whole number of tokens of ", width));
      if (width == 2) return std::make_shared<Numbers<uint16_t>>(text.data(), bytes / 2, file);
      return std::make_shared<Numbers<uint32_t>>(text.data(), bytes / 4, file);
    }
    case TextData::CHARACTERS: {
      ONWARD_ASSIGN_OR_RETURN(const Vocabulary characters, Vocabulary::OfCharacters(text));
      return Encoded(characters, text);
    }
    case TextData::VOCABULARY: {
      if (config.vocabulary().empty())
        return absl::InvalidArgumentError("data.text: tokens: VOCABULARY needs vocabulary: a file");
      ONWARD_ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                              Vocabulary::Read(PathBelow(directory, config.vocabulary())));
      return Encoded(vocabulary, text);
    }
    case TextData::TOKENIZER:
      return Tokenized(config, text, directory);
  }
  return absl::InvalidArgumentError("data.text.tokens is unknown");
}

class Windows : public Dataset {
 public:
  // Windows of the tokens [begin, end).
  Windows(std::shared_ptr<const Tokens> tokens, std::string path, int64_t begin, int64_t end,
          const TextData& config)
      : tokens_(std::move(tokens)),
        path_(std::move(path)),
        begin_(begin),
        starts_(end - begin - config.window()),
        window_(config.window()),
        stride_(config.has_stride() ? config.stride() : config.window()),
        random_(config.random()),
        fields_{{"tokens", Type::Tensor(DType::kInt64, Dims{window_})},
                {"label", Type::Tensor(DType::kInt64, Dims{window_})}} {}

  int64_t size() const override { return (starts_ - 1) / stride_ + 1; }
  const std::vector<Field>& fields() const override { return fields_; }
  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const override {
    const int64_t start = Start(index, random);
    ONWARD_ASSIGN_OR_RETURN(Tensor both, Tensor::Create(DType::kInt64, Dims{window_ + 1}));
    auto* numbers = both.mutable_data<int64_t>();
    tokens_->Read(start, window_ + 1, numbers);
    const Dims dims{window_};
    return std::vector<Tensor>{Tensor::Wrap(DType::kInt64, dims, numbers, both.buffer()),
                               Tensor::Wrap(DType::kInt64, dims, numbers + 1, both.buffer())};
  }
  std::string Place(int64_t index, uint64_t random) const override {
    const int64_t start = Start(index, random);
    return absl::StrCat("tokens ", start, " to ", start + window_, " of '", path_, "'");
  }

 private:
  int64_t Start(int64_t index, uint64_t random) const {
    const auto drawn = static_cast<unsigned __int128>(random) * static_cast<uint64_t>(starts_);
    return begin_ + (random_ ? static_cast<int64_t>(drawn >> 64) : index * stride_);
  }

  std::shared_ptr<const Tokens> tokens_;
  std::string path_;
  int64_t begin_, starts_, window_, stride_;
  bool random_;
  std::vector<Field> fields_;
};

absl::Status Check(const TextData& config) {
  if (config.window() < 1 || (config.has_stride() && config.stride() < 1))
    return absl::InvalidArgumentError("data.text: window and stride must be positive");
  if (!(config.from() >= 0 && config.from() < config.to() && config.to() <= 1))
    return absl::InvalidArgumentError("data.text: needs 0 <= from < to <= 1");
  return absl::OkStatus();
}

}  // namespace

OpenedDataset OpenText(const TextData& config, const std::string& directory) {
  ONWARD_RETURN_IF_ERROR(Check(config));
  const std::string path = PathBelow(directory, config.path());
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<files::MappedFile> file,
                          files::MappedFile::Open(path));
  absl::StatusOr<std::shared_ptr<const Tokens>> tokens = Tokenize(config, file, directory);
  if (!tokens.ok()) return Annotate(tokens.status(), absl::StrCat("'", path, "':"));
  const auto size = static_cast<double>((*tokens)->size());
  const auto begin = static_cast<int64_t>(config.from() * size);
  const auto end = static_cast<int64_t>(config.to() * size);
  if (end - begin <= config.window()) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", end - begin,
                                                   " tokens are too few for a window of ",
                                                   config.window(), " and the token after it"));
  }
  return std::make_shared<Windows>(*std::move(tokens), path, begin, end, config);
}

bool HasVocabulary(const DataConfig& config) {
  const TextData::Tokens tokens = config.text().tokens();
  return config.has_text() && (tokens == TextData::BYTES || tokens == TextData::CHARACTERS ||
                               tokens == TextData::VOCABULARY);
}

absl::StatusOr<Vocabulary> VocabularyOf(const TextData& config, const std::string& directory) {
  if (config.tokens() == TextData::BYTES) return Vocabulary::Bytes();
  if (config.tokens() == TextData::VOCABULARY)
    return Vocabulary::Read(PathBelow(directory, config.vocabulary()));
  if (config.tokens() != TextData::CHARACTERS)
    return absl::InvalidArgumentError(
        "data.text: only tokens: BYTES, CHARACTERS and VOCABULARY have a vocabulary");
  const std::string path = PathBelow(directory, config.path());
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<files::MappedFile> file,
                          files::MappedFile::Open(path));
  return Vocabulary::OfCharacters(file->bytes());
}

std::string TokenizerOf(const DataConfig& config, const std::string& directory) {
  std::string path;
  if (config.text().tokens() == TextData::TOKENIZER) path = config.text().tokenizer();
  for (const auto* fields : {&config.csv().tokens(), &config.jsonl().tokens()})
    if (path.empty() && !fields->empty()) path = fields->Get(0).tokenizer();
  return path.empty() ? "" : PathBelow(directory, path);
}

}  // namespace onward::training

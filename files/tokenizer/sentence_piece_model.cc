#include "files/tokenizer/sentence_piece_model.h"

#include <algorithm>
#include <limits>
#include <map>

#include "files/tokenizer/bpe_merges.h"
#include "files/tokenizer/prefix_tree.h"
#include "files/utf8.h"

namespace onward::tokenizer {
namespace {

using Kind = SentencePiece::Kind;

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, which stands for a space
constexpr double kUnknownPenalty = 10;  // what a character without a piece costs more than others
constexpr int64_t kUnknownCharacter = int64_t{1} << 30;  // ids from here on stand for such ones

TokenTable TableOf(const std::vector<SentencePiece>& pieces) {
  TokenTable table;
  for (size_t id = 0; id < pieces.size(); ++id)
    table.Add(pieces[id].text, static_cast<int64_t>(id));
  return table;
}

class SentencePieceModel : public Model {
 public:
  explicit SentencePieceModel(SentencePieceFile file)
      : Model(TableOf(file.pieces)), file_(std::move(file)) {
    for (size_t i = 0; i < file_.pieces.size(); ++i) {
      const SentencePiece& piece = file_.pieces[i];
      const auto id = static_cast<int64_t>(i);
      if (piece.kind == Kind::kUnknown) unknown_ = id;
      if (piece.kind == Kind::kUserDefined) symbols_.Add(piece.text, id);
      if (piece.kind == Kind::kUserDefined || piece.kind == Kind::kNormal)
        pieces_.Add(piece.text, id);
      if (piece.kind != Kind::kNormal) continue;
      worst_ = std::min(worst_, piece.score);
      best_ = std::max(best_, piece.score);
    }
    if (file_.type == SentencePieceFile::Type::kBpe) AddMerges();
  }

  absl::Status Encode(std::string_view text, std::vector<int64_t>& ids) const override {
    const std::string normalized = Normalized(text);
    if (file_.type == SentencePieceFile::Type::kUnigram) {
      EncodeUnigram(normalized, ids);
    } else {
      EncodeBpe(normalized, ids);
    }
    return absl::OkStatus();
  }

 private:
  // Normalizes the text's beginning, and counts its bytes. Symbols of users stay as they are.
  CharacterMap::Match NormalizedFront(std::string_view text) const {
    if (const size_t bytes = symbols_.Longest(text).bytes; bytes > 0)
      return {bytes, text.substr(0, bytes)};
    if (const auto match = file_.map.Longest(text)) return *match;
    const size_t bytes = files::FrontOfUtf8(text).bytes;
    return {bytes, text.substr(0, bytes)};
  }

  std::string Normalized(std::string_view text) const {
    const bool remove = file_.remove_extra_whitespaces;
    while (remove && !text.empty()) {
      const CharacterMap::Match front = NormalizedFront(text);
      if (front.mapped != " ") break;
      text.remove_prefix(front.bytes);
    }
    if (text.empty()) return "";
    std::string made(file_.add_dummy_prefix ? kSpace : "");
    for (bool after_space = remove; !text.empty();) {
      CharacterMap::Match front = NormalizedFront(text);
      text.remove_prefix(front.bytes);
      while (after_space && front.mapped.substr(0, 1) == " ") front.mapped.remove_prefix(1);
      if (front.mapped.empty()) continue;
      for (const char c : front.mapped) {
        if (c == ' ') {
          made += kSpace;
        } else {
          made += c;
        }
      }
      after_space = remove && front.mapped.back() == ' ';
    }
    while (remove && made.size() >= kSpace.size() &&
           std::string_view(made).substr(made.size() - kSpace.size()) == kSpace)
      made.resize(made.size() - kSpace.size());
    return made;
  }

  // Characters without a piece: their bytes, or one id for all neighbours.
  void AddUnknown(std::string_view text, bool& after_unknown, std::vector<int64_t>& ids) const {
    const auto bytes = file_.byte_fallback ? tokens().Bytes(text) : std::nullopt;
    if (bytes) {
      ids.insert(ids.end(), bytes->begin(), bytes->end());
    } else if (!after_unknown) {
      ids.push_back(unknown_);
    }
    after_unknown = !bytes;
  }

  // The best way to the end of a piece. Scores are rounded as the library does.
  struct Step {
    float score = 0;
    int64_t begin = -1;
    int64_t id = -1;

    void Offer(double other, size_t from, int64_t piece) {
      if (begin < 0 || other > score)
        *this = {static_cast<float>(other), static_cast<int64_t>(from), piece};
    }
  };

  void EncodeUnigram(std::string_view text, std::vector<int64_t>& ids) const {
    std::vector<Step> steps(text.size() + 1);
    for (size_t at = 0; at < text.size();) {
      const size_t character = files::FrontOfUtf8(text.substr(at)).bytes;
      const float here = steps[at].score;
      bool single = false;
      pieces_.Prefixes(text.substr(at), [&](size_t bytes, int64_t id) {
        const SentencePiece& piece = file_.pieces[static_cast<size_t>(id)];
        const double score = piece.kind == Kind::kUserDefined
                                 ? static_cast<float>(bytes) * best_ - 0.1
                                 : static_cast<double>(piece.score);
        steps[at + bytes].Offer(score + here, at, id);
        single = single || bytes == character;
      });
      const float unknown = worst_ - static_cast<float>(kUnknownPenalty);
      if (!single) steps[at + character].Offer(unknown + here, at, unknown_);
      at += character;
    }
    std::vector<size_t> ends;
    for (size_t end = text.size(); end > 0; end = static_cast<size_t>(steps[end].begin))
      ends.push_back(end);
    bool after_unknown = false;
    for (size_t i = ends.size(); i-- > 0;) {
      const Step& step = steps[ends[i]];
      const auto begin = static_cast<size_t>(step.begin);
      if (step.id == unknown_) {
        AddUnknown(text.substr(begin, ends[i] - begin), after_unknown, ids);
        continue;
      }
      after_unknown = false;
      ids.push_back(step.id);
    }
  }

  // Any two pieces that are one together merge, the best of those first. Symbols of users do not.
  void AddMerges() {
    std::map<float, uint32_t, std::greater<>> ranks;
    for (const SentencePiece& piece : file_.pieces) ranks[piece.score] = 0;
    uint32_t rank = 0;
    for (auto& [score, value] : ranks) value = rank++;
    const auto normal = [this](std::string_view text) {
      const auto id = tokens().Find(text);
      const bool is = id && file_.pieces[static_cast<size_t>(*id)].kind == Kind::kNormal;
      return is ? id : std::nullopt;
    };
    for (size_t i = 0; i < file_.pieces.size(); ++i) {
      const SentencePiece& piece = file_.pieces[i];
      if (piece.kind != Kind::kNormal) continue;
      const std::string_view text = piece.text;
      for (size_t at = files::FrontOfUtf8(text).bytes; at < text.size();
           at += files::FrontOfUtf8(text.substr(at)).bytes) {
        const auto left = normal(text.substr(0, at)), right = normal(text.substr(at));
        if (left && right) merges_.Add(*left, *right, ranks[piece.score], static_cast<int64_t>(i));
      }
    }
  }

  void EncodeBpe(std::string_view text, std::vector<int64_t>& ids) const {
    std::vector<int64_t> made;
    std::vector<std::string_view> unknown;
    while (!text.empty()) {
      size_t bytes = symbols_.Longest(text).bytes;
      if (bytes == 0) bytes = files::FrontOfUtf8(text).bytes;
      const auto id = tokens().Find(text.substr(0, bytes));
      const Kind kind = id ? file_.pieces[static_cast<size_t>(*id)].kind : Kind::kUnknown;
      if (kind == Kind::kNormal || kind == Kind::kUserDefined) {
        made.push_back(*id);
      } else {
        made.push_back(kUnknownCharacter + static_cast<int64_t>(unknown.size()));
        unknown.push_back(text.substr(0, bytes));
      }
      text.remove_prefix(bytes);
    }
    merges_.Apply(made, 0);
    bool after_unknown = false;
    for (const int64_t id : made) {
      if (id >= kUnknownCharacter) {
        AddUnknown(unknown[static_cast<size_t>(id - kUnknownCharacter)], after_unknown, ids);
        continue;
      }
      after_unknown = false;
      ids.push_back(id);
    }
  }

  const SentencePieceFile file_;
  PrefixTree symbols_, pieces_;  // those of users; all that texts are made of
  BpeMerges merges_;
  int64_t unknown_ = 0;
  float worst_ = std::numeric_limits<float>::max();
  float best_ = std::numeric_limits<float>::lowest();
};

}  // namespace

std::shared_ptr<const Model> MakeSentencePieceModel(SentencePieceFile file) {
  return std::make_shared<SentencePieceModel>(std::move(file));
}

}  // namespace onward::tokenizer

// The tokens whose scores add up to most, by Viterbi's algorithm, as SentencePiece does.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/model.h"
#include "files/tokenizer/prefix_tree.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

// The cost of a character without a token, above that of the worst token.
constexpr double kUnknownPenalty = 10;

struct UnigramVocabulary {
  TokenTable tokens;
  std::vector<double> scores;
  std::optional<int64_t> unknown;
  bool byte_fallback = false;
};

class Unigram : public Model {
 public:
  explicit Unigram(UnigramVocabulary vocabulary)
      : Model(std::move(vocabulary.tokens)),
        scores_(std::move(vocabulary.scores)),
        unknown_(vocabulary.unknown),
        byte_fallback_(vocabulary.byte_fallback) {
    double worst = std::numeric_limits<double>::infinity();
    for (size_t id = 0; id < scores_.size(); ++id) {
      worst = std::min(worst, scores_[id]);
      const auto key = static_cast<int64_t>(id);
      tree_.Add(*tokens().Text(key), key);
    }
    unknown_score_ = worst - kUnknownPenalty;
  }

  absl::Status Encode(std::string_view piece, std::vector<int64_t>& ids) const override {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string_view> parts, BestParts(piece));
    for (const std::string_view part : parts) {
      if (const std::optional<int64_t> id = tokens().Find(part)) {
        ids.push_back(*id);
        continue;
      }
      const auto bytes = byte_fallback_ ? tokens().Bytes(part) : std::nullopt;
      if (bytes.has_value()) {
        ids.insert(ids.end(), bytes->begin(), bytes->end());
      } else {
        ids.push_back(*unknown_);
      }
    }
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();
  // The best way to the end of a token.
  struct Step {
    double score = 0;
    size_t begin = kNowhere;
    int64_t id = 0;

    void Offer(double other, size_t from, int64_t token) {
      if (begin == kNowhere || other > score) *this = {other, from, token};
    }
  };

  // Neighbours that are unknown are one part.
  absl::StatusOr<std::vector<std::string_view>> BestParts(std::string_view piece) const {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Step> steps, BestSteps(piece));
    std::vector<std::string_view> parts;
    bool was_unknown = false;
    for (size_t end = piece.size(); end > 0;) {
      const Step& step = steps[end];
      const bool unknown = unknown_.has_value() && step.id == *unknown_;
      if (unknown && was_unknown) {
        parts.back() = piece.substr(step.begin, end - step.begin + parts.back().size());
      } else {
        parts.push_back(piece.substr(step.begin, end - step.begin));
      }
      was_unknown = unknown;
      end = step.begin;
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  // One for each byte, of which those at the ends of characters count.
  absl::StatusOr<std::vector<Step>> BestSteps(std::string_view piece) const {
    std::vector<Step> steps(piece.size() + 1);
    for (size_t at = 0; at < piece.size();) {
      const size_t character = files::FrontOfUtf8(piece.substr(at)).bytes;
      const double score = steps[at].score;
      bool covered = false;
      tree_.Prefixes(piece.substr(at), [&](size_t bytes, int64_t id) {
        steps[at + bytes].Offer(score + scores_[static_cast<size_t>(id)], at, id);
        covered = covered || bytes == character;
      });
      if (!covered) {
        if (!unknown_.has_value())
          return Unknown(std::nullopt, piece.substr(at, character)).status();
        steps[at + character].Offer(score + unknown_score_, at, *unknown_);
      }
      at += character;
    }
    return steps;
  }

  std::vector<double> scores_;
  std::optional<int64_t> unknown_;
  bool byte_fallback_;
  double unknown_score_;
  PrefixTree tree_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> ReadUnigram(const JsonField& model) {
  ONWARD_RETURN_IF_ERROR(model.Only({"type", "vocab", "unk_id", "byte_fallback"}));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> rows, model.Items("vocab"));
  UnigramVocabulary vocabulary;
  for (const JsonField& row : rows) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> parts, row.Items());
    if (parts.size() != 2) return row.Error("must be a token and its score");
    ONWARD_ASSIGN_OR_RETURN(std::string token, parts[0].String());
    ONWARD_ASSIGN_OR_RETURN(const double score, parts[1].Number());
    vocabulary.tokens.Add(std::move(token), static_cast<int64_t>(vocabulary.scores.size()));
    vocabulary.scores.push_back(score);
  }
  if (model.Has("unk_id")) {
    ONWARD_ASSIGN_OR_RETURN(vocabulary.unknown, model.Integer("unk_id"));
    if (*vocabulary.unknown >= static_cast<int64_t>(rows.size()))
      return absl::InvalidArgumentError(absl::StrCat(model.path(), ".unk_id: ", *vocabulary.unknown,
                                                     " is beyond the vocabulary of ", rows.size()));
  }
  ONWARD_ASSIGN_OR_RETURN(vocabulary.byte_fallback, model.Bool("byte_fallback", false));
  return std::make_shared<Unigram>(std::move(vocabulary));
}

}  // namespace onward::tokenizer

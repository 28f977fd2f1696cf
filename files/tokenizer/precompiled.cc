// SentencePiece's map of characters, as HF's library applies it.
#include <utf8proc.h>

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "files/tokenizer/character_map.h"
#include "files/tokenizer/characters.h"
#include "files/tokenizer/normalizer.h"
#include "files/tokenizer/pattern.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(CharacterMap map) : map_(std::move(map)) {}

  // By grapheme clusters, as HF's library: a short one that is mapped as a whole, else each of its
  // characters.
  absl::StatusOr<std::string> Apply(std::string text, size_t most) const override {
    std::string made;
    std::string_view rest = text;
    while (!rest.empty()) {
      ONWARD_RETURN_IF_ERROR(CheckGrowth(made.size(), most));
      const std::string_view cluster = Cluster(rest);
      rest.remove_prefix(cluster.size());
      if (cluster.size() < 6) {
        if (const auto mapped = Mapped(cluster)) {
          made.append(*mapped);
          continue;
        }
      }
      for (std::string_view characters = cluster; !characters.empty();) {
        std::string_view after = characters;
        TakeCharacter(after);
        const std::string_view one = characters.substr(0, characters.size() - after.size());
        made.append(Mapped(one).value_or(one));
        characters = after;
      }
    }
    return made;
  }

 private:
  static std::string_view Cluster(std::string_view text) {
    std::string_view rest = text;
    auto last = static_cast<utf8proc_int32_t>(TakeCharacter(rest));
    utf8proc_int32_t state = 0;
    while (!rest.empty()) {
      std::string_view after = rest;
      const auto next = static_cast<utf8proc_int32_t>(TakeCharacter(after));
      if (utf8proc_grapheme_break_stateful(last, next, &state)) break;
      last = next;
      rest = after;
    }
    return text.substr(0, text.size() - rest.size());
  }

  // By the shortest key that `text` begins with.
  std::optional<std::string_view> Mapped(std::string_view text) const {
    const auto match = map_.Shortest(text);
    if (!match) return std::nullopt;
    return match->mapped;
  }

  CharacterMap map_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Normalizer>> ReadPrecompiled(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "precompiled_charsmap"}));
  ONWARD_ASSIGN_OR_RETURN(const JsonField map, field.At("precompiled_charsmap"));
  ONWARD_ASSIGN_OR_RETURN(const std::string text, map.String());
  std::string bytes;
  CharacterMap made;
  if (!absl::Base64Unescape(text, &bytes) || !made.Read(bytes))
    return map.Error("is not a map of SentencePiece in Base64");
  return std::make_shared<Precompiled>(std::move(made));
}

}  // namespace onward::tokenizer

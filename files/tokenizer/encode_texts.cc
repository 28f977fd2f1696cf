// Texts and pairs of bounded length, as examples of a training.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/tokenizer.h"
#include "files/tokenizer/tokenizer_parts.h"
#include "onward/status.h"

namespace onward::files {
namespace {

// The lengths of two texts that are cut to `most` together, the longer one first, as HF's
// `longest_first` does.
std::pair<size_t, size_t> CutLengths(size_t most, size_t first, size_t second) {
  if (first + second <= most) return {first, second};
  const bool swapped = first > second;
  size_t shorter = std::min(first, second), longer = std::max(first, second);
  longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = shorter + most % 2;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

}  // namespace

absl::StatusOr<Encoding> Tokenizer::EncodeUpTo(size_t most, std::string_view text,
                                               std::optional<std::string_view> second,
                                               bool add_special) const {
  const tokenizer::PostProcessor& around = parts_->post_processor;
  const size_t added = !add_special         ? 0
                       : second.has_value() ? around.AddedToPair()
                                            : around.AddedToText();
  if (added > most)
    return absl::InvalidArgumentError(
        absl::StrCat("the ", added, " special tokens around a text do not fit into ", most));
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> ids, EncodeBare(text));
  if (!second.has_value()) {
    ids.resize(std::min(ids.size(), most - added));
    return around.Apply(std::move(ids), add_special);
  }
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> others, EncodeBare(*second));
  const auto [first_size, second_size] = CutLengths(most - added, ids.size(), others.size());
  ids.resize(first_size);
  others.resize(second_size);
  return around.ApplyToPair(ids, others, add_special);
}

absl::StatusOr<Tokenizer::Completion> Tokenizer::EncodeCompletion(std::string_view prompt,
                                                                  std::string_view completion,
                                                                  bool add_special) const {
  if (add_special && parts_->post_processor.AddsBehindText())
    return absl::UnimplementedError(
        "the tokenizer's post_processor adds tokens behind texts, so that a completion cannot "
        "follow its prompt");
  Completion made;
  if (add_special) made.ids = parts_->post_processor.BeforeText();
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> first, EncodeBare(prompt));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> second, EncodeBare(completion));
  made.ids.insert(made.ids.end(), first.begin(), first.end());
  made.prompt_tokens = made.ids.size();
  made.ids.insert(made.ids.end(), second.begin(), second.end());
  if (add_special && eos().has_value()) made.ids.push_back(*eos());
  return made;
}

}  // namespace onward::files

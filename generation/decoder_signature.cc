#include "onward/generation/decoder_signature.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "generation/fixed_cache.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

bool IsIds(const Type& type) {
  return type.is_tensor() && (type.dtype == DType::kInt64 || type.dtype == DType::kInt32);
}

int64_t RankOf(const Type& type) {
  return type.shape ? static_cast<int64_t>(type.shape->size()) : -1;
}

std::optional<int64_t> Known(const Type& type, int64_t axis) {
  if (RankOf(type) <= axis || !(*type.shape)[static_cast<size_t>(axis)].known())
    return std::nullopt;
  return (*type.shape)[static_cast<size_t>(axis)].value();
}

std::optional<size_t> FindNamed(absl::Span<const ValueInfo> values, const std::string& name) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<size_t> PresentOf(const std::string& past, absl::Span<const ValueInfo> outputs) {
  for (const auto& [from, to] :
       {std::pair{"past_key_values", "present"}, std::pair{"past_key_values", "present_key_values"},
        std::pair{"past", "present"}}) {
    if (!absl::StrContains(past, from)) continue;
    if (const auto found = FindNamed(outputs, absl::StrReplaceAll(past, {{from, to}})))
      return found;
  }
  return std::nullopt;
}

absl::StatusOr<DecoderSignature::Cache> CacheOf(const ValueInfo& past, size_t at,
                                                absl::Span<const ValueInfo> outputs) {
  const auto present = PresentOf(past.name, outputs);
  if (!present) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has a cache '", past.name, "', but no output gives its next value ('",
        absl::StrReplaceAll(past.name, {{"past_key_values", "present"}, {"past", "present"}}),
        "')"));
  }
  DecoderSignature::Cache cache{at, *present};
  const Type& type = past.type;
  if (RankOf(type) < 2)
    return absl::InvalidArgumentError(absl::StrCat("the cache '", past.name, "' is ",
                                                   type.ToString(), ", must have rank 2 or more"));
  // The length is the axis that is not a fixed number, behind the batch.
  cache.length_axis = -1;
  for (int64_t axis = 1; axis < RankOf(type); ++axis) {
    if (Known(type, axis)) continue;
    if (cache.length_axis >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the cache '", past.name, "' is ", type.ToString(), ": which axis grows is not clear"));
    }
    cache.length_axis = axis;
  }
  if (cache.length_axis < 0) {
    return absl::InvalidArgumentError(absl::StrCat("the cache '", past.name, "' of ",
                                                   type.ToString(), " has no axis that grows"));
  }
  return cache;
}

absl::Status FindTokens(absl::Span<const ValueInfo> inputs, DecoderSignature& found) {
  const auto is_tokens = [&](const ValueInfo& input) {
    return IsIds(input.type) && RankOf(input.type) == 2 &&
           (input.name == "tokens" || absl::StrContains(input.name, "input_ids"));
  };
  auto it = std::find_if(inputs.begin(), inputs.end(), is_tokens);
  if (it == inputs.end() && inputs.size() == 1 && IsIds(inputs[0].type) &&
      RankOf(inputs[0].type) == 2)
    it = inputs.begin();
  if (it == inputs.end()) {
    return absl::InvalidArgumentError(
        "the model has no input of tokens: integers [batch, length] named 'tokens' or 'input_ids'");
  }
  found.tokens = static_cast<size_t>(it - inputs.begin());
  const auto batch = Known(it->type, 0);
  found.any_batch = !batch;
  found.batch = batch.value_or(1);
  found.length = Known(it->type, 1);
  if (!found.any_batch && found.batch != 1)
    return absl::InvalidArgumentError(
        absl::StrCat("the tokens '", it->name, "' have a fixed batch of ", found.batch));
  return absl::OkStatus();
}

absl::Status FindScores(absl::Span<const ValueInfo> outputs, DecoderSignature& found) {
  const auto named = FindNamed(outputs, "logits");
  std::optional<size_t> scores = named;
  for (size_t i = 0; i < outputs.size() && !scores; ++i) {
    const bool cache = std::any_of(found.caches.begin(), found.caches.end(),
                                   [&](const auto& each) { return each.present == i; });
    if (!cache && outputs[i].type.is_tensor() && IsFloating(outputs[i].type.dtype)) scores = i;
  }
  if (!scores) return absl::InvalidArgumentError("the model has no output of scores ('logits')");
  found.scores = *scores;
  const Type& type = outputs[*scores].type;
  const int64_t rank = RankOf(type);
  if (!IsFloating(type.dtype) || (rank >= 0 && rank != 2 && rank != 3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the scores '", outputs[*scores].name, "' are ", type.ToString(),
                     ", must be floats [batch, vocabulary] or [batch, length, vocabulary]"));
  }
  if (rank > 0) found.vocabulary = Known(type, rank - 1);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DecoderSignature> FindSignature(absl::Span<const ValueInfo> inputs,
                                               absl::Span<const ValueInfo> outputs) {
  DecoderSignature found;
  ONWARD_RETURN_IF_ERROR(FindTokens(inputs, found));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueInfo& input = inputs[i];
    if (i == found.tokens) continue;
    if (input.name == kPastLengthName) {
      found.past_length = i;
    } else if (absl::StrContains(input.name, "past")) {
      ONWARD_ASSIGN_OR_RETURN(DecoderSignature::Cache cache, CacheOf(input, i, outputs));
      found.caches.push_back(cache);
    } else if (absl::StrContains(input.name, "attention_mask")) {
      found.mask = i;
    } else if (absl::StrContains(input.name, "position")) {
      found.positions = i;
    } else if (!input.optional) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model has an input '", input.name, "' of ", input.type.ToString(),
                       " that text generation does not know how to feed"));
    }
  }
  ONWARD_RETURN_IF_ERROR(FindScores(outputs, found));
  return found;
}

}  // namespace onward::generation

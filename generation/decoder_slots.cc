#include "generation/decoder_slots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "generation/compile_decoder.h"
#include "generation/decoder_tensors.h"
#include "generation/fixed_cache.h"
#include "generation/masked_cache.h"
#include "generation/row_positions.h"
#include "onward/status.h"

namespace onward::generation {

namespace {

absl::StatusOr<std::unique_ptr<DecoderSlots>> Compile(Model model, const SessionOptions& options,
                                                      int64_t context, int64_t slots,
                                                      CacheForm form) {
  const bool in_place = form == CacheForm::kCounted || form == CacheForm::kShared;
  ONWARD_ASSIGN_OR_RETURN(auto session, CompileDecoder(std::move(model), options, in_place));
  ONWARD_ASSIGN_OR_RETURN(DecoderSignature signature,
                          FindSignature(session->inputs(), session->outputs()));
  if (signature.caches.empty()) {
    if (signature.length)
      context = context == 0 ? *signature.length : std::min(context, *signature.length);
    return MakeWholeSlots(std::move(session), std::move(signature), context, slots);
  }
  const std::string provider = in_place ? options.provider : "cpu";
  if (signature.length.value_or(1) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has caches and takes ", *signature.length,
                     " tokens at a time; texts need one that takes any number, or one"));
  }
  return MakeCachedSlots(std::move(session), std::move(signature), context, slots, form, provider);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DecoderSlots>> DecoderSlots::Create(Model model,
                                                                   const SessionOptions& options,
                                                                   int64_t context, int64_t slots) {
  CacheForm form = CacheForm::kCopied;
  if (HasCaches(model.graph)) {
    ONWARD_ASSIGN_OR_RETURN(const bool fixed, OptimizeAndUseFixedCaches(model, options));
    if (fixed) {
      ONWARD_ASSIGN_OR_RETURN(const bool rows_differ, UseRowPositions(model));
      form = rows_differ ? CacheForm::kCounted : CacheForm::kShared;
    } else if (slots > 1 && options.provider == "cpu") {
      Model masked = model;
      ONWARD_ASSIGN_OR_RETURN(const bool hides, UseMaskedCaches(masked));
      if (hides) {
        auto made = Compile(std::move(masked), options, context, slots, CacheForm::kMasked);
        if (made.ok() && (*made)->together()) return made;
      }
    }
  }
  return Compile(std::move(model), options, context, slots, form);
}

}  // namespace onward::generation

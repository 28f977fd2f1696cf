// Strings.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"RegexFullMatch", AutocastClass::kFollow},   {"StringConcat", AutocastClass::kFollow},
    {"StringNormalizer", AutocastClass::kFollow}, {"StringSplit", AutocastClass::kFollow},
    {"TfIdfVectorizer", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> StringFacts() { return kFacts; }

}  // namespace onward

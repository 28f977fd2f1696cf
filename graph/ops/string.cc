// Strings.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"RegexFullMatch", Precision::kFollow},   {"StringConcat", Precision::kFollow},
    {"StringNormalizer", Precision::kFollow}, {"StringSplit", Precision::kFollow},
    {"TfIdfVectorizer", Precision::kFull},
};

}  // namespace

absl::Span<const OpFacts> StringFacts() { return kFacts; }

}  // namespace onward

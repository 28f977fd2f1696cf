// Strings.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "RegexFullMatch", .autocast = kFollow},   {.op = "StringConcat", .autocast = kFollow},
    {.op = "StringNormalizer", .autocast = kFollow}, {.op = "StringSplit", .autocast = kFollow},
    {.op = "TfIdfVectorizer", .autocast = kFull},
};

}  // namespace

absl::Span<const OpFacts> StringFacts() { return kFacts; }

}  // namespace onward

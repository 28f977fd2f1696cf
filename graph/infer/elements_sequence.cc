// Lengths of sequences.
#include "graph/infer/element_rules.h"

namespace onward {
namespace {

using Elements = std::optional<SymbolicDims>;

Elements Empty(const InferScope&, size_t) { return SymbolicDims{Dim(0)}; }

Elements Construct(const InferScope& scope, size_t) {
  return SymbolicDims{Dim(static_cast<int64_t>(scope.node.inputs.size()))};
}

// With a position the op may fail, and says so where it runs.
Elements Insert(const InferScope& scope, size_t) {
  Elements length = scope.Elements(0);
  if (!length || scope.HasInput(2)) return std::nullopt;
  (*length)[0] = DimAdd((*length)[0], Dim(1));
  return length;
}

Elements Length(const InferScope& scope, size_t) { return scope.Elements(0); }

// One element for each of `split`, or for each slice of its size, 1 when it is absent.
Elements Split(const InferScope& scope, size_t) {
  const SymbolicDims* shape = scope.Shape(0);
  if (shape == nullptr) return std::nullopt;
  const absl::StatusOr<int64_t> axis =
      NormalizeAxis(scope.node.attributes.Int("axis", 0), static_cast<int64_t>(shape->size()));
  if (!axis.ok()) return std::nullopt;
  const Dim& size = (*shape)[static_cast<size_t>(*axis)];
  if (!scope.HasInput(1)) return SymbolicDims{size};
  const SymbolicDims* split = scope.Shape(1);
  if (split == nullptr) return std::nullopt;
  if (split->size() == 1) return SymbolicDims{(*split)[0]};
  const auto slice = scope.Numbers(1);
  if (!slice || slice->size() != 1 || (*slice)[0] < 1) return std::nullopt;
  return SymbolicDims{DimCeilDiv(size, Dim((*slice)[0]))};
}

constexpr ElementRule kRules[] = {
    {"SequenceConstruct", Construct}, {"SequenceEmpty", Empty},   {"SequenceInsert", Insert},
    {"SequenceLength", Length},       {"SplitToSequence", Split},
};

}  // namespace

absl::Span<const ElementRule> SequenceElementRules() { return kRules; }

}  // namespace onward

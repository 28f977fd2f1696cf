// Scaled dot-product attention on heads ([batch, heads, positions, size]) from its parts becomes
// the standard's Attention. A row whose keys are all masked by -inf gives zeros instead of NaN, so
// that this belongs to devices.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/types/span.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/add_integers.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// value = factor * inner, looking through products and quotients by constants of one element.
struct Factored {
  ValueId inner;
  double factor = 1;
};
Factored WithoutFactors(const Graph& graph, ValueId value) {
  Factored result{value};
  while (ReadOnce(graph, result.inner)) {
    const Node* node = MadeBy(graph, result.inner, "Mul");
    const bool division = node == nullptr;
    if (division) node = MadeBy(graph, result.inner, "Div");
    const auto split = node == nullptr ? std::nullopt : SplitScalar(graph, *node);
    if (!split || (division && (split->other != node->inputs[0] || split->scalar == 0))) break;
    result.factor *= division ? 1 / split->scalar : split->scalar;
    result.inner = split->other;
  }
  return result;
}

Dim DimOf(const Graph& graph, ValueId id, size_t axis) { return (*graph.type(id).shape)[axis]; }

// True if every dim of the mask is 1 or that of the scores, the last one certainly the scores'.
bool MaskFits(const Graph& graph, ValueId mask, ValueId scores) {
  const int rank = RankOf(graph, mask);
  if (rank < 2 || rank > 4 || graph.type(mask).dtype != graph.type(scores).dtype) return false;
  for (int i = 0; i < rank; ++i) {
    const Dim dim = DimOf(graph, mask, static_cast<size_t>(i));
    const Dim of_scores = DimOf(graph, scores, static_cast<size_t>(4 - rank + i));
    if (!dim.SameAs(of_scores) && (i == rank - 1 || !(dim == Dim(1)))) return false;
  }
  return true;
}

// The parts of softmax(scores + mask), the mask perhaps still to be made of a condition.
struct Masked {
  ValueId scores;
  ValueId mask;
  ValueId condition;
  ValueId filler;  // in place of scores where the condition is false, or true (masked_fill)
  bool fills_true = false;
};
std::optional<Masked> ReadMasked(const Graph& graph, ValueId value) {
  if (RankOf(graph, value) != 4 || !ReadOnce(graph, value)) return std::nullopt;
  if (const Node* sum = MadeBy(graph, value, "Add")) {
    for (size_t i = 0; i < 2; ++i) {
      const ValueId scores = sum->inputs[i], mask = sum->inputs[1 - i];
      const ValueId product = WithoutFactors(graph, scores).inner;
      if (RankOf(graph, scores) == 4 && MadeBy(graph, product, "MatMul") != nullptr &&
          MaskFits(graph, mask, scores)) {
        return Masked{scores, mask, {}, {}};
      }
    }
    return std::nullopt;
  }
  const Node* where = MadeBy(graph, value, "Where");
  if (where == nullptr) return Masked{value, {}, {}, {}};
  for (const size_t side : {2, 1}) {
    const ValueId filler = where->inputs[side], scores = where->inputs[3 - side];
    const auto number = ScalarValue(graph, filler);
    // So low that adding a score to it gives it again.
    if (number && *number <= -1e30 && RankOf(graph, filler) == 0 && RankOf(graph, scores) == 4)
      return Masked{scores, {}, where->inputs[0], filler, side == 1};
  }
  return std::nullopt;
}

bool ConditionFits(const Graph& graph, const Masked& masked) {
  const int rank = RankOf(graph, masked.condition);
  if (rank < 2 || rank > 4) return false;
  for (int i = 0; i < rank; ++i) {
    const Dim dim = DimOf(graph, masked.condition, static_cast<size_t>(i));
    const Dim of_scores = DimOf(graph, masked.scores, static_cast<size_t>(4 - rank + i));
    if (!dim.SameAs(of_scores) && (i == rank - 1 || !(dim == Dim(1)))) return false;
  }
  return true;
}

// The keys as [batch, heads, positions, size], and the factor that they had.
struct Keys {
  ValueId x;                    // before
  std::vector<int64_t> perm;    // Transpose to do, none when empty
  std::vector<int64_t> target;  // Reshape to do then, none when empty
  SymbolicDims dims;
  double factor = 1;
};

// The dims as a target of Reshape: at most one is not known.
std::vector<int64_t> TargetOf(const SymbolicDims& dims) {
  std::vector<int64_t> target;
  for (const Dim& dim : dims) target.push_back(dim.known() && dim.value() > 0 ? dim.value() : -1);
  return std::count(target.begin(), target.end(), -1) > 1 ? std::vector<int64_t>() : target;
}

// Reads the second operand of the scores' product, the keys with their last two dims swapped: by a
// Transpose, perhaps with a Reshape of the leading dims behind it.
std::optional<Keys> ReadKeys(const Graph& graph, ValueId operand) {
  const Factored outer = WithoutFactors(graph, operand);
  if (RankOf(graph, outer.inner) != 4) return std::nullopt;
  Keys keys;
  keys.dims = *graph.type(outer.inner).shape;
  ValueId swapped = outer.inner;
  if (const Node* reshape = MadeBy(graph, swapped, "Reshape")) {
    swapped = reshape->inputs[0];
    if (RankOf(graph, swapped) != 3) return std::nullopt;
    const SymbolicDims& before = *graph.type(swapped).shape;
    if (!before[1].SameAs(keys.dims[2]) || !before[2].SameAs(keys.dims[3])) return std::nullopt;
  }
  const Node* transpose = MadeBy(graph, swapped, "Transpose");
  if (transpose == nullptr) return std::nullopt;
  const Factored inner = WithoutFactors(graph, transpose->inputs[0]);
  keys.x = inner.inner;
  keys.factor = outer.factor * inner.factor;
  keys.perm = transpose->attributes.Ints("perm");
  const size_t rank = keys.perm.size();
  if (rank < 3) return std::nullopt;
  std::swap(keys.perm[rank - 2], keys.perm[rank - 1]);
  std::swap(keys.dims[2], keys.dims[3]);
  if (swapped != outer.inner) {
    keys.target = TargetOf(keys.dims);
    if (keys.target.empty()) return std::nullopt;
  }
  if (std::is_sorted(keys.perm.begin(), keys.perm.end())) keys.perm.clear();
  return keys;
}

ValueId AddKeys(const Keys& keys, Patch& patch) {
  ValueId value = keys.x;
  if (!keys.perm.empty()) value = patch.AddNode("Transpose", {value}, {{"perm", keys.perm}});
  if (keys.target.empty()) return value;
  return patch.AddNode("Reshape", {value, AddIntegers(patch, keys.target)});
}

// Returns whether queries, keys and values agree in batch and heads, keys and values in positions,
// and queries and keys in size.
bool HeadsAgree(const Graph& graph, ValueId q, const SymbolicDims& k, ValueId v) {
  if (RankOf(graph, q) != 4 || RankOf(graph, v) != 4) return false;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (!k[axis].SameAs(DimOf(graph, q, axis)) || !k[axis].SameAs(DimOf(graph, v, axis))) {
      return false;
    }
  }
  return k[2].SameAs(DimOf(graph, v, 2)) && k[3].SameAs(DimOf(graph, q, 3));
}

// The Softmax over keys that makes `value`, perhaps with zeros for the rows that are NaN.
const Node* ReadSoftmax(const Graph& graph, ValueId value) {
  if (!ReadOnce(graph, value)) return nullptr;
  if (const Node* where = MadeBy(graph, value, "Where")) {
    const Node* is_nan = MadeBy(graph, where->inputs[0], "IsNaN");
    if (is_nan == nullptr || is_nan->inputs[0] != where->inputs[2] ||
        ScalarValue(graph, where->inputs[1]) != 0.0 || RankOf(graph, where->inputs[1]) > 1 ||
        graph.users(where->inputs[2]).size() != 2 || graph.is_output(where->inputs[2])) {
      return nullptr;
    }
    value = where->inputs[2];
  }
  const Node* softmax = MadeBy(graph, value, "Softmax");
  if (softmax == nullptr) return nullptr;
  const int64_t axis = softmax->attributes.Int("axis", -1);
  return axis == -1 || axis == 3 ? softmax : nullptr;
}

// Heads that devices which fuse floats of 16 bits take.
bool AreNarrowHeads(const Graph& graph, ValueId heads) {
  const Dim size = DimOf(graph, heads, 3);
  return IsNarrow(graph.type(heads).dtype) && size.known() && size.value() % 8 == 0 &&
         size.value() <= 128;
}

// One query for each head, as a step of a decoder has it, which they take in float32, too.
bool IsRow(const Graph& graph, ValueId q, ValueId v) {
  const auto is_small = [](const Dim& size) { return size.known() && size.value() <= 128; };
  return graph.type(q).dtype == DType::kFloat32 && DimOf(graph, q, 2).SameAs(Dim(1)) &&
         is_small(DimOf(graph, q, 3)) && is_small(DimOf(graph, v, 3));
}

template <bool kNarrow>
std::optional<Patch> OnHeads(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* softmax = ReadSoftmax(graph, node.inputs[0]);
  const DType dtype = graph.type(node.outputs[0]).dtype;
  if (softmax == nullptr ||
      !DispatchDType(TypeList<float, Float16, BFloat16>(), dtype, [](auto) {}))
    return std::nullopt;
  const auto masked = ReadMasked(graph, softmax->inputs[0]);
  if (!masked || (masked->condition.valid() && !ConditionFits(graph, *masked))) return std::nullopt;
  const Factored scores = WithoutFactors(graph, masked->scores);
  const Node* product = MadeBy(graph, scores.inner, "MatMul");
  if (product == nullptr || !ReadOnce(graph, scores.inner)) return std::nullopt;
  const Factored q = WithoutFactors(graph, product->inputs[0]);
  const auto keys = ReadKeys(graph, product->inputs[1]);
  const ValueId v = node.inputs[1];
  if (!keys || !HeadsAgree(graph, q.inner, keys->dims, v)) return std::nullopt;
  if (kNarrow && !IsRow(graph, q.inner, v) &&
      (!AreNarrowHeads(graph, q.inner) || !AreNarrowHeads(graph, v)))
    return std::nullopt;
  const auto scale = static_cast<float>(scores.factor * q.factor * keys->factor);
  if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  Patch patch(graph);
  std::vector<ValueId> inputs = {q.inner, AddKeys(*keys, patch), v};
  if (masked->condition.valid()) {
    Tensor nothing(dtype, Dims{});
    std::memset(nothing.raw_mutable_data(), 0, static_cast<size_t>(nothing.byte_size()));
    const ValueId zero = patch.AddConstant("", std::move(nothing));
    inputs.push_back(masked->fills_true
                         ? patch.AddNode("Where", {masked->condition, masked->filler, zero})
                         : patch.AddNode("Where", {masked->condition, zero, masked->filler}));
  } else if (masked->mask.valid()) {
    inputs.push_back(masked->mask);
  }
  patch.Replace(node.outputs[0], patch.AddNode("Attention", std::move(inputs), {{"scale", scale}}));
  return patch;
}

template <bool kNarrow>
constexpr Rule kRules[] = {
    {"fuse_attention", "MatMul", OnHeads<kNarrow>},
};

}  // namespace

absl::StatusOr<int> FuseAttentionHeads(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.excess_precision) return 0;
  return options.fuses_narrow_floats ? ApplyRules(graph, kRules<true>, budget)
                                     : ApplyRules(graph, kRules<false>, budget);
}

}  // namespace onward

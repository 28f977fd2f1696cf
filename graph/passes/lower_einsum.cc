// Einsum of one or two floats becomes sums, transposes, and a product: what other passes fuse, and
// whose constant operands kernels pack. Transformers of Keras are made of Einsums.
#include <algorithm>

#include "graph/base/einsum_equation.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/add_integers.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

constexpr EinsumLabel kOne = -1;  // an axis of one element, which no operand has

struct Operand {
  ValueId value;
  EinsumLabels labels;  // each once
};

bool Contains(const EinsumLabels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int64_t PlaceOf(const EinsumLabels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// The labels of `order` for which `wanted` is true.
template <typename Wanted>
EinsumLabels Choose(const EinsumLabels& order, Wanted&& wanted) {
  EinsumLabels chosen;
  std::copy_if(order.begin(), order.end(), std::back_inserter(chosen), wanted);
  return chosen;
}

void Append(EinsumLabels& labels, const EinsumLabels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
}

// Sums along the labels that neither `output` nor `other` has.
Operand WithoutUnread(Patch& patch, Operand x, const EinsumLabels& output,
                      const EinsumLabels& other) {
  const EinsumLabels kept = Choose(x.labels, [&](EinsumLabel label) {
    return Contains(output, label) || Contains(other, label);
  });
  std::vector<int64_t> summed;
  for (size_t i = 0; i < x.labels.size(); ++i)
    if (!Contains(kept, x.labels[i])) summed.push_back(static_cast<int64_t>(i));
  if (summed.empty()) return x;
  return {
      patch.AddNode("ReduceSum", {x.value, AddIntegers(patch, summed)}, {{"keepdims", int64_t{0}}}),
      kept};
}

// The axes in the order of `to`; those that the operand lacks have one element.
ValueId Arranged(Patch& patch, const Operand& x, const EinsumLabels& to) {
  std::vector<int64_t> perm, missing;
  for (size_t i = 0; i < to.size(); ++i) {
    if (Contains(x.labels, to[i])) {
      perm.push_back(PlaceOf(x.labels, to[i]));
    } else {
      missing.push_back(static_cast<int64_t>(i));
    }
  }
  ValueId value = x.value;
  if (!std::is_sorted(perm.begin(), perm.end()))
    value = patch.AddNode("Transpose", {value}, {{"perm", perm}});
  return missing.empty() ? value : patch.AddNode("Unsqueeze", {value, AddIntegers(patch, missing)});
}

// Replaces the node by `made`, whose axes are `labels`; those of kOne are left out.
void Finish(Patch& patch, const Node& node, ValueId made, const EinsumLabels& labels,
            const EinsumLabels& output) {
  std::vector<int64_t> ones;
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == kOne) ones.push_back(static_cast<int64_t>(i));
  if (!ones.empty()) made = patch.AddNode("Squeeze", {made, AddIntegers(patch, ones)});
  const Operand result = {made, Choose(labels, [](EinsumLabel label) { return label != kOne; })};
  const ValueId arranged = Arranged(patch, result, output);
  const bool is_new = arranged != node.inputs[0];
  patch.Replace(node.outputs[0], is_new ? arranged : patch.AddNode("Identity", {arranged}));
}

Patch OfOne(const Graph& graph, const Node& node, const EinsumEquation& equation) {
  Patch patch(graph);
  const Operand x = WithoutUnread(patch, {node.inputs[0], equation.terms[0]}, equation.output, {});
  Finish(patch, node, x.value, x.labels, equation.output);
  return patch;
}

// Two operands by what their labels are for.
class Product {
 public:
  Product(const Graph& graph, const Node& node, const EinsumEquation& equation)
      : graph_(graph), node_(node), patch_(graph), output_(equation.output) {
    left_ = {node.inputs[0], equation.terms[0]};
    right_ = {node.inputs[1], equation.terms[1]};
    const bool in_order = output_.empty() || Contains(right_.labels, output_.back());
    if (!in_order) std::swap(left_, right_);
  }

  // Nothing: no product of matrices is certain to be the same.
  std::optional<Patch> Make() {
    const Type left = graph_.type(left_.value), right = graph_.type(right_.value);
    const EinsumLabels left_labels = left_.labels, right_labels = right_.labels;
    const auto dim = [&](EinsumLabel label) {
      return Contains(left_labels, label)
                 ? (*left.shape)[static_cast<size_t>(PlaceOf(left_labels, label))]
                 : (*right.shape)[static_cast<size_t>(PlaceOf(right_labels, label))];
    };
    Classify();
    const auto differs = [&](EinsumLabel label) {
      return !dim(label).SameAs((*right.shape)[static_cast<size_t>(PlaceOf(right_labels, label))]);
    };
    const auto may_widen = [&](EinsumLabel label) {
      const auto place = static_cast<size_t>(PlaceOf(right_labels, label));
      return differs(label) && (dim(label) == Dim(1) || (*right.shape)[place] == Dim(1));
    };
    if (std::any_of(k_.begin(), k_.end(), differs) ||
        std::any_of(batch_.begin(), batch_.end(), may_widen))
      return std::nullopt;
    left_ = WithoutUnread(patch_, left_, output_, right_.labels);
    right_ = WithoutUnread(patch_, right_, output_, left_labels);
    if (k_.empty()) return Elementwise();
    const auto all_known = [&](const EinsumLabels& labels) {
      return std::all_of(labels.begin(), labels.end(),
                         [&](EinsumLabel label) { return dim(label).known(); });
    };
    for (const EinsumLabel label : k_)
      depth_.push_back(dim(label).known() ? dim(label).value() : 0);
    if (k_.size() > 1 && !all_known(k_)) return std::nullopt;
    merges_columns_ = n_.size() > 1 && batch_.empty() && all_known(n_) && all_known(k_);
    if (!merges_columns_ && n_.size() > 1) n_ = {n_.back()};
    if (k_.size() > 1 && !all_known(n_)) return std::nullopt;
    for (const EinsumLabel label : n_)
      columns_.push_back(dim(label).known() ? dim(label).value() : 0);
    return Matrices();
  }

 private:
  void Classify() {
    for (const EinsumLabel label : output_) {
      const bool in_left = Contains(left_.labels, label), in_right = Contains(right_.labels, label);
      (in_left && in_right ? batch_ : in_left ? m_ : n_).push_back(label);
    }
    k_ = Choose(left_.labels, [&](EinsumLabel label) {
      return Contains(right_.labels, label) && !Contains(output_, label);
    });
  }

  Patch Elementwise() {
    patch_.Replace(node_.outputs[0], patch_.AddNode("Mul", {Arranged(patch_, left_, output_),
                                                            Arranged(patch_, right_, output_)}));
    return std::move(patch_);
  }

  // `outer` less the axes at its beginning that the operand lacks: products broadcast.
  static EinsumLabels OuterOf(const Operand& x, const EinsumLabels& outer) {
    const auto first = std::find_if(outer.begin(), outer.end(),
                                    [&](EinsumLabel label) { return Contains(x.labels, label); });
    return EinsumLabels(first, outer.end());
  }

  // `sizes` in place of the axes behind the first `outer`.
  ValueId Merged(ValueId value, size_t outer, const std::vector<int64_t>& sizes) {
    std::vector<int64_t> shape(outer, 0);  // as they are
    shape.insert(shape.end(), sizes.begin(), sizes.end());
    return patch_.AddNode("Reshape", {value, AddIntegers(patch_, shape)});
  }

  // A batch of matrices [row, k] by [k, columns], in the order of the output where it can be.
  Patch Matrices() {
    const EinsumLabel row = m_.empty() ? kOne : m_.back();
    const EinsumLabels columns = n_.empty() ? EinsumLabels{kOne} : n_;
    const EinsumLabels outer = Choose(
        output_, [&](EinsumLabel label) { return label != row && !Contains(columns, label); });
    const bool merges = k_.size() > 1 || merges_columns_;
    EinsumLabels order = OuterOf(left_, outer);
    const size_t left_outer = order.size();
    order.push_back(row);
    Append(order, k_);
    ValueId left = Arranged(patch_, left_, order);
    if (k_.size() > 1) left = Merged(left, left_outer + 1, {NumElements(depth_)});
    order = OuterOf(right_, outer);
    const size_t right_outer = order.size();
    Append(order, k_);
    Append(order, columns);
    ValueId right = Arranged(patch_, right_, order);
    if (merges) right = Merged(right, right_outer, {NumElements(depth_), NumElements(columns_)});
    ValueId product = patch_.AddNode("MatMul", {left, right});
    EinsumLabels made = outer;
    made.push_back(row);
    if (merges_columns_)
      product =
          Merged(product, made.size(), std::vector<int64_t>(columns_.begin(), columns_.end()));
    Append(made, columns);
    Finish(patch_, node_, product, made, output_);
    return std::move(patch_);
  }

  const Graph& graph_;
  const Node& node_;
  Patch patch_;
  const EinsumLabels output_;
  Operand left_, right_;
  EinsumLabels batch_, m_, n_, k_;  // of both and the output; of one and it; of both alone
  Dims depth_, columns_;            // of k; of n where they are known
  bool merges_columns_ = false;
};

std::optional<Patch> Lower(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (node.inputs.empty() || node.inputs.size() > 2) return std::nullopt;
  std::vector<size_t> ranks;
  for (const ValueId input : node.inputs) {
    const int rank = RankOf(graph, input);
    if (rank < 0 || !IsFloating(graph.type(input).dtype)) return std::nullopt;
    ranks.push_back(static_cast<size_t>(rank));
  }
  const auto equation = ParseEinsumEquation(node.attributes.String("equation", ""), ranks);
  if (!equation.ok()) return std::nullopt;
  for (const EinsumLabels& term : equation->terms) {
    for (const EinsumLabel label : term)
      if (std::count(term.begin(), term.end(), label) > 1) return std::nullopt;  // a diagonal
  }
  if (node.inputs.size() == 1) return OfOne(graph, node, *equation);
  return Product(graph, node, *equation).Make();
}

constexpr Rule kRules[] = {{"lower_einsum", "Einsum", Lower}};

}  // namespace

absl::StatusOr<int> LowerEinsum(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward

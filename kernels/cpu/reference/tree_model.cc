#include "kernels/cpu/reference/tree_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"

namespace onward::kernels::cpu {
namespace {

std::vector<double> Numbers(const Tensor* tensor) {
  std::vector<double> numbers;
  if (tensor == nullptr) return numbers;
  DispatchDType(TypeList<float, double, Float16>(), tensor->dtype(), [&](auto tag) {
    for (const auto& value : tensor->span<typename decltype(tag)::type>())
      numbers.push_back(static_cast<double>(value));
  });
  return numbers;
}

absl::Status SizesDiffer(const char* name, size_t size, size_t expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", size, " elements, expected ", expected));
}

bool Passes(const TreeModel& model, const TreeNode& node, double x) {
  if (std::isnan(x)) return node.missing_is_true;
  switch (node.test) {
    case TreeTest::kLessOrEqual:
      return x <= node.value;
    case TreeTest::kLess:
      return x < node.value;
    case TreeTest::kGreaterOrEqual:
      return x >= node.value;
    case TreeTest::kGreater:
      return x > node.value;
    case TreeTest::kEqual:
      return x == node.value;
    case TreeTest::kNotEqual:
      return x != node.value;
    case TreeTest::kMember:
      return std::find(model.members.begin() + node.members_begin,
                       model.members.begin() + node.members_end,
                       x) != model.members.begin() + node.members_end;
  }
  return false;
}

// The sets of kMember nodes follow each other, each ended by NaN, in the order in which the trees
// are walked depth first, true branches first.
absl::Status AssignMembers(TreeModel& model, const std::vector<double>& values) {
  size_t at = 0;
  for (const int32_t root : model.roots) {
    std::vector<int32_t> stack = {root};
    while (!stack.empty()) {
      const int32_t index = stack.back();
      stack.pop_back();
      if (index < 0) continue;
      TreeNode& node = model.nodes[static_cast<size_t>(index)];
      stack.push_back(node.if_false);
      stack.push_back(node.if_true);
      if (node.test != TreeTest::kMember) continue;
      node.members_begin = static_cast<int32_t>(model.members.size());
      while (at < values.size() && !std::isnan(values[at])) model.members.push_back(values[at++]);
      if (at == values.size())
        return absl::InvalidArgumentError("membership_values has too few sets");
      ++at;
      node.members_end = static_cast<int32_t>(model.members.size());
    }
  }
  return absl::OkStatus();
}

absl::Status SetFeature(TreeModel& model, TreeNode& node, int64_t feature) {
  if (feature < 0 || feature > (int64_t{1} << 40))
    return absl::InvalidArgumentError(absl::StrCat("nodes_featureids has ", feature));
  node.feature = feature;
  model.features = std::max(model.features, feature + 1);
  return absl::OkStatus();
}

}  // namespace

absl::Status TreeModel::Check(bool may_share) const {
  std::vector<int32_t> parents(nodes.size(), 0);
  const auto refer = [&](int32_t index) {
    if (index < 0) return static_cast<size_t>(~index) + 1 < leaf_begins.size();
    return static_cast<size_t>(index) < nodes.size() &&
           (++parents[static_cast<size_t>(index)] == 1 || may_share);
  };
  for (const TreeNode& node : nodes) {
    if (!refer(node.if_true) || !refer(node.if_false))
      return absl::InvalidArgumentError("a node has two parents, or a child that is not there");
  }
  for (const int32_t root : roots) {
    if (!refer(root) || (root >= 0 && parents[static_cast<size_t>(root)] != 1))
      return absl::InvalidArgumentError("a tree's root is not a node of its own");
  }
  for (const int32_t root : roots) {
    if (root >= 0) parents[static_cast<size_t>(root)] = 0;
  }
  // Every node follows all its parents in some order: then no walk comes back.
  std::vector<int32_t> next;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (parents[i] == 0) next.push_back(static_cast<int32_t>(i));
  }
  size_t ordered = 0;
  for (; !next.empty(); ++ordered) {
    const TreeNode& node = nodes[static_cast<size_t>(next.back())];
    next.pop_back();
    for (const int32_t child : {node.if_true, node.if_false}) {
      if (child >= 0 && --parents[static_cast<size_t>(child)] == 0) next.push_back(child);
    }
  }
  if (ordered == nodes.size()) return absl::OkStatus();
  return absl::InvalidArgumentError("a node is below itself");
}

void TreeModel::Flatten() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<FlatNode> made;
  for (const TreeNode& node : nodes) {
    // x < v is x <= (the number before v); the other comparisons are the opposites.
    const bool strict = node.test == TreeTest::kLess || node.test == TreeTest::kGreaterOrEqual;
    const bool opposite = node.test == TreeTest::kGreater || node.test == TreeTest::kGreaterOrEqual;
    if (!(strict || opposite || node.test == TreeTest::kLessOrEqual)) return;
    if (std::isnan(node.value) || node.value == -kInfinity ||
        node.feature > std::numeric_limits<int32_t>::max()) {
      return;
    }
    made.push_back(
        {strict ? std::nextafter(node.value, -kInfinity) : node.value,
         static_cast<int32_t>(node.feature),
         {opposite ? node.if_true : node.if_false, opposite ? node.if_false : node.if_true}});
  }
  flat = std::move(made);
}

void TreeModel::WalkFlat(const double* rows, int64_t stride, int64_t count, int32_t* ends) const {
  // Reads of different walks overlap; walks that are at a leaf stay there.
  for (bool any = true; any;) {
    any = false;
    for (int64_t i = 0; i < count; ++i) {
      const int32_t at = ends[i];
      const FlatNode& node = flat[static_cast<size_t>(std::max(at, 0))];
      const int32_t next = node.next[rows[i * stride + node.feature] <= node.value ? 1 : 0];
      ends[i] = at < 0 ? at : next;
      any |= ends[i] >= 0;
    }
  }
  for (int64_t i = 0; i < count; ++i) ends[i] = ~ends[i];
}

int32_t TreeModel::Walk(int32_t root, const double* row) const {
  int32_t at = root;
  while (at >= 0) {
    const TreeNode& node = nodes[static_cast<size_t>(at)];
    at = Passes(*this, node, row[node.feature]) ? node.if_true : node.if_false;
  }
  return ~at;
}

std::vector<double> FloatsOrTensor(const Attributes& attributes, const std::string& name) {
  if (const Tensor* tensor = attributes.TensorOrNull(name + "_as_tensor")) return Numbers(tensor);
  const std::vector<float> floats = attributes.Floats(name);
  return {floats.begin(), floats.end()};
}

absl::StatusOr<TreeModel> ReadTreeEnsemble(const Attributes& attributes) {
  const auto features = attributes.Ints("nodes_featureids");
  const auto splits = Numbers(attributes.TensorOrNull("nodes_splits"));
  const Tensor* modes = attributes.TensorOrNull("nodes_modes");
  const auto missing = attributes.Ints("nodes_missing_value_tracks_true");
  const std::vector<int64_t> next[2] = {attributes.Ints("nodes_truenodeids"),
                                        attributes.Ints("nodes_falsenodeids")};
  const std::vector<int64_t> is_leaf[2] = {attributes.Ints("nodes_trueleafs"),
                                           attributes.Ints("nodes_falseleafs")};
  const auto weights = Numbers(attributes.TensorOrNull("leaf_weights"));
  const auto targets = attributes.Ints("leaf_targetids");
  const size_t count = features.size();
  if (modes == nullptr || modes->dtype() != DType::kUint8)
    return absl::InvalidArgumentError("nodes_modes is not a tensor of uint8");
  for (const size_t size :
       {splits.size(), static_cast<size_t>(modes->num_elements()), next[0].size(), next[1].size(),
        is_leaf[0].size(), is_leaf[1].size(), missing.empty() ? count : missing.size()}) {
    if (size != count) return SizesDiffer("a list of nodes", size, count);
  }
  if (weights.size() != targets.size())
    return SizesDiffer("leaf_weights", weights.size(), targets.size());
  TreeModel model;
  model.nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    TreeNode& node = model.nodes[i];
    const uint8_t mode = modes->data<uint8_t>()[i];
    if (mode > static_cast<uint8_t>(TreeTest::kMember))
      return absl::InvalidArgumentError(absl::StrCat("nodes_modes has ", mode));
    node.test = static_cast<TreeTest>(mode);
    node.value = splits[i];
    node.missing_is_true = !missing.empty() && missing[i] != 0;
    ONWARD_RETURN_IF_ERROR(SetFeature(model, node, features[i]));
    for (int branch = 0; branch < 2; ++branch) {
      const int64_t target = next[branch][i];
      const auto limit = static_cast<int64_t>(is_leaf[branch][i] != 0 ? weights.size() : count);
      if (target < 0 || target >= limit)
        return absl::InvalidArgumentError(absl::StrCat("node ", i, " leads to ", target));
      const auto index = static_cast<int32_t>(target);
      (branch == 0 ? node.if_true : node.if_false) = is_leaf[branch][i] != 0 ? ~index : index;
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    model.leaf_begins.push_back(static_cast<int32_t>(i));
    model.votes.push_back({targets[i], weights[i]});
  }
  model.leaf_begins.push_back(static_cast<int32_t>(weights.size()));
  for (const int64_t root : attributes.Ints("tree_roots")) {
    if (root < 0 || root >= static_cast<int64_t>(count))
      return absl::InvalidArgumentError(absl::StrCat("tree_roots has ", root));
    model.roots.push_back(static_cast<int32_t>(root));
  }
  ONWARD_RETURN_IF_ERROR(model.Check(false));
  ONWARD_RETURN_IF_ERROR(
      AssignMembers(model, Numbers(attributes.TensorOrNull("membership_values"))));
  return model;
}

namespace {

using NodeKey = std::pair<int64_t, int64_t>;  // tree, node

absl::StatusOr<std::map<NodeKey, std::vector<Vote>>> ReadVotesByLeaf(const Attributes& attributes,
                                                                     const std::string& prefix) {
  const auto trees = attributes.Ints(prefix + "_treeids");
  const auto nodes = attributes.Ints(prefix + "_nodeids");
  const auto targets = attributes.Ints(prefix + "_ids");
  const auto weights = FloatsOrTensor(attributes, prefix + "_weights");
  for (const size_t size : {trees.size(), nodes.size(), targets.size()}) {
    if (size != weights.size()) return SizesDiffer("a list of leaves", size, weights.size());
  }
  std::map<NodeKey, std::vector<Vote>> votes;
  for (size_t i = 0; i < weights.size(); ++i)
    votes[{trees[i], nodes[i]}].push_back({targets[i], weights[i]});
  return votes;
}

}  // namespace

absl::StatusOr<TreeModel> ReadTreesById(const Attributes& attributes, const std::string& prefix) {
  const auto trees = attributes.Ints("nodes_treeids"), ids = attributes.Ints("nodes_nodeids");
  const auto features = attributes.Ints("nodes_featureids");
  const auto modes = attributes.Strings("nodes_modes");
  const auto values = FloatsOrTensor(attributes, "nodes_values");
  const auto if_true = attributes.Ints("nodes_truenodeids");
  const auto if_false = attributes.Ints("nodes_falsenodeids");
  const auto missing = attributes.Ints("nodes_missing_value_tracks_true");
  const size_t count = ids.size();
  for (const size_t size :
       {trees.size(), features.size(), modes.size(), values.size(), if_true.size(), if_false.size(),
        missing.empty() ? count : missing.size()}) {
    if (size != count) return SizesDiffer("a list of nodes", size, count);
  }
  ONWARD_ASSIGN_OR_RETURN(auto votes, ReadVotesByLeaf(attributes, prefix));
  TreeModel model;
  std::map<NodeKey, int32_t> places;  // of nodes; ~leaf of leaves
  std::vector<size_t> inner;          // positions of inner nodes in the lists
  for (size_t i = 0; i < count; ++i) {
    const NodeKey key = {trees[i], ids[i]};
    const bool leaf = modes[i] == "LEAF";
    const auto place = static_cast<int32_t>(leaf ? ~static_cast<int32_t>(model.leaf_begins.size())
                                                 : static_cast<int32_t>(inner.size()));
    if (!places.emplace(key, place).second) {
      return absl::InvalidArgumentError(absl::StrCat("tree ", trees[i], " has two nodes ", ids[i]));
    }
    if (i == 0 || trees[i] != trees[i - 1]) model.roots.push_back(place);
    if (!leaf) {
      inner.push_back(i);
      continue;
    }
    model.leaf_begins.push_back(static_cast<int32_t>(model.votes.size()));
    const std::vector<Vote>& own = votes[key];
    model.votes.insert(model.votes.end(), own.begin(), own.end());
  }
  model.leaf_begins.push_back(static_cast<int32_t>(model.votes.size()));
  constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (const size_t i : inner) {
    TreeNode node;
    const auto* mode = std::find(std::begin(kModes), std::end(kModes), modes[i]);
    const auto yes = places.find({trees[i], if_true[i]}), no = places.find({trees[i], if_false[i]});
    if (mode == std::end(kModes) || yes == places.end() || no == places.end()) {
      return absl::InvalidArgumentError(absl::StrCat("node ", ids[i], " of tree ", trees[i],
                                                     " has mode ", modes[i],
                                                     " or a child that is not there"));
    }
    node.test = static_cast<TreeTest>(mode - std::begin(kModes));
    node.value = values[i];
    node.missing_is_true = !missing.empty() && missing[i] != 0;
    node.if_true = yes->second, node.if_false = no->second;
    ONWARD_RETURN_IF_ERROR(SetFeature(model, node, features[i]));
    model.nodes.push_back(node);
  }
  ONWARD_RETURN_IF_ERROR(model.Check(true));
  return model;
}

}  // namespace onward::kernels::cpu

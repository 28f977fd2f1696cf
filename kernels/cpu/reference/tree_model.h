// Decision trees in the form in which they are walked: one array of nodes, leaves as ranges of
// votes.
#pragma once

#include <cstdint>
#include <vector>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

enum class TreeTest : uint8_t {
  kLessOrEqual,
  kLess,
  kGreaterOrEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember,
};

struct TreeNode {
  TreeTest test = TreeTest::kLessOrEqual;
  bool missing_is_true = false;  // where NaN goes
  int64_t feature = 0;
  double value = 0;
  int32_t members_begin = 0, members_end = 0;  // of kMember
  // The next node; ~leaf where negative.
  int32_t if_true = 0, if_false = 0;
};

// A node in its flat form: next[x <= value].
struct FlatNode {
  double value = 0;
  int32_t feature = 0;
  int32_t next[2] = {};
};

struct Vote {
  int64_t target;
  double weight;
};

struct TreeModel {
  std::vector<TreeNode> nodes;
  std::vector<double> members;
  std::vector<int32_t> roots;  // ~leaf where a tree is only a leaf
  std::vector<Vote> votes;
  std::vector<int32_t> leaf_begins;  // leaf i votes [leaf_begins[i], leaf_begins[i + 1])
  int64_t features = 0;              // one more than the greatest feature tested
  std::vector<FlatNode> flat;        // the nodes, if all compare; empty before Flatten

  // Fails unless every walk from a root ends. `may_share`: a node may have several parents, as
  // converters write for sets of categories.
  absl::Status Check(bool may_share) const;
  // The leaf that a row of features ends in.
  int32_t Walk(int32_t root, const double* row) const;
  // Makes `flat`, where every node compares with a number.
  void Flatten();
  // Walks that step together: walk i starts at the root ends[i], ends at the leaf that replaces it
  // and reads the row, without NaN, at rows + i * stride. Needs `flat`.
  static constexpr int64_t kWalks = 8;
  void WalkFlat(const double* rows, int64_t stride, int64_t count, int32_t* ends) const;
  absl::Span<const Vote> votes_of(int32_t leaf) const {
    const auto begin = static_cast<size_t>(leaf_begins[static_cast<size_t>(leaf)]);
    const auto end = static_cast<size_t>(leaf_begins[static_cast<size_t>(leaf) + 1]);
    return absl::MakeConstSpan(votes).subspan(begin, end - begin);
  }
};

// Reads the attributes of TreeEnsemble.
absl::StatusOr<TreeModel> ReadTreeEnsemble(const Attributes& attributes);
// Reads those of TreeEnsembleClassifier and TreeEnsembleRegressor; `prefix` is "class" or "target".
absl::StatusOr<TreeModel> ReadTreesById(const Attributes& attributes, const std::string& prefix);

// The numbers of `name`, or of `name`_as_tensor.
std::vector<double> FloatsOrTensor(const Attributes& attributes, const std::string& name);

}  // namespace onward::kernels::cpu

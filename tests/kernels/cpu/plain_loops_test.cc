// Ops whose portable kernels work by blocks, tables or several walks at once, on inputs long enough
// to meet all of them, against plain definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernels.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectKernels;
using testing::RandomFloats;

const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Floats on a grid, so that many are equal; some NaN.
std::vector<float> Coarse(int64_t count, int levels, int64_t nans, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % levels)) - 3;
  for (int64_t i = 0; i < nans; ++i) values[random() % values.size()] = kNan;
  return values;
}

// NaN is greater than every number; equal values keep their order.
std::vector<int64_t> Ranked(const std::vector<float>& values, bool largest) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const float a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
    const float first = largest ? b : a, second = largest ? a : b;
    return first < second || (first == first && second != second);
  });
  return order;
}

TEST(PlainLoops, TopKOfLongRows) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t dim = 200 + static_cast<int64_t>(random() % 900), k = 1 + seed % 24;
    const bool largest = seed % 2 == 0;
    const std::vector<float> values =
        Coarse(dim, seed % 3 == 0 ? 20 : 100000, seed % 4 == 0 ? 30 : 0, random);
    const std::vector<int64_t> order = Ranked(values, largest);
    std::vector<float> top;
    for (int64_t i = 0; i < k; ++i)
      top.push_back(values[static_cast<size_t>(order[static_cast<size_t>(i)])]);
    OpCase c;
    c.op = "TopK";
    c.attributes = {{"largest", int64_t{largest}}};
    c.inputs = {Tensor::Of<float>({dim}, values), Tensor::Of<int64_t>({1}, {k})};
    c.expected = {
        Tensor::Of<float>({k}, top),
        Tensor::Of<int64_t>({k}, absl::MakeConstSpan(order).first(static_cast<size_t>(k)))};
    ExpectKernels(c);
  }
}

TEST(PlainLoops, ArgumentsOfLongRows) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t dim = 1 + static_cast<int64_t>(random() % 4000);
    const bool last = seed % 2 == 0, max = seed % 4 < 2;
    std::vector<float> values = Coarse(dim, 500, seed % 5 == 0 ? 2 : 0, random);
    if (seed == 7) std::fill(values.begin(), values.end(), -kInfinity);
    int64_t best = 0;
    for (int64_t i = 1; i < dim; ++i) {
      const float v = values[static_cast<size_t>(i)], top = values[static_cast<size_t>(best)];
      const bool better = top == top && (v != v || (max ? v > top : v < top));
      if (better || (last && (v == top || (v != v && top != top)))) best = i;
    }
    OpCase c;
    c.op = max ? "ArgMax" : "ArgMin";
    c.attributes = {{"select_last_index", int64_t{last}}, {"axis", int64_t{0}}};
    c.inputs = {Tensor::Of<float>({dim}, values)};
    c.expected = {Tensor::Of<int64_t>({1}, {best})};
    ExpectKernels(c);
    if (last || !max) continue;
    c.op = "Hardmax";
    c.attributes = {};
    std::vector<float> hot(values.size());
    hot[static_cast<size_t>(best)] = 1;
    c.expected = {Tensor::Of<float>({dim}, hot)};
    ExpectKernels(c);
  }
}

TEST(PlainLoops, ArgumentsOfColumns) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t count = 1 + static_cast<int64_t>(random() % 90),
                  inner = seed % 3 == 0 ? 1 : 1 + static_cast<int64_t>(random() % 600);
    const bool last = seed % 2 == 0, max = seed % 4 < 2;
    const std::vector<float> values =
        Coarse(3 * count * inner, 12, seed % 5 == 0 ? count * inner / 20 : 0, random);
    Tensor y(DType::kInt64, {3, 1, inner});
    for (int64_t line = 0; line < 3 * inner; ++line) {
      const float* x = values.data() + line / inner * count * inner + line % inner;
      int64_t best = 0;
      for (int64_t i = 1; i < count; ++i) {
        const float v = x[i * inner], top = x[best * inner];
        const bool better = top == top && (v != v || (max ? v > top : v < top));
        if (better || (last && (v == top || (v != v && top != top)))) best = i;
      }
      y.mutable_data<int64_t>()[line] = best;
    }
    OpCase c;
    c.op = max ? "ArgMax" : "ArgMin";
    c.attributes = {{"select_last_index", int64_t{last}}, {"axis", int64_t{1}}};
    c.inputs = {Tensor::Of<float>({3, count, inner}, values)};
    c.expected = {y};
    ExpectKernels(c);
  }
}

TEST(PlainLoops, UniqueOfManyNumbers) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t count = seed == 0 ? 1 : 6000;
    std::vector<float> values = Coarse(count, seed % 2 == 0 ? 5000 : 40, seed % 3, random);
    if (seed == 4) values[17] = -0.0f;
    std::vector<int64_t> by_first, counts, inverse(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      size_t group = 0;
      for (; group < by_first.size(); ++group) {
        const float other = values[static_cast<size_t>(by_first[group])];
        if (values[i] == other || (values[i] != values[i] && other != other)) break;
      }
      if (group == by_first.size()) {
        by_first.push_back(static_cast<int64_t>(i));
        counts.push_back(0);
      }
      ++counts[group];
      inverse[i] = static_cast<int64_t>(group);
    }
    std::vector<float> distinct;
    for (const int64_t i : by_first) distinct.push_back(values[static_cast<size_t>(i)]);
    for (const bool sorted : {false, true}) {
      std::vector<int64_t> order = Ranked(distinct, false);
      if (!sorted) std::iota(order.begin(), order.end(), 0);
      std::vector<float> y;
      std::vector<int64_t> first, number, place(order.size()), group(inverse.size());
      for (size_t i = 0; i < order.size(); ++i) {
        const auto from = static_cast<size_t>(order[i]);
        y.push_back(distinct[from]);
        first.push_back(by_first[from]);
        number.push_back(counts[from]);
        place[from] = static_cast<int64_t>(i);
      }
      for (size_t i = 0; i < group.size(); ++i) group[i] = place[static_cast<size_t>(inverse[i])];
      const auto groups = static_cast<int64_t>(order.size());
      OpCase c;
      c.op = "Unique";
      c.attributes = {{"sorted", int64_t{sorted}}};
      c.inputs = {Tensor::Of<float>({count}, values)};
      c.expected = {Tensor::Of<float>({groups}, y), Tensor::Of<int64_t>({groups}, first),
                    Tensor::Of<int64_t>({count}, group), Tensor::Of<int64_t>({groups}, number)};
      ExpectKernels(c);
    }
  }
}

template <typename T>
void ExpectIntegers(const Tensor& x, double least, double most) {
  Tensor y(kDTypeOf<T>, x.dims());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double v = static_cast<double>(x.data<float>()[i]);
    const auto whole = v != v      ? 0
                       : v < least ? std::numeric_limits<int64_t>::min()
                       : v > most  ? std::numeric_limits<int64_t>::max()
                                   : static_cast<int64_t>(v);
    y.mutable_data<T>()[i] = static_cast<T>(
        sizeof(T) == 4 ? std::clamp(whole, -(int64_t{1} << 31), (int64_t{1} << 31) - 1) : whole);
  }
  OpCase c;
  c.op = "Cast";
  c.attributes = {{"to", static_cast<int64_t>(y.dtype())}};
  c.inputs = {x};
  c.expected = {y};
  ExpectKernels(c);
}

// Types of less than 32 bits wrap.
TEST(PlainLoops, IntegersOfManyFloats) {
  std::mt19937 random(2);
  Tensor x = RandomFloats({1000}, random, -2e9f, 2e9f);
  x.mutable_data<float>()[70] = kNan;
  ExpectIntegers<uint8_t>(x, -0x1p31, 0x1p31);
  ExpectIntegers<int8_t>(x, -0x1p31, 0x1p31);
  ExpectIntegers<uint16_t>(x, -0x1p31, 0x1p31);
  const float specials[] = {kNan, kInfinity, -kInfinity, 2147483648.0f, -2147483648.0f, 1e30f};
  for (int i = 0; i < 6; ++i) x.mutable_data<float>()[130 * i + 5] = specials[i];
  ExpectIntegers<int32_t>(x, -0x1p62, 0x1p62);
  ExpectIntegers<int64_t>(x, -0x1p63, 0x1.fffffep62);
}

TEST(PlainLoops, RunningSumsOfWideRows) {
  std::mt19937 random(9);
  const int64_t outer = 2, count = 40, inner = 300;
  const Tensor x = RandomFloats({outer, count, inner}, random);
  for (const bool reverse : {false, true}) {
    for (const bool exclusive : {false, true}) {
      Tensor y(DType::kFloat32, x.dims());
      for (int64_t column = 0; column < outer * inner; ++column) {
        const int64_t base = column / inner * count * inner + column % inner;
        double sum = 0;
        for (int64_t step = 0; step < count; ++step) {
          const int64_t at = base + (reverse ? count - 1 - step : step) * inner;
          const double before = sum;
          sum += static_cast<double>(x.data<float>()[at]);
          y.mutable_data<float>()[at] = static_cast<float>(exclusive ? before : sum);
        }
      }
      OpCase c;
      c.op = "CumSum";
      c.attributes = {{"reverse", int64_t{reverse}}, {"exclusive", int64_t{exclusive}}};
      c.inputs = {x, Tensor::Of<int64_t>({1}, {1})};
      c.expected = {y};
      c.atol = 1e-5;
      ExpectKernels(c);
    }
  }
}

TEST(PlainLoops, BatchNormalizationOfRows) {
  std::mt19937 random(4);
  for (const Dims& dims : {Dims{300, 130}, Dims{70, 1}, Dims{3, 40000}, Dims{5, 7, 1}}) {
    SCOPED_TRACE(DimsString(dims));
    Tensor x = RandomFloats(dims, random), y(DType::kFloat32, dims);
    x.mutable_data<float>()[2] = kNan;
    x.mutable_data<float>()[5] = kInfinity;
    std::vector<Tensor> inputs = {x};
    for (int i = 0; i < 4; ++i) inputs.push_back(RandomFloats({dims[1]}, random, 0.1f, 1));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const auto of = [&](size_t input) {
        return static_cast<double>(inputs[input].data<float>()[i % dims[1]]);
      };
      y.mutable_data<float>()[i] = static_cast<float>(
          (static_cast<double>(x.data<float>()[i]) - of(3)) / std::sqrt(of(4) + 1e-5) * of(1) +
          of(2));
    }
    OpCase c;
    c.op = "BatchNormalization";
    c.inputs = inputs;
    c.expected = {y};
    c.atol = 1e-5;
    ExpectKernels(c);
  }
}

TEST(PlainLoops, UnpooledPlanes) {
  std::mt19937 random(5);
  constexpr int64_t kPlanes = 6, kPooled = 40 * 30, kSize = 80 * 60;
  // Indices of the own plane, as MaxPool gives them; of any; of the own but for the last one.
  for (const int kind : {0, 1, 2}) {
    SCOPED_TRACE(kind);
    const Tensor x = RandomFloats({2, 3, 40, 30}, random);
    Tensor indices(DType::kInt64, x.dims()), y(DType::kFloat32, {2, 3, 80, 60});
    std::fill_n(y.mutable_data<float>(), y.num_elements(), 0.0f);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t plane = kind == 1 ? static_cast<int64_t>(random() % kPlanes) : i / kPooled;
      int64_t index = plane * kSize + static_cast<int64_t>(random() % kSize);
      if (kind == 2 && i == x.num_elements() - 1) index = 0;
      indices.mutable_data<int64_t>()[i] = index;
      y.mutable_data<float>()[index] = x.data<float>()[i];
    }
    OpCase c;
    c.op = "MaxUnpool";
    c.attributes = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                    {"strides", std::vector<int64_t>{2, 2}}};
    c.inputs = {x, indices};
    c.expected = {y};
    ExpectKernels(c);
  }
}

struct Node {
  int64_t feature;
  float value;
  std::string mode;
  int64_t yes, no, missing;
  float weight;  // of a leaf
};

float WalkNaively(const std::vector<Node>& tree, const float* row) {
  size_t at = 0;
  while (tree[at].mode != "LEAF") {
    const Node& node = tree[at];
    const float x = row[node.feature];
    const bool passes = x != x                      ? node.missing != 0
                        : node.mode == "BRANCH_LEQ" ? x <= node.value
                        : node.mode == "BRANCH_LT"  ? x < node.value
                        : node.mode == "BRANCH_GT"  ? x > node.value
                        : node.mode == "BRANCH_GTE" ? x >= node.value
                        : node.mode == "BRANCH_EQ"  ? x == node.value
                                                    : x != node.value;
    at = static_cast<size_t>(passes ? node.yes : node.no);
  }
  return tree[at].weight;
}

// An unbalanced tree: every branch is cut off with some chance.
int64_t Grow(std::vector<Node>& tree, int depth, int modes, std::mt19937& random) {
  const auto at = static_cast<int64_t>(tree.size());
  const char* kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT",
                          "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ"};
  tree.push_back({0, 0, "LEAF", 0, 0, 0, static_cast<float>(random() % 64) / 8});
  if (depth == 0 || random() % 5 == 0) return at;
  Node node = {static_cast<int64_t>(random() % 6),
               static_cast<float>(random() % 5),
               "",
               0,
               0,
               static_cast<int64_t>(random() % 2),
               0};
  node.mode = kModes[random() % static_cast<unsigned>(modes)];
  node.yes = Grow(tree, depth - 1, modes, random);
  node.no = Grow(tree, depth - 1, modes, random);
  tree[static_cast<size_t>(at)] = node;
  return at;
}

TEST(PlainLoops, TreesOfAnyShape) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    std::vector<int64_t> tree_ids, node_ids, features, yes, no, missing, leaf_trees, leaf_nodes;
    std::vector<float> values, weights;
    std::vector<std::string> modes;
    std::vector<std::vector<Node>> trees(1 + seed % 19);
    for (size_t t = 0; t < trees.size(); ++t) {
      Grow(trees[t], 6, seed % 3 == 0 ? 6 : 4, random);
      for (size_t i = 0; i < trees[t].size(); ++i) {
        const Node& node = trees[t][i];
        tree_ids.push_back(static_cast<int64_t>(t));
        node_ids.push_back(static_cast<int64_t>(i));
        features.push_back(node.feature);
        values.push_back(node.value);
        modes.push_back(node.mode);
        yes.push_back(node.yes);
        no.push_back(node.no);
        missing.push_back(node.missing);
        if (node.mode != "LEAF") continue;
        leaf_trees.push_back(static_cast<int64_t>(t));
        leaf_nodes.push_back(static_cast<int64_t>(i));
        weights.push_back(node.weight);
      }
    }
    const int64_t rows = seed % 4 == 0 ? 1 : 1 + static_cast<int64_t>(random() % 40);
    std::vector<float> x = Coarse(rows * 6, 12, seed % 5 == 0 ? 3 : 0, random), y;
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (const std::vector<Node>& tree : trees) sum += WalkNaively(tree, x.data() + r * 6);
      y.push_back(sum);
    }
    OpCase c;
    c.op = "TreeEnsembleRegressor";
    c.domain = "ai.onnx.ml";
    c.attributes = {{"n_targets", int64_t{1}},
                    {"nodes_treeids", tree_ids},
                    {"nodes_nodeids", node_ids},
                    {"nodes_featureids", features},
                    {"nodes_values", values},
                    {"nodes_modes", modes},
                    {"nodes_truenodeids", yes},
                    {"nodes_falsenodeids", no},
                    {"nodes_missing_value_tracks_true", missing},
                    {"target_treeids", leaf_trees},
                    {"target_nodeids", leaf_nodes},
                    {"target_ids", std::vector<int64_t>(leaf_trees.size())},
                    {"target_weights", weights}};
    c.inputs = {Tensor::Of<float>({rows, 6}, x)};
    c.expected = {Tensor::Of<float>({rows, 1}, y)};
    ExpectKernels(c);
  }
}

}  // namespace
}  // namespace onward::kernels

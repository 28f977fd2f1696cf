// Every kernel of NonMaxSuppression against the definition: the best box that is left is kept, and
// those that overlap it too much go.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward {
namespace {

using cases::OpCase;
using testing::RandomFloats;

// In the order of the arithmetic that the kernels use, so that ties at the threshold are the same.
float OverlapOverUnion(const float* a, const float* b) {
  const float height = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (!(width > 0) || !(height > 0)) return 0;
  const float both = width * height;
  return both / ((a[3] - a[1]) * (a[2] - a[0]) + (b[3] - b[1]) * (b[2] - b[0]) - both);
}

// boxes [n, 4] as y, x of the lower and of the upper corner.
std::vector<int64_t> Keep(const float* boxes, const float* scores, int64_t n, int64_t limit,
                          float iou, float least) {
  std::vector<int64_t> left, kept;
  for (int64_t i = 0; i < n; ++i) {
    if (scores[i] > least) left.push_back(i);
  }
  while (!left.empty() && static_cast<int64_t>(kept.size()) < limit) {
    const int64_t best = *std::max_element(left.begin(), left.end(), [&](int64_t a, int64_t b) {
      return scores[a] < scores[b] || (scores[a] == scores[b] && a > b);
    });
    kept.push_back(best);
    std::erase_if(left, [&](int64_t i) {
      return i == best || OverlapOverUnion(boxes + 4 * best, boxes + 4 * i) > iou;
    });
  }
  return kept;
}

Tensor Scalar(float value) {
  Tensor t(DType::kFloat32, {1});
  t.mutable_data<float>()[0] = value;
  return t;
}

OpCase RandomCase(std::mt19937& random) {
  const int64_t n = std::uniform_int_distribution<int64_t>(0, 90)(random);
  const int64_t limit = std::uniform_int_distribution<int64_t>(0, n + 2)(random);
  OpCase c;
  c.op = "NonMaxSuppression";
  Tensor boxes = RandomFloats({2, n, 4}, random, 0, 10), scores = RandomFloats({2, 3, n}, random);
  for (int64_t i = 0; i < 2 * n; ++i) {
    float* box = boxes.mutable_data<float>() + 4 * i;
    box[2] = box[0] + box[2] / 3;
    box[3] = box[1] + box[3] / 3;
    if (i % 29 == 17) box[i % 4] = std::numeric_limits<float>::quiet_NaN();
  }
  for (int64_t i = 0; i < scores.num_elements(); i += 7) scores.mutable_data<float>()[i] = 0.5f;
  Tensor most(DType::kInt64, {1});
  most.mutable_data<int64_t>()[0] = limit;
  const float iou = std::uniform_real_distribution<float>(0, 0.6f)(random);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < 6; ++row) {
    for (int64_t box : Keep(boxes.data<float>() + row / 3 * n * 4, scores.data<float>() + row * n,
                            n, limit, iou, -0.5f)) {
      rows.insert(rows.end(), {row / 3, row % 3, box});
    }
  }
  Tensor expected(DType::kInt64, {static_cast<int64_t>(rows.size()) / 3, 3});
  std::copy(rows.begin(), rows.end(), expected.mutable_data<int64_t>());
  c.inputs = {std::move(boxes), std::move(scores), std::move(most), Scalar(iou), Scalar(-0.5f)};
  c.expected = {std::move(expected)};
  c.name = absl::StrCat(n, " boxes, at most ", limit, ", threshold ", iou);
  return c;
}

// Boxes along a line, as those of several classes that were moved apart, and some that cover much
// of it.
OpCase ManyBoxes(bool along_y, std::mt19937& random) {
  constexpr int64_t kBoxes = 1500;
  OpCase c;
  c.op = "NonMaxSuppression";
  c.name = absl::StrCat("many boxes, along y ", along_y);
  Tensor boxes = RandomFloats({1, kBoxes, 4}, random, 0, 30);
  Tensor scores = RandomFloats({1, 1, kBoxes}, random, 0, 1);
  const int64_t axis = along_y ? 0 : 1;
  for (int64_t i = 0; i < kBoxes; ++i) {
    float* box = boxes.mutable_data<float>() + 4 * i;
    box[axis] *= 40;
    box[2] = box[0] + box[2] / 3;
    box[3] = box[1] + box[3] / 3;
    if (i % 97 == 5) box[axis + 2] = box[axis] + 400;
  }
  Tensor most(DType::kInt64, {1});
  most.mutable_data<int64_t>()[0] = kBoxes;
  const std::vector<int64_t> kept =
      Keep(boxes.data<float>(), scores.data<float>(), kBoxes, kBoxes, 0.2f, 0);
  Tensor expected(DType::kInt64, {static_cast<int64_t>(kept.size()), 3});
  for (size_t i = 0; i < kept.size(); ++i) {
    int64_t* row = expected.mutable_data<int64_t>() + 3 * i;
    row[0] = row[1] = 0, row[2] = kept[i];
  }
  c.inputs = {std::move(boxes), std::move(scores), std::move(most), Scalar(0.2f), Scalar(0)};
  c.expected = {std::move(expected)};
  return c;
}

TEST(NonMaxSuppression, KeepsWhatTheDefinitionKeeps) {
  for (unsigned seed = 0; seed < 62; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const OpCase c = seed < 60 ? RandomCase(random) : ManyBoxes(seed == 60, random);
    for (const auto& [entry, target] : testing::KernelsPerTarget(c)) {
      KernelOptions options;
      options.cpu_targets = target;
      const auto outputs = testing::RunKernel(entry, c, 3, 0, options);
      if (outputs.status().code() == absl::StatusCode::kUnimplemented) continue;
      ASSERT_TRUE(outputs.ok()) << entry.name << ": " << outputs.status();
      EXPECT_EQ(testing::Difference((*outputs)[0], c.expected[0], 0, 0), "")
          << entry.name << c.name;
    }
  }
}

}  // namespace
}  // namespace onward

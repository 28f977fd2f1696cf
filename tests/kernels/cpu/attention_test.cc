// Attention and its gradient against loops in double, of random shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomBFloats;
using testing::RandomFloats;

struct Sizes {
  int64_t batch = 1, kv_heads = 1, group = 1, queries = 1, keys = 1, size = 1, v_size = 1;
  bool packed = false, causal = false, boolean_mask = false;
  int64_t left = -1, right = -1;
  Dims mask = {};  // none
  bool nonpad = false;
  std::optional<float> scale = {};

  int64_t q_heads() const { return kv_heads * group; }
  Dims DimsOf(int64_t heads, int64_t length, int64_t each) const {
    return packed ? Dims{batch, length, heads * each} : Dims{batch, heads, length, each};
  }
  int64_t At(int64_t heads, int64_t length, int64_t each, int64_t b, int64_t h, int64_t i) const {
    return packed ? ((b * length + i) * heads + h) * each : ((b * heads + h) * length + i) * each;
  }
};

double Element(const Tensor& t, int64_t i) { return static_cast<double>(t.data<float>()[i]); }

class Loops {
 public:
  Loops(const Sizes& sizes, const OpCase& op) : s_(sizes), op_(op) {
    dq_.resize(static_cast<size_t>(op.inputs[0].num_elements()));
    dk_.resize(static_cast<size_t>(op.inputs[1].num_elements()));
    dv_.resize(static_cast<size_t>(op.inputs[2].num_elements()));
    y_.resize(static_cast<size_t>(op.inputs[3].num_elements()));
    for (int64_t b = 0; b < s_.batch; ++b)
      for (int64_t h = 0; h < s_.q_heads(); ++h)
        for (int64_t i = 0; i < s_.queries; ++i) Row(b, h, i);
  }

  std::vector<Tensor> Gradients() const {
    return {Floats(dq_, op_.inputs[0]), Floats(dk_, op_.inputs[1]), Floats(dv_, op_.inputs[2])};
  }
  Tensor Output() const { return Floats(y_, op_.inputs[3]); }

 private:
  static Tensor Floats(const std::vector<double>& sums, const Tensor& like) {
    Tensor floats(DType::kFloat32, like.dims());
    for (size_t e = 0; e < sums.size(); ++e)
      floats.mutable_data<float>()[e] = static_cast<float>(sums[e]);
    return floats;
  }

  // What is added to the score; -inf: not attended.
  double Bias(int64_t b, int64_t h, int64_t i, int64_t j) const {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    int64_t position = i;
    if (s_.nonpad) {
      const int64_t valid = op_.inputs[5].data<int64_t>()[b];
      if (j >= valid) return kNever;
      position += valid - s_.queries;
    }
    if ((s_.causal && j > position) || (s_.left >= 0 && j < position - s_.left) ||
        (s_.right >= 0 && j > position + s_.right)) {
      return kNever;
    }
    if (s_.mask.empty()) return 0;
    if (j >= s_.mask.back()) return kNever;
    const int64_t index[] = {b, h, i, j};
    int64_t at = 0;
    for (size_t axis = 0; axis < s_.mask.size(); ++axis) {
      const int64_t place = index[4 - s_.mask.size() + axis];
      at = at * s_.mask[axis] + (s_.mask[axis] == 1 ? 0 : place);
    }
    if (s_.boolean_mask) return op_.inputs[4].data<bool>()[at] ? 0 : kNever;
    return Element(op_.inputs[4], at);
  }

  void Row(int64_t b, int64_t h, int64_t i) {
    const int64_t q = s_.At(s_.q_heads(), s_.queries, s_.size, b, h, i);
    const int64_t dy = s_.At(s_.q_heads(), s_.queries, s_.v_size, b, h, i);
    const double scale =
        s_.scale ? static_cast<double>(*s_.scale) : 1 / std::sqrt(static_cast<double>(s_.size));
    std::vector<double> p(static_cast<size_t>(s_.keys)), dp(p.size());
    double top = -std::numeric_limits<double>::infinity(), sum = 0, dot = 0;
    for (size_t j = 0; j < p.size(); ++j) {
      const auto [k, v] = KeyAt(b, h, static_cast<int64_t>(j));
      p[j] = Bias(b, h, i, static_cast<int64_t>(j));
      for (int64_t d = 0; d < s_.size; ++d)
        p[j] += scale * Element(op_.inputs[0], q + d) * Element(op_.inputs[1], k + d);
      for (int64_t d = 0; d < s_.v_size; ++d)
        dp[j] += Element(op_.inputs[3], dy + d) * Element(op_.inputs[2], v + d);
      top = std::max(top, p[j]);
    }
    if (std::isinf(top)) return;
    for (double& each : p) sum += each = std::exp(each - top);
    for (size_t j = 0; j < p.size(); ++j) dot += (p[j] /= sum) * dp[j];
    for (size_t j = 0; j < p.size(); ++j) {
      const auto [k, v] = KeyAt(b, h, static_cast<int64_t>(j));
      const double ds = p[j] * (dp[j] - dot) * scale;
      for (int64_t d = 0; d < s_.size; ++d) {
        dq_[static_cast<size_t>(q + d)] += ds * Element(op_.inputs[1], k + d);
        dk_[static_cast<size_t>(k + d)] += ds * Element(op_.inputs[0], q + d);
      }
      for (int64_t d = 0; d < s_.v_size; ++d) {
        dv_[static_cast<size_t>(v + d)] += p[j] * Element(op_.inputs[3], dy + d);
        y_[static_cast<size_t>(dy + d)] += p[j] * Element(op_.inputs[2], v + d);
      }
    }
  }
  std::pair<int64_t, int64_t> KeyAt(int64_t b, int64_t h, int64_t j) const {
    return {s_.At(s_.kv_heads, s_.keys, s_.size, b, h / s_.group, j),
            s_.At(s_.kv_heads, s_.keys, s_.v_size, b, h / s_.group, j)};
  }

  const Sizes& s_;
  const OpCase& op_;
  std::vector<double> dq_, dk_, dv_, y_;
};

OpCase CaseOf(const Sizes& s, std::mt19937& random, bool pairs = false, float range = 1) {
  OpCase op;
  op.name = absl::StrCat(s.batch, "x", s.kv_heads, "*", s.group, ", ", s.queries, " queries, ",
                         s.keys, " keys of ", s.size, " and ", s.v_size, s.packed ? ", packed" : "",
                         s.causal ? ", causal" : "", s.nonpad ? ", nonpad" : "", ", window ",
                         s.left, " ", s.right, ", mask ", DimsString(s.mask));
  op.op = "AttentionGradient";
  op.domain = "onward";
  op.attributes = {{"is_causal", int64_t{s.causal}},
                   {"left_window_size", s.left},
                   {"right_window_size", s.right}};
  if (s.packed) {
    op.attributes.Set("q_num_heads", s.q_heads());
    op.attributes.Set("kv_num_heads", s.kv_heads);
  }
  if (s.scale) op.attributes.Set("scale", *s.scale);
  const auto draw = [&](const Dims& dims) {
    return pairs ? RandomBFloats(dims, random) : RandomFloats(dims, random, -range, range);
  };
  op.inputs = {draw(s.DimsOf(s.q_heads(), s.queries, s.size)),
               draw(s.DimsOf(s.kv_heads, s.keys, s.size)),
               draw(s.DimsOf(s.kv_heads, s.keys, s.v_size)),
               RandomFloats(s.DimsOf(s.q_heads(), s.queries, s.v_size), random),
               Tensor(),
               Tensor()};
  if (pairs) op.inputs[3] = RandomBFloats(op.inputs[3].dims(), random);
  if (!s.mask.empty() && s.boolean_mask) {
    op.inputs[4] = Tensor(DType::kBool, s.mask);
    for (int64_t i = 0; i < op.inputs[4].num_elements(); ++i)
      op.inputs[4].mutable_data<bool>()[i] = random() % 3 != 0;
  } else if (!s.mask.empty()) {
    op.inputs[4] = RandomFloats(s.mask, random, -2, 2);
    for (int64_t i = 0; i < op.inputs[4].num_elements(); i += 5)
      op.inputs[4].mutable_data<float>()[i] = -std::numeric_limits<float>::infinity();
  }
  if (s.nonpad) {
    op.inputs[5] = Tensor(DType::kInt64, {s.batch});
    for (int64_t b = 0; b < s.batch; ++b)
      op.inputs[5].mutable_data<int64_t>()[b] =
          static_cast<int64_t>(random() % static_cast<unsigned>(s.keys + 1));
  }
  op.expected = Loops(s, op).Gradients();
  op.rtol = op.atol = pairs ? 2e-2 : 5e-5;
  return op;
}

// The Attention whose gradient the case is.
OpCase ForwardOf(const Sizes& s, OpCase op) {
  op.expected = {Loops(s, op).Output()};
  op.op = "Attention";
  op.domain = "";
  op.inputs[3] = op.inputs[4];
  op.inputs[4] = Tensor();
  op.inputs.insert(op.inputs.begin() + 5, Tensor());
  return op;
}

void ExpectAttention(const Sizes& s, std::mt19937& random) {
  EXPECT_GT(ExpectFastKernels(ForwardOf(s, CaseOf(s, random))), 0);
  EXPECT_EQ(ExpectFastKernels(ForwardOf(s, CaseOf(s, random, true)), 0, Precision::kFast),
            testing::NumBf16Targets());
}

void ExpectGradients(const Sizes& s, std::mt19937& random) {
  EXPECT_GT(ExpectFastKernels(CaseOf(s, random)), 0);
  EXPECT_EQ(ExpectFastKernels(CaseOf(s, random, true), 0, Precision::kFast),
            testing::NumBf16Targets());
}

Sizes RandomSizes(std::mt19937& random, int64_t longest) {
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Sizes s;
  s.batch = draw(1, 2), s.kv_heads = draw(1, 3), s.group = draw(1, 3);
  s.queries = draw(1, longest), s.keys = draw(1, longest);
  s.size = draw(1, 70), s.v_size = draw(1, 70);
  s.packed = draw(0, 1) != 0, s.causal = draw(0, 2) == 0;
  if (draw(0, 3) == 0) s.left = draw(0, s.keys);
  if (draw(0, 3) == 0) s.right = draw(0, s.keys);
  if (draw(0, 2) == 0) s.scale = 0.4f;
  s.nonpad = draw(0, 3) == 0;
  s.boolean_mask = draw(0, 1) != 0;
  const int64_t rank = draw(0, 4);
  const int64_t full[] = {s.batch, s.q_heads(), s.queries, s.keys};
  for (int64_t axis = 4 - rank; axis < 4; ++axis)
    s.mask.push_back(axis < 3 && draw(0, 1) != 0 ? 1 : full[axis]);
  if (!s.mask.empty() && draw(0, 3) == 0) s.mask.back() = draw(1, s.keys);
  return s;
}

TEST(AttentionGradientKernels, EqualLoopsOverRandomShapes) {
  std::mt19937 random(41);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(absl::StrCat("seed 41, round ", round));
    ExpectGradients(RandomSizes(random, round % 3 == 0 ? 150 : 40), random);
  }
}

// Fewer keys are valid than there are queries: rows stand before the first key, and a window as
// large as the keys leaves none of them to the first rows.
TEST(AttentionGradientKernels, WindowsOfRowsBeforeTheKeys) {
  std::mt19937 random(43);
  for (const int64_t right : {0, 8, 9, 20, 30}) {
    Sizes s;
    s.batch = 3, s.kv_heads = s.group = 1;
    s.queries = 28, s.keys = 9, s.size = 5, s.v_size = 3;
    s.packed = s.causal = s.boolean_mask = false;
    s.nonpad = true;
    s.right = right;
    SCOPED_TRACE(absl::StrCat("seed 43, right window ", right));
    ExpectGradients(s, random);
    ExpectAttention(s, random);
  }
}

TEST(AttentionKernels, EqualLoopsOverRandomShapes) {
  std::mt19937 random(51);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(absl::StrCat("seed 51, round ", round));
    Sizes s = RandomSizes(random, round % 3 == 0 ? 150 : 40);
    if (round % 10 == 9) s.queries = 1, s.mask = {}, s.group = 1 + round / 2;
    ExpectAttention(s, random);
  }
}

// More queries than a block has rows, alone and by many heads.
TEST(AttentionGradientKernels, ManyBlocks) {
  std::mt19937 random(42);
  for (const bool causal : {false, true}) {
    for (const int64_t heads : {1, 8}) {
      Sizes s;
      s.kv_heads = heads, s.queries = 260, s.keys = 260, s.size = 16, s.v_size = 24;
      s.causal = causal;
      ExpectGradients(s, random);
      ExpectAttention(s, random);
    }
  }
}

// Blocks of many rows, the last of which has few.
TEST(AttentionKernels, FewRowsRemain) {
  std::mt19937 random(52);
  Sizes s;
  s.queries = 1211, s.keys = 20, s.size = 130, s.v_size = 3;
  ExpectAttention(s, random);
}

TEST(AttentionGradientKernels, LongRowsMakeSmallBlocks) {
  std::mt19937 random(43);
  Sizes s;
  s.queries = 61, s.keys = 5000, s.size = 8, s.v_size = 8, s.left = 3000, s.right = 4980;
  ExpectGradients(s, random);
  ExpectAttention(s, random);
}

// Scores of thousands: all but the largest of a row vanish.
TEST(AttentionGradientKernels, HugeScores) {
  std::mt19937 random(44);
  Sizes s;
  s.kv_heads = 2, s.queries = 30, s.keys = 40, s.size = 32, s.v_size = 8, s.scale = 100.0f;
  OpCase op = CaseOf(s, random, false, 4);
  op.rtol = op.atol = 1e-2;  // rounding of a score of thousands moves its probability
  EXPECT_GT(ExpectFastKernels(op), 0);
}

TEST(AttentionGradientKernels, WithoutKeysGradientsAreZero) {
  std::mt19937 random(45);
  Sizes s;
  s.queries = 7, s.keys = 33, s.size = 4, s.v_size = 5, s.mask = {7, 33};
  OpCase op = CaseOf(s, random);
  std::fill_n(op.inputs[4].mutable_data<float>(), op.inputs[4].num_elements(),
              -std::numeric_limits<float>::infinity());
  for (Tensor& expected : op.expected)
    std::fill_n(expected.mutable_data<float>(), expected.num_elements(), 0.0f);
  op.rtol = op.atol = 0;
  EXPECT_GT(ExpectFastKernels(op), 0);
}

TEST(AttentionGradientKernels, NoKeysOrNoQueries) {
  std::mt19937 random(48);
  Sizes s;
  s.queries = 200, s.keys = 0, s.size = 4, s.v_size = 5;
  EXPECT_GT(ExpectFastKernels(CaseOf(s, random)), 0);
  s.queries = 0, s.keys = 9;
  EXPECT_GT(ExpectFastKernels(CaseOf(s, random)), 0);
}

TEST(AttentionGradientKernels, OutputsThatNobodyWants) {
  std::mt19937 random(46);
  Sizes s;
  s.kv_heads = 2, s.queries = 20, s.keys = 50, s.size = 12, s.v_size = 9;
  const OpCase all = CaseOf(s, random);
  for (size_t wanted = 0; wanted < 3; ++wanted) {
    OpCase op = all;
    for (size_t i = 0; i < 3; ++i)
      if (i != wanted) op.expected[i] = Tensor();
    EXPECT_GT(ExpectFastKernels(op), 0);
  }
}

TEST(AttentionGradientKernels, ShapesThatDoNotFitAreErrors) {
  std::mt19937 random(47);
  Sizes s;
  s.queries = 3, s.keys = 4, s.size = 2, s.v_size = 5;
  OpCase op = CaseOf(s, random);
  op.inputs[3] = RandomFloats({1, 1, 3, 2}, random);
  for (const KernelEntry& entry : CpuKernels()) {
    if (entry.op != op.op) continue;
    const absl::Status status = testing::RunKernel(entry, op).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) << status;
  }
}

}  // namespace
}  // namespace onward::kernels

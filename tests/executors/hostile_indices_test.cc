// Tensors that hold indices, axes, sizes and counts, out of range while the model runs: each is
// refused with the node's name and the reason.
#include <limits>
#include <ostream>

#include "executors/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Tensor Ints(std::initializer_list<int64_t> values) {
  return Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values);
}
Tensor Ints(DimsView dims, std::initializer_list<int64_t> values) {
  return Tensor::Of<int64_t>(dims, values);
}
Tensor Scalar(int64_t value) { return Tensor::Scalar<int64_t>(value); }

struct Case {
  const char* name;
  const char* signature;  // of the inputs besides `float[2,3] x`
  const char* node;
  std::vector<Tensor> inputs;
  const char* why;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const std::vector<Case>& Cases() {
  static const auto* cases = new std::vector<Case>{
      {"Gather",
       "int64[n] i",
       "y = Gather (x, i)",
       {Ints({2})},
       "index 2 at position 0 is out of range for an axis of size 2"},
      {"GatherNegative",
       "int64[n] i",
       "y = Gather (x, i)",
       {Ints({-3})},
       "index -3 at position 0 is out of range for an axis of size 2"},
      {"GatherFar",
       "int64[n] i",
       "y = Gather (x, i)",
       {Ints({kMin})},
       "index -9223372036854775808 at position 0 is out of range for an axis of size 2"},
      {"GatherElements",
       "int64[n,m] i",
       "y = GatherElements (x, i)",
       {Ints({1, 1}, {2})},
       "index 2 at position 0 is out of range for an axis of size 2"},
      {"GatherND",
       "int64[n,m] i",
       "y = GatherND (x, i)",
       {Ints({1, 2}, {0, 3})},
       "index 3 at position 1 is out of range for an axis of size 3"},
      {"GatherNDFar",
       "int64[n,m] i",
       "y = GatherND (x, i)",
       {Ints({1, 1}, {kMax})},
       "index 9223372036854775807 at position 0 is out of range for an axis of size 2"},
      {"ScatterElements",
       "int64[n,m] i",
       "y = ScatterElements (x, i, x)",
       {Ints({2, 3}, {0, 1, 2, 0, 0, 0})},
       "index 2 at position 2 is out of range for an axis of size 2"},
      {"ScatterND",
       "int64[n,m] i, float[n,3] j",
       "y = ScatterND (x, i, j)",
       {Ints({1, 1}, {-3}), Tensor::Of<float>({1, 3}, {1, 2, 3})},
       "index -3 at position 0 is out of range for an axis of size 2"},
      {"SliceStepZero",
       "int64[n] i, int64[n] j",
       "y = Slice (x, i, i, i, j)",
       {Ints({0}), Ints({0})},
       "the step of axis 0 is 0"},
      {"SliceAxis",
       "int64[n] i, int64[n] j",
       "y = Slice (x, i, i, j)",
       {Ints({0}), Ints({2})},
       "axis 2 is out of range for rank 2"},
      {"SliceLengths",
       "int64[n] i, int64[m] j",
       "y = Slice (x, i, j)",
       {Ints({0}), Ints({1, 1})},
       "input 2 has 2 elements, starts has 1"},
      {"PadNegative",
       "int64[n] i",
       "y = Pad (x, i)",
       {Ints({0, -4, 0, 0})},
       "pads -4 and 0 of axis 1 do not fit its size 3"},
      {"PadHuge",
       "int64[n] i",
       "y = Pad (x, i)",
       {Ints({0, kMax, 0, kMax})},
       "pads 9223372036854775807 and 9223372036854775807 of axis 1 do not fit its size 3"},
      {"PadCount",
       "int64[n] i",
       "y = Pad (x, i)",
       {Ints({1, 1, 1})},
       "pads has 3 elements for 2 axes"},
      {"ReflectEmpty",
       "float[n,m] z, int64[n] i",
       "y = Pad <mode=\"reflect\"> (z, i)",
       {Tensor(DType::kFloat32, {4, 0}), Ints({0, 1, 0, 1})},
       "axis 1 has nothing to repeat"},
      {"ReshapeSize",
       "int64[n] i",
       "y = Reshape (x, i)",
       {Ints({4, 2})},
       "cannot reshape [2,3] to [4,2]: the target has another number of elements"},
      {"ReshapeTwoUnknown",
       "int64[n] i",
       "y = Reshape (x, i)",
       {Ints({-1, -1})},
       "cannot reshape [2,3] to [-1,-1]: the target has more than one -1"},
      {"ReshapeNegative",
       "int64[n] i",
       "y = Reshape (x, i)",
       {Ints({-2, 3})},
       "cannot reshape [2,3] to [-2,3]: the target has a negative size"},
      {"ReshapeOverflow",
       "int64[n] i",
       "y = Reshape (x, i)",
       {Ints({kMax, kMax, -1})},
       "cannot reshape [2,3] to [9223372036854775807,9223372036854775807,-1]: the target has too "
       "many elements"},
      {"ReshapeZeroBeyond",
       "int64[n] i",
       "y = Reshape (x, i)",
       {Ints({2, 3, 0})},
       "cannot reshape [2,3] to [2,3,0]: the target copies a dimension that is not there"},
      {"ExpandShape",
       "int64[n] i",
       "y = Expand (x, i)",
       {Ints({2, 4})},
       "shapes [2,3] and [2,4] do not broadcast"},
      {"ExpandNegative",
       "int64[n] i",
       "y = Expand (x, i)",
       {Ints({-5, 1, 1})},
       "shape [-5,1,1] has a negative size"},
      {"ExpandHuge",
       "int64[n] i",
       "y = Expand (x, i)",
       {Ints({int64_t{1} << 50, 1, 1})},
       "out of memory: 27021597764222976 bytes are needed"},
      {"TileNegative", "int64[n] i", "y = Tile (x, i)", {Ints({1, -1})}, "repeats: -1 for axis 1"},
      {"TileHuge",
       "int64[n] i",
       "y = Tile (x, i)",
       {Ints({kMax, 2})},
       "repeats: 9223372036854775807 for axis 0"},
      {"TileCount",
       "int64[n] i",
       "y = Tile (x, i)",
       {Ints({1})},
       "repeats has 1 elements for rank 2"},
      {"OneHotDepth",
       "int64 i, float[2] v",
       "k = Constant <value_ints=[0]> () y = OneHot (k, i, v)",
       {Scalar(-1), Tensor::Of<float>({2}, {0, 1})},
       "depth is -1"},
      {"OneHotHuge",
       "int64 i, float[2] v",
       "k = Constant <value_ints=[0]> () y = OneHot (k, i, v)",
       {Scalar(kMax), Tensor::Of<float>({2}, {0, 1})},
       "shape [1,9223372036854775807] needs more than 2^60 bytes"},
      {"RangeZero",
       "int64 i, int64 j",
       "y = Range (i, j, i)",
       {Scalar(0), Scalar(5)},
       "delta is 0"},
      {"RangeHuge",
       "int64 i, int64 j, int64 k",
       "y = Range (i, j, k)",
       {Scalar(kMin), Scalar(kMax), Scalar(1)},
       "the range has too many elements"},
      {"ConstantOfShapeNegative",
       "int64[n] i",
       "y = ConstantOfShape (i)",
       {Ints({2, -1})},
       "shape [2,-1] has a negative dimension"},
      {"ConstantOfShapeHuge",
       "int64[n] i",
       "y = ConstantOfShape (i)",
       {Ints({kMax, kMax})},
       "shape [9223372036854775807,9223372036854775807] has more than 2^63 elements"},
      {"TopKLarge", "int64[1] i", "y, z = TopK (x, i)", {Ints({4})}, "K is 4, axis 1 has size 3"},
      {"TopKNegative",
       "int64[1] i",
       "y, z = TopK (x, i)",
       {Ints({-1})},
       "K is -1, axis 1 has size 3"},
      {"SqueezeAxis",
       "int64[n] i",
       "y = Squeeze (x, i)",
       {Ints({5})},
       "axes: 5 is out of range for rank 2"},
      {"SqueezeNotOne",
       "int64[n] i",
       "y = Squeeze (x, i)",
       {Ints({0})},
       "axes: axis 0 of shape [2,3] is not of size 1"},
      {"UnsqueezeTwice",
       "int64[n] i",
       "y = Unsqueeze (x, i)",
       {Ints({1, 1})},
       "axes: 1 is given twice"},
      {"UnsqueezeAxis",
       "int64[n] i",
       "y = Unsqueeze (x, i)",
       {Ints({-9})},
       "axes: -9 is out of range for rank 3"},
      {"SplitSum",
       "int64[n] i",
       "y, z = Split (x, i)",
       {Ints({1, 2})},
       "split [1,2] does not sum to the axis's size 2"},
      {"SplitNegative",
       "int64[n] i",
       "y, z = Split (x, i)",
       {Ints({-1, 3})},
       "split [-1,3] does not sum to the axis's size 2"},
      {"SplitOverflow",
       "int64[n] i",
       "y, z = Split (x, i)",
       {Ints({kMax, kMin})},
       "split [9223372036854775807,-9223372036854775808] does not sum to the axis's size 2"},
      {"ReduceAxis",
       "int64[n] i",
       "y = ReduceSum (x, i)",
       {Ints({2})},
       "axis 2 is out of range for rank 2"},
      {"CumSumAxis",
       "int64 i",
       "y = CumSum (x, i)",
       {Scalar(-3)},
       "axis -3 is out of range for rank 2"},
      {"ResizeNegative", "int64[2] i", "y = Resize (x, , , i)", {Ints({2, -3})}, ""},
      {"ResizeScale",
       "float[n] i",
       "y = Resize (x, , i)",
       {Tensor::Of<float>({2}, {1.0f, -1.0f})},
       "scales[1] is -1"},
      {"ResizeHuge",
       "float[n] i",
       "y = Resize (x, , i)",
       {Tensor::Of<float>({2}, {1e30f, 1e30f})},
       "scales[0] is 1e+30"},
      {"ResizeNaN",
       "float[n] i",
       "y = Resize (x, , i)",
       {Tensor::Of<float>({2}, {1.0f, std::numeric_limits<float>::quiet_NaN()})},
       "scales[1] is nan"},
      {"ReverseSequence",
       "int64[n] i",
       "y = ReverseSequence <batch_axis=0, time_axis=1> (x, i)",
       {Ints({1, 4})},
       "sequence_lens[1] is 4, the time axis has 3"},
      {"SequenceAt",
       "int64 i",
       "s = SequenceConstruct (x, x) y = SequenceAt (s, i)",
       {Scalar(2)},
       "position 2 is out of range for a sequence of 2"},
      {"SequenceErase",
       "int64 i",
       "s = SequenceConstruct (x, x) t = SequenceErase (s, i) y = SequenceLength (t)",
       {Scalar(-3)},
       "position -3 is out of range for a sequence of 2"},
      {"SequenceInsert",
       "int64 i",
       "s = SequenceConstruct (x) t = SequenceInsert (s, x, i) y = SequenceLength (t)",
       {Scalar(2)},
       "position 2 is out of range for a sequence of 1"},
      {"MaxUnpool",
       "float[1,1,1,1] z, int64[n,m,a,b] i",
       "y = MaxUnpool <kernel_shape=[2,2]> (z, i)",
       {Tensor::Of<float>({1, 1, 1, 1}, {1}), Ints({1, 1, 1, 1}, {4})},
       "index 4 at 0 is outside the unpooled 4 elements"},
      {"LossLabel",
       "int64[n] i",
       "y = NegativeLogLikelihoodLoss (x, i)",
       {Ints({0, 3})},
       "label 3 at position 1 is out of range for 3 classes"},
      {"TensorScatter",
       "float[2,4,1] z, float[2,1,1] u, int64[2] i",
       "y = TensorScatter <axis=1> (z, u, i)",
       {Tensor(DType::kFloat32, {2, 4, 1}), Tensor(DType::kFloat32, {2, 1, 1}), Ints({0, 4})},
       "write_indices[1] is 4: 1 positions do not fit an axis of size 4 from there"},
      {"Col2Im",
       "float[1,4,n] z, int64[2] i, int64[2] j",
       "y = Col2Im (z, i, j)",
       {Tensor(DType::kFloat32, {1, 4, 4}), Ints({kMax, kMax}), Ints({2, 2})},
       "shape [1,1,9223372036854775807,9223372036854775807] has more than 2^63 elements"},
      {"BitShiftCompress",
       "bool[n] i",
       "y = Compress <axis=0> (x, i)",
       {Tensor::Of<bool>({3}, {true, true, true})},
       "condition selects position 2 of an axis of size 2"},
      {"LoopCount",
       "int64[n] i, bool c",
       "y = Loop (i, c, x) <body = b (int64 k, bool d, float[2,3] v) => (bool e, float[2,3] w) "
       "{ e = Identity(d) w = Neg(v) }>",
       {Ints({1, 2}), Tensor::Scalar<bool>(true)},
       "the trip count must have one element"},
      {"WindowSize", "int64 i", "y = HannWindow (i)", {Scalar(-1)}, "size is -1, is out of range"},
      {"DftLength",
       "float[1,4,1] z, int64 i",
       "y = DFT (z, i)",
       {Tensor(DType::kFloat32, {1, 4, 1}), Scalar(-4)},
       "dft_length is -4, is out of range"},
  };
  return *cases;
}

class HostileIndicesTest : public ::testing::TestWithParam<Case> {};

TEST_P(HostileIndicesTest, IsRefused) {
  const Case& c = GetParam();
  const std::string text =
      std::string("g (float[2,3] x, ") + c.signature + ") => (y) { " + c.node + " }";
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const bool reference : {false, true}) {
    SessionOptions options;
    options.reference_kernels = reference;
    options.max_memory = int64_t{256} << 20;
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*model, options);
    ASSERT_TRUE(session.ok()) << session.status();
    std::vector<Value> inputs = {Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6})};
    for (const Tensor& input : c.inputs) inputs.emplace_back(input);
    std::vector<Value> outputs((*session)->outputs().size());
    const absl::Status status = (*session)->Run(inputs, absl::MakeSpan(outputs));
    ASSERT_FALSE(status.ok());
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr(c.why));
    EXPECT_THAT(message, ::testing::StartsWith("["));
  }
}

INSTANTIATE_TEST_SUITE_P(Hostile, HostileIndicesTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace onward

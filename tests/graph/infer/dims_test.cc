// Dims that ONNX's inference functions leave open. Expected sizes follow the standard's formulas.
#include <gtest/gtest.h>

#include "onward/builder.h"

namespace onward {
namespace {

using Ints = std::vector<int64_t>;

std::string TypeString(const Expr& expr) { return expr.type().ToString(); }

TEST(FillDims, ConvolutionsAndPools) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 3, "h", "w"});
  const Expr w = b.Constant(Tensor(DType::kFloat32, {8, 3, 3, 3}));
  const Expr same = b.Op("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{1, 2}}});
  EXPECT_EQ(TypeString(same), "float32[n,8,h,(w + 1)/2]");
  const Expr dilated = b.Op("Conv", {x, w}, {{"dilations", Ints{2, 1}}});
  EXPECT_EQ(TypeString(dilated), "float32[n,8,h - 4,w - 2]");
  const Expr automatic =
      b.Op("Conv", {x, w}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}});
  EXPECT_EQ(TypeString(automatic), "float32[n,8,(h + 1)/2,(w + 1)/2]");
  const Expr pool = b.Op("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  EXPECT_EQ(TypeString(pool), "float32[n,3,h/2,w/2]");
  const Expr up = b.Op("ConvTranspose", {x, b.Constant(Tensor(DType::kFloat32, {3, 5, 2, 2}))},
                       {{"strides", Ints{2, 2}}});
  EXPECT_EQ(TypeString(up), "float32[n,5,2*h,2*w]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(FillDims, Layout) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", "s", 6});
  const Expr y = b.Input("y", DType::kFloat32, {"n", "t", 6});
  EXPECT_EQ(TypeString(expr::Concat({x, y}, 1)), "float32[n,s + t,6]");
  EXPECT_EQ(TypeString(b.Op("Flatten", {x}, {{"axis", int64_t{2}}})), "float32[n*s,6]");
  EXPECT_EQ(TypeString(Reshape(x, Ints{-1, 3})), "float32[2*n*s,3]");
  EXPECT_EQ(TypeString(Reshape(x, Ints{0, -1})), "float32[n,6*s]");
  EXPECT_EQ(TypeString(b.Op("Tile", {x, b.Ints({2, 1, 3})})), "float32[2*n,s,18]");
  EXPECT_EQ(TypeString(b.Op("Pad", {x, b.Ints({0, 1, 0, 0, 2, 0})})), "float32[n,s + 3,6]");
  EXPECT_EQ(TypeString(Slice(x, {0}, {-1}, {1})), "float32[n,max(0, s - 1),6]");
  EXPECT_EQ(TypeString(Slice(x, {1}, {INT64_MAX}, {1})), "float32[n,max(0, s - 1),6]");
  EXPECT_EQ(TypeString(Slice(x, {-1}, {INT64_MIN}, {1}, {-1})), "float32[n,s,6]");
  EXPECT_EQ(
      TypeString(b.Ops("Split", {x}, 2, {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}})[1]),
      "float32[n,s - ((s + 1)/2),6]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

// The rank of a reduction whose axes are not known.
TEST(FillDims, Reductions) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", "s", 6});
  const Expr one = b.Input("one", DType::kInt64, {1}), any = b.Input("any", DType::kInt64, {"k"}),
             none = b.Input("none", DType::kInt64, {0});
  const auto reduced = [&](const Expr& axes, int64_t keep_dims, int64_t noop = 0) {
    return b.Op("ReduceSum", {x, axes}, {{"keepdims", keep_dims}, {"noop_with_empty_axes", noop}});
  };
  EXPECT_EQ(reduced(any, 1).type().shape->size(), 3u);
  EXPECT_EQ(reduced(one, 0).type().shape->size(), 2u);
  EXPECT_EQ(TypeString(reduced(none, 0)), "float32[]");
  EXPECT_EQ(TypeString(reduced(none, 0, 1)), "float32[n,s,6]");
  EXPECT_FALSE(reduced(any, 0).type().shape.has_value());
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(FillDims, Broadcasting) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 1, "s"});
  const Expr y = b.Input("y", DType::kFloat32, {"t", 1});
  EXPECT_EQ(TypeString(x + y), "float32[n,t,s]");
  const Expr z = b.Input("z", DType::kFloat32, {"u"});
  EXPECT_EQ(TypeString((x + z) + z), "float32[n,1,broadcast(s, u)]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(FillDims, SizesOfDataAreFresh) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 4});
  const Expr where = b.Op("NonZero", {x});
  EXPECT_EQ(TypeString(Transpose(where)), "int64[NonZero#1,2]");
  const Expr again = b.Op("NonZero", {x});
  EXPECT_EQ(TypeString(expr::Concat({where, again}, 1)), "int64[2,NonZero#1 + NonZero_1#1]");
}

TEST(FillDims, OpsWithoutInferenceFunction) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 4});
  EXPECT_EQ(TypeString(b.Op("MeanVarianceNormalization", {x}, {{"axes", Ints{0}}})),
            "float32[n,4]");
  EXPECT_EQ(TypeString(b.Op("LinearRegressor", {x},
                            {{"coefficients", std::vector<float>(8)}, {"targets", int64_t{2}}},
                            "ai.onnx.ml")),
            "float32[n,2]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

}  // namespace
}  // namespace onward

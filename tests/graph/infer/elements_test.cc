// Shapes computed in the graph, as exporters write them.
#include <gtest/gtest.h>

#include "onward/builder.h"

namespace onward {
namespace {

std::string TypeString(const Expr& expr) { return expr.type().ToString(); }

Expr Reshaped(GraphBuilder& b, const Expr& x, const std::vector<Expr>& parts) {
  return b.Op("Reshape", {x, expr::Concat(parts, 0)});
}

TEST(Elements, ReshapeToHeads) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"batch", "seq", 768});
  const Expr shape = Shape(x);
  const Expr batch = Unsqueeze(Gather(shape, b.Scalar(0, DType::kInt64)), {0});
  const Expr seq = Slice(shape, {1}, {2}, {0});
  const Expr width = Gather(shape, b.Ints({2})) / 12;
  const Expr heads = Transpose(Reshaped(b, x, {batch, seq, b.Ints({12}), width}), {0, 2, 1, 3});
  EXPECT_EQ(TypeString(heads), "float32[batch,12,seq,64]");
  EXPECT_EQ(TypeString(Reshaped(b, heads, {batch * 12, b.Ints({-1}), b.Ints({64})})),
            "float32[12*batch,seq,64]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(Elements, ExpandWithAskedSizes) {
  // torch.expand: Where(shape == -1, ones, shape).
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {1, 1, 1, "past + 1"});
  const Expr y = b.Input("y", DType::kFloat32, {"batch", "past"});
  const Expr asked = expr::Concat({Shape(y, 0, 1), b.Ints({1, -1, -1})}, 0);
  const Expr ones =
      b.Op("ConstantOfShape", {b.Ints({4})}, {{"value", Tensor::Of<int64_t>({1}, {1})}});
  const Expr sizes = Where(Equal(asked, ones * -1), ones, asked);
  EXPECT_EQ(TypeString(Expand(x, sizes)), "float32[batch,1,1,past + 1]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(Elements, SizesInFloatingPoint) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {1, 3, "h", "w"});
  const Expr sizes = Cast(Shape(x, 2, 4), DType::kFloat32);
  const Expr half = Cast(Floor(sizes * 0.5), DType::kInt64);
  const Expr resized = b.Op("Resize", {x, {}, {}, expr::Concat({Shape(x, 0, 2), half}, 0)},
                            {{"mode", std::string("linear")}});
  EXPECT_EQ(TypeString(resized), "float32[1,3,h/2,w/2]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(Elements, RangeOfPositions) {
  GraphBuilder b;
  const Expr past = b.Input("past", DType::kFloat32, {"past", 8});
  const Expr ids = b.Input("ids", DType::kInt64, {"batch", "seq"});
  const Expr start = Gather(Shape(past), b.Scalar(0, DType::kInt64));
  const Expr end = start + Gather(Shape(ids), b.Scalar(1, DType::kInt64));
  const Expr positions = b.Op("Range", {start, end, b.Scalar(1, DType::kInt64)});
  EXPECT_EQ(TypeString(positions), "int64[seq]");
  const Expr zero = b.Scalar(0, DType::kInt64);
  EXPECT_EQ(TypeString(b.Op("Range", {zero, end, b.Scalar(2, DType::kInt64)})),
            "int64[(past + seq + 1)/2]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(Elements, MoreOpsOnShapes) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"a", "b", 4});
  const Expr shape = Shape(x);
  const auto ones_of = [&](const Expr& sizes) { return b.Op("ConstantOfShape", {sizes}); };
  EXPECT_EQ(TypeString(ones_of(Max(shape, b.Ints({1})))), "float32[max(1, a),max(1, b),4]");
  EXPECT_EQ(TypeString(ones_of(shape + shape)), "float32[2*a,2*b,8]");
  EXPECT_EQ(TypeString(ones_of(ReduceProd(shape))), "float32[4*a*b]");
  EXPECT_EQ(TypeString(ones_of(Unsqueeze(Size(x), {0}))), "float32[4*a*b]");
  EXPECT_EQ(TypeString(ones_of(Gather(shape, b.Ints({-1, 0})))), "float32[4,a]");
  EXPECT_EQ(TypeString(ones_of(Slice(shape, {-1}, {INT64_MIN}, {0}, {-1}))), "float32[4,b,a]");
  const std::vector<Expr> parts = Split(shape, {1, 2}, 0);
  EXPECT_EQ(TypeString(ones_of(parts[1])), "float32[b,4]");
  const Expr scattered =
      b.Op("ScatterND", {shape, Reshape(b.Ints({1}), std::vector<int64_t>{1, 1}), b.Ints({7})});
  EXPECT_EQ(TypeString(ones_of(scattered)), "float32[a,7,4]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

}  // namespace
}  // namespace onward

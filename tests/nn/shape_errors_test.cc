// What does not fit when a graph is written names the op, the shapes and the module.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/nn/conv.h"
#include "onward/nn/linear.h"

namespace onward::nn {
namespace {

using namespace expr;  // NOLINT
using ::testing::AllOf;
using ::testing::HasSubstr;

using Write = std::function<Expr(const Expr& x, const Expr& y)>;

// Of x float32[batch,3,4] and y float32[5,6].
std::string Error(const Write& write) {
  GraphBuilder builder("wrong");
  const Expr x = builder.Input("x", DType::kFloat32, {"batch", 3, 4});
  const Expr y = builder.Input("y", DType::kFloat32, {5, 6});
  builder.Output("z", write(x, y));
  const auto model = builder.Build();
  return model.ok() ? "OK" : std::string(model.status().message());
}

TEST(ShapeErrors, NameOpAndShapes) {
  const std::pair<const char*, Write> cases[] = {
      {"Add", [](const Expr& x, const Expr& y) { return x + y; }},
      {"Mul", [](const Expr& x, const Expr& y) { return x * y; }},
      {"MatMul", [](const Expr& x, const Expr& y) { return MatMul(x, y); }},
      {"Where", [](const Expr& x, const Expr& y) { return Where(Greater(x, x), x, y); }},
      {"Einsum",
       [](const Expr& x, const Expr& y) {
         return Op("Einsum", {x, y}, {{"equation", std::string("bij,jk->bik")}});
       }},
      {"Gemm",
       [](const Expr& x, const Expr& y) {
         return Op("Gemm", {Reshape(x, {-1, 4}), y});
       }},
      {"Concat",
       [](const Expr& x, const Expr& y) {
         return expr::Concat({x, y}, 0);
       }},
      {"Conv",
       [](const Expr& x, const Expr& y) {
         return Op("Conv", {x, Reshape(y, {3, 10, 1})});
       }},
      {"Expand", [](const Expr& x, const Expr& y) { return Expand(x, Shape(y, 0, 2)); }},
      {"Reshape",
       [](const Expr&, const Expr& y) {
         return Reshape(y, {7, 5});
       }},
      {"Transpose",
       [](const Expr& x, const Expr&) {
         return Transpose(x, {0, 1});
       }},
      {"LayerNormalization",
       [](const Expr& x, const Expr& y) {
         return Op("LayerNormalization", {x, y});
       }},
      {"LSTM", [](const Expr& x, const Expr& y) {
         return Ops("LSTM", {x, Reshape(y, {1, 10, 3}), Reshape(y, {1, 10, 3})}, 1)[0];
       }}};
  for (const auto& [op, write] : cases) {
    const std::string error = Error(write);
    EXPECT_THAT(error, AllOf(HasSubstr(op), ::testing::AnyOf(HasSubstr("float32[batch,3,4]"),
                                                             HasSubstr("float32[5,6]"))))
        << op;
  }
  EXPECT_THAT(Error([](const Expr& x, const Expr& y) { return x + y; }),
              HasSubstr("[Add 'Add'] Incompatible dimensions; inputs: 'x' float32[batch,3,4], 'y' "
                        "float32[5,6]"));
}

struct Block : nn::Layer {
  explicit Block(nn::Module& parent, std::string_view name) : Layer(parent, name) {}
  Expr Forward(const Expr& x) override { return fc2(Relu(fc1(x))); }
  nn::Linear fc1{*this, "fc1", 8, 16}, fc2{*this, "fc2", 12, 4};
};

struct Adds : nn::Layer {
  explicit Adds(nn::Module& parent) : Layer(parent, "adds") {}
  Expr Forward(const Expr& x) override {
    const Scope scope(*this);
    return x + Transpose(x, {1, 0});
  }
};

std::string ModuleError(const std::function<Expr(nn::Module& root, const Expr& x)>& write,
                        std::initializer_list<DimArg> dims) {
  GraphBuilder builder("wrong");
  nn::Module root(builder);
  builder.Output("z", write(root, builder.Input("x", DType::kFloat32, dims)));
  const auto model = builder.Build();
  return model.ok() ? "OK" : std::string(model.status().message());
}

TEST(ShapeErrors, NameTheModule) {
  EXPECT_THAT(ModuleError([](nn::Module& root, const Expr& x) { return Block(root, "net.0")(x); },
                          {"batch", 9}),
              HasSubstr("module 'net.0.fc1': a linear layer of 8 features cannot take "
                        "float32[batch,9]"));
  EXPECT_THAT(ModuleError([](nn::Module& root, const Expr& x) { return Block(root, "net.0")(x); },
                          {"batch", 8}),
              HasSubstr("module 'net.0.fc2': a linear layer of 12 features cannot take "
                        "float32[batch,16]"));
  EXPECT_THAT(ModuleError([](nn::Module& root,
                             const Expr& x) { return nn::Conv2d(root, "stem", 3, 8, 3)(x); },
                          {"batch", 4, 32, 32}),
              AllOf(HasSubstr("module 'stem': "), HasSubstr("float32[batch,4,32,32]")));
  EXPECT_THAT(ModuleError([](nn::Module& root, const Expr& x) { return Adds(root)(x); }, {3, 5}),
              AllOf(HasSubstr("module 'adds': [Add 'adds/Add'] Incompatible dimensions"),
                    HasSubstr("float32[3,5]"), HasSubstr("float32[5,3]")));
}

}  // namespace
}  // namespace onward::nn

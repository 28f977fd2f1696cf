#include "onward/functions.h"

#include <utility>

namespace onward::expr {
namespace {

// The innermost sink: a body's, where inputs are of the body and of graphs around it.
ExprSink* SinkOf(const std::vector<Expr>& inputs) {
  ExprSink* sink = nullptr;
  for (const Expr& input : inputs) {
    if (input.sink() == nullptr) continue;
    if (sink == nullptr || input.sink()->depth() > sink->depth()) sink = input.sink();
  }
  return sink;
}

Expr Reduce(std::string_view op, const Expr& x, const std::vector<int64_t>& axes, bool keep_dims) {
  if (x.sink() == nullptr) return {};
  const Expr over = axes.empty() ? Expr() : x.sink()->Ints(axes);
  return Op(op, {x, over}, {{"keepdims", int64_t{keep_dims}}});
}

}  // namespace

Expr Op(std::string_view op, const std::vector<Expr>& inputs, Attributes attributes,
        std::string_view domain) {
  return Ops(op, inputs, 1, std::move(attributes), domain)[0];
}

std::vector<Expr> Ops(std::string_view op, const std::vector<Expr>& inputs, int num_outputs,
                      Attributes attributes, std::string_view domain) {
  ExprSink* sink = SinkOf(inputs);
  if (sink == nullptr) return std::vector<Expr>(static_cast<size_t>(num_outputs));
  return sink->Ops(op, inputs, num_outputs, std::move(attributes), domain);
}

Expr ScalarLike(const Expr& like, double value) {
  if (!like.valid()) return like;
  return like.sink()->Scalar(value, like.dtype());
}

Expr ZerosLike(const Expr& like) { return Expand(ScalarLike(like, 0), Shape(like)); }

Expr operator+(const Expr& a, const Expr& b) { return Op("Add", {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return Op("Sub", {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return Op("Mul", {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return Op("Div", {a, b}); }
Expr operator-(const Expr& a) { return Op("Neg", {a}); }
Expr operator+(const Expr& a, double b) { return a + ScalarLike(a, b); }
Expr operator-(const Expr& a, double b) { return a - ScalarLike(a, b); }
Expr operator*(const Expr& a, double b) { return a * ScalarLike(a, b); }
Expr operator/(const Expr& a, double b) { return a / ScalarLike(a, b); }
Expr operator+(double a, const Expr& b) { return ScalarLike(b, a) + b; }
Expr operator-(double a, const Expr& b) { return ScalarLike(b, a) - b; }
Expr operator*(double a, const Expr& b) { return ScalarLike(b, a) * b; }
Expr operator/(double a, const Expr& b) { return ScalarLike(b, a) / b; }

Expr Equal(const Expr& a, const Expr& b) { return Op("Equal", {a, b}); }
Expr Less(const Expr& a, const Expr& b) { return Op("Less", {a, b}); }
Expr LessOrEqual(const Expr& a, const Expr& b) { return Op("LessOrEqual", {a, b}); }
Expr Greater(const Expr& a, const Expr& b) { return Op("Greater", {a, b}); }
Expr GreaterOrEqual(const Expr& a, const Expr& b) { return Op("GreaterOrEqual", {a, b}); }
Expr And(const Expr& a, const Expr& b) { return Op("And", {a, b}); }
Expr Or(const Expr& a, const Expr& b) { return Op("Or", {a, b}); }
Expr Max(const Expr& a, const Expr& b) { return Op("Max", {a, b}); }
Expr Min(const Expr& a, const Expr& b) { return Op("Min", {a, b}); }
Expr Pow(const Expr& a, const Expr& b) { return Op("Pow", {a, b}); }
Expr CastLike(const Expr& a, const Expr& b) { return Op("CastLike", {a, b}); }
Expr MatMul(const Expr& a, const Expr& b) { return Op("MatMul", {a, b}); }
Expr Mod(const Expr& a, const Expr& b) {
  return Op("Mod", {a, b}, {{"fmod", int64_t{IsFloating(a.dtype())}}});
}
Expr Where(const Expr& condition, const Expr& yes, const Expr& no) {
  return Op("Where", {condition, yes, no});
}

Expr Abs(const Expr& x) { return Op("Abs", {x}); }
Expr Ceil(const Expr& x) { return Op("Ceil", {x}); }
Expr Cos(const Expr& x) { return Op("Cos", {x}); }
Expr Erf(const Expr& x) { return Op("Erf", {x}); }
Expr Exp(const Expr& x) { return Op("Exp", {x}); }
Expr Floor(const Expr& x) { return Op("Floor", {x}); }
Expr Identity(const Expr& x) { return Op("Identity", {x}); }
Expr Log(const Expr& x) { return Op("Log", {x}); }
Expr Reciprocal(const Expr& x) { return Op("Reciprocal", {x}); }
Expr Round(const Expr& x) { return Op("Round", {x}); }
Expr Sign(const Expr& x) { return Op("Sign", {x}); }
Expr Sin(const Expr& x) { return Op("Sin", {x}); }
Expr Sqrt(const Expr& x) { return Op("Sqrt", {x}); }
Expr Tanh(const Expr& x) { return Op("Tanh", {x}); }
Expr Relu(const Expr& x) { return Op("Relu", {x}); }
Expr Sigmoid(const Expr& x) { return Op("Sigmoid", {x}); }
Expr Not(const Expr& x) { return Op("Not", {x}); }

Expr Gelu(const Expr& x, std::string approximate) {
  return Op("Gelu", {x}, {{"approximate", std::move(approximate)}});
}
Expr LogSoftmax(const Expr& x, int64_t axis) { return Op("LogSoftmax", {x}, {{"axis", axis}}); }
Expr Softmax(const Expr& x, int64_t axis) { return Op("Softmax", {x}, {{"axis", axis}}); }
Expr Clip(const Expr& x, const Expr& low, const Expr& high) { return Op("Clip", {x, low, high}); }
Expr Cast(const Expr& x, DType to) { return Op("Cast", {x}, {{"to", static_cast<int64_t>(to)}}); }

Expr Gemm(const Expr& a, const Expr& b, const Expr& c, bool trans_a, bool trans_b, float alpha,
          float beta) {
  return Op("Gemm", {a, b, c},
            {{"transA", int64_t{trans_a}},
             {"transB", int64_t{trans_b}},
             {"alpha", alpha},
             {"beta", beta}});
}

Expr Concat(const std::vector<Expr>& parts, int64_t axis) {
  return Op("Concat", parts, {{"axis", axis}});
}
Expr Expand(const Expr& x, const Expr& shape) { return Op("Expand", {x, shape}); }
Expr Gather(const Expr& x, const Expr& indices, int64_t axis) {
  return Op("Gather", {x, indices}, {{"axis", axis}});
}
Expr Reshape(const Expr& x, const Expr& shape, bool allow_zero) {
  return Op("Reshape", {x, shape}, {{"allowzero", int64_t{allow_zero}}});
}
Expr Reshape(const Expr& x, const std::vector<int64_t>& shape, bool allow_zero) {
  return x.sink() == nullptr ? Expr() : Reshape(x, x.sink()->Ints(shape), allow_zero);
}
Expr Shape(const Expr& x) { return Op("Shape", {x}); }
Expr Shape(const Expr& x, int64_t start, int64_t end) {
  return Op("Shape", {x}, {{"start", start}, {"end", end}});
}
Expr Size(const Expr& x) { return Op("Size", {x}); }

Expr Slice(const Expr& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
           const std::vector<int64_t>& axes, const std::vector<int64_t>& steps) {
  ExprSink* sink = x.sink();
  if (sink == nullptr) return {};
  return Op("Slice", {x, sink->Ints(starts), sink->Ints(ends), sink->Ints(axes),
                      steps.empty() ? Expr() : sink->Ints(steps)});
}
std::vector<Expr> Split(const Expr& x, const std::vector<int64_t>& sizes, int64_t axis) {
  if (x.sink() == nullptr) return std::vector<Expr>(sizes.size());
  return Ops("Split", {x, x.sink()->Ints(sizes)}, static_cast<int>(sizes.size()), {{"axis", axis}});
}
Expr Squeeze(const Expr& x, const std::vector<int64_t>& axes) {
  return x.sink() == nullptr ? Expr() : Op("Squeeze", {x, x.sink()->Ints(axes)});
}
Expr Transpose(const Expr& x, const std::vector<int64_t>& perm) {
  return Op("Transpose", {x}, perm.empty() ? Attributes() : Attributes{{"perm", perm}});
}
Expr Unsqueeze(const Expr& x, const std::vector<int64_t>& axes) {
  return x.sink() == nullptr ? Expr() : Op("Unsqueeze", {x, x.sink()->Ints(axes)});
}

Expr ReduceMax(const Expr& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return Reduce("ReduceMax", x, axes, keep_dims);
}
Expr ReduceMean(const Expr& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return Reduce("ReduceMean", x, axes, keep_dims);
}
Expr ReduceMin(const Expr& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return Reduce("ReduceMin", x, axes, keep_dims);
}
Expr ReduceProd(const Expr& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return Reduce("ReduceProd", x, axes, keep_dims);
}
Expr ReduceSum(const Expr& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return Reduce("ReduceSum", x, axes, keep_dims);
}
Expr ReduceSumOver(const Expr& x, const Expr& axes, bool keep_dims) {
  return Op("ReduceSum", {x, axes},
            {{"keepdims", int64_t{keep_dims}}, {"noop_with_empty_axes", int64_t{1}}});
}

}  // namespace onward::expr

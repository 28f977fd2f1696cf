// Operators and frequent ops on expressions, by ONNX's names. Found by argument-dependent lookup:
// `Relu(MatMul(x, w) + b)`. Axes and shapes given as numbers become constants.
#pragma once

#include <string>
#include <vector>

#include "onward/expr.h"

namespace onward::expr {

// The standard's broadcasting. A number takes the other operand's dtype.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator+(const Expr& a, double b);
Expr operator-(const Expr& a, double b);
Expr operator*(const Expr& a, double b);
Expr operator/(const Expr& a, double b);
Expr operator+(double a, const Expr& b);
Expr operator-(double a, const Expr& b);
Expr operator*(double a, const Expr& b);
Expr operator/(double a, const Expr& b);

// A number of `like`'s dtype.
Expr ScalarLike(const Expr& like, double value);
// Zeros of `like`'s dtype and shape, whatever it holds.
Expr ZerosLike(const Expr& like);

// Any op whose first given input names the sink.
Expr Op(std::string_view op, const std::vector<Expr>& inputs, Attributes attributes = {},
        std::string_view domain = "");
std::vector<Expr> Ops(std::string_view op, const std::vector<Expr>& inputs, int num_outputs,
                      Attributes attributes = {}, std::string_view domain = "");

Expr Equal(const Expr& a, const Expr& b);
Expr Less(const Expr& a, const Expr& b);
Expr LessOrEqual(const Expr& a, const Expr& b);
Expr Greater(const Expr& a, const Expr& b);
Expr GreaterOrEqual(const Expr& a, const Expr& b);
Expr And(const Expr& a, const Expr& b);
Expr Or(const Expr& a, const Expr& b);
Expr Not(const Expr& x);
Expr Where(const Expr& condition, const Expr& yes, const Expr& no);
Expr Max(const Expr& a, const Expr& b);
Expr Min(const Expr& a, const Expr& b);
Expr Pow(const Expr& a, const Expr& b);
Expr Mod(const Expr& a, const Expr& b);

Expr Abs(const Expr& x);
Expr Ceil(const Expr& x);
Expr Cos(const Expr& x);
Expr Erf(const Expr& x);
Expr Exp(const Expr& x);
Expr Floor(const Expr& x);
Expr Identity(const Expr& x);
Expr Log(const Expr& x);
Expr Reciprocal(const Expr& x);
Expr Round(const Expr& x);
Expr Sign(const Expr& x);
Expr Sin(const Expr& x);
Expr Sqrt(const Expr& x);
Expr Tanh(const Expr& x);

Expr Gelu(const Expr& x, std::string approximate = "none");
Expr LogSoftmax(const Expr& x, int64_t axis = -1);
Expr Relu(const Expr& x);
Expr Sigmoid(const Expr& x);
Expr Softmax(const Expr& x, int64_t axis = -1);
// An omitted bound does not bind.
Expr Clip(const Expr& x, const Expr& low, const Expr& high);

Expr Cast(const Expr& x, DType to);
Expr CastLike(const Expr& x, const Expr& like);

Expr MatMul(const Expr& a, const Expr& b);
// alpha * A' B' + beta * C of matrices.
Expr Gemm(const Expr& a, const Expr& b, const Expr& c = {}, bool trans_a = false,
          bool trans_b = false, float alpha = 1, float beta = 1);

Expr Concat(const std::vector<Expr>& parts, int64_t axis);
Expr Expand(const Expr& x, const Expr& shape);
Expr Gather(const Expr& x, const Expr& indices, int64_t axis = 0);
Expr Reshape(const Expr& x, const Expr& shape, bool allow_zero = false);
Expr Reshape(const Expr& x, const std::vector<int64_t>& shape, bool allow_zero = false);
// int64[end - start]; negative positions count from the end.
Expr Shape(const Expr& x);
Expr Shape(const Expr& x, int64_t start, int64_t end);
Expr Size(const Expr& x);
Expr Slice(const Expr& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
           const std::vector<int64_t>& axes, const std::vector<int64_t>& steps = {});
std::vector<Expr> Split(const Expr& x, const std::vector<int64_t>& sizes, int64_t axis);
Expr Squeeze(const Expr& x, const std::vector<int64_t>& axes);
Expr Transpose(const Expr& x, const std::vector<int64_t>& perm = {});
Expr Unsqueeze(const Expr& x, const std::vector<int64_t>& axes);

// Over all axes when none is given.
Expr ReduceMax(const Expr& x, const std::vector<int64_t>& axes = {}, bool keep_dims = true);
Expr ReduceMean(const Expr& x, const std::vector<int64_t>& axes = {}, bool keep_dims = true);
Expr ReduceMin(const Expr& x, const std::vector<int64_t>& axes = {}, bool keep_dims = true);
Expr ReduceProd(const Expr& x, const std::vector<int64_t>& axes = {}, bool keep_dims = true);
Expr ReduceSum(const Expr& x, const std::vector<int64_t>& axes = {}, bool keep_dims = true);
// Axes computed in the graph; none of them reduces nothing.
Expr ReduceSumOver(const Expr& x, const Expr& axes, bool keep_dims = true);

}  // namespace onward::expr

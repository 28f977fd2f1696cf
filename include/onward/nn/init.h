// Initial values of parameters: PyTorch's schemes (torch.nn.init), with its formulas.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "onward/tensor.h"

namespace onward::nn {

// Draws a tensor of floats of double precision, which is then rounded once.
struct Init {
  std::string description;  // "kaiming_uniform(a=2.236)"
  std::function<std::vector<double>(DimsView dims, std::mt19937_64& random)> draw;
};

// `init` of `dims` in `dtype` (float, double, float16, bfloat16). The numbers depend on `seed` and
// `name` alone: a parameter starts the same whatever else the model has.
Tensor Draw(const Init& init, DType dtype, DimsView dims, uint64_t seed, std::string_view name);

namespace init {

enum class Fan : uint8_t { kIn, kOut };

Init Constant(double value);
inline Init Zeros() { return Constant(0); }
inline Init Ones() { return Constant(1); }
Init Uniform(double low, double high);
Init Normal(double mean = 0, double deviation = 1);
// Within [low, high], which are values, not deviations.
Init TruncatedNormal(double mean = 0, double deviation = 1, double low = -2, double high = 2);
Init XavierUniform(double gain = 1);
Init XavierNormal(double gain = 1);
Init KaimingUniform(double a = 0, Fan fan = Fan::kIn, std::string nonlinearity = "leaky_relu");
Init KaimingNormal(double a = 0, Fan fan = Fan::kIn, std::string nonlinearity = "leaky_relu");
// Rows or columns, whichever are fewer, are orthonormal times `gain`.
Init Orthogonal(double gain = 1);
// Row `row` of what `init` draws is zero.
Init WithZeroRow(Init init, int64_t row);

// The recommended gain: "linear", "conv", "sigmoid": 1, "tanh": 5/3, "relu": sqrt(2), "leaky_relu"
// with slope `a`, "selu": 3/4. NaN for another name.
double Gain(std::string_view nonlinearity, double a = 0.01);

// Inputs and outputs of one unit for a weight [out, in, kernel...]; a vector counts as both.
struct Fans {
  double in = 0, out = 0;
};
Fans FansOf(DimsView dims);

}  // namespace init
}  // namespace onward::nn

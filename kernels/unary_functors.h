// Functors of one operand. Formulas: the ONNX operator specification; NaN propagates as it does in
// NumPy.
#pragma once

#include <cmath>
#include <limits>

#include "graph/ops/selu.h"
#include "kernels/functor.h"

namespace onward::kernels::functors {

// A functor whose body is one expression of x (of type T).
#define ONWARD_UNARY(name, expression)           \
  struct name {                                  \
    template <typename T>                        \
    ONWARD_HOST_DEVICE T operator()(T x) const { \
      return expression;                         \
    }                                            \
  };

ONWARD_UNARY(Acos, std::acos(x))
ONWARD_UNARY(Acosh, std::acosh(x))
ONWARD_UNARY(Asin, std::asin(x))
ONWARD_UNARY(Asinh, std::asinh(x))
ONWARD_UNARY(Atan, std::atan(x))
ONWARD_UNARY(Atanh, std::atanh(x))
ONWARD_UNARY(Ceil, std::ceil(x))
ONWARD_UNARY(Cos, std::cos(x))
ONWARD_UNARY(Cosh, std::cosh(x))
ONWARD_UNARY(Erf, std::erf(x))
ONWARD_UNARY(Exp, std::exp(x))
ONWARD_UNARY(Floor, std::floor(x))
ONWARD_UNARY(Log, std::log(x))
ONWARD_UNARY(Reciprocal, T(1) / x)
ONWARD_UNARY(Round, std::nearbyint(x))  // ties to even
ONWARD_UNARY(Sin, std::sin(x))
ONWARD_UNARY(Sinh, std::sinh(x))
ONWARD_UNARY(Sqrt, std::sqrt(x))
ONWARD_UNARY(Tan, std::tan(x))
ONWARD_UNARY(Tanh, std::tanh(x))
ONWARD_UNARY(Relu, x < T(0) ? T(0) : x)
ONWARD_UNARY(Softsign, x / (T(1) + std::fabs(x)))
ONWARD_UNARY(BitwiseNot, static_cast<T>(~x))
ONWARD_UNARY(Not, !x)
#undef ONWARD_UNARY

struct Abs {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(x);
    } else if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return static_cast<T>(x < 0 ? WrapType<T>(0) - static_cast<WrapType<T>>(x)
                                  : static_cast<WrapType<T>>(x));
    }
  }
};

struct Neg {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return static_cast<T>(WrapType<T>(0) - static_cast<WrapType<T>>(x));
    }
  }
};

struct Sign {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x > T(0) ? T(1) : x < T(0) ? static_cast<T>(-1) : x;
  }
};

struct Sigmoid {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    const T e = std::exp(-std::fabs(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
  }
};

struct Softplus {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return (x < T(0) ? T(0) : x) + std::log1p(std::exp(-std::fabs(x)));
  }
};

struct Mish {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x * std::tanh(Softplus()(x));
  }
};

struct HardSwish {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    const T gate = x / T(6) + T(0.5);
    return x * (gate < T(0) ? T(0) : gate > T(1) ? T(1) : gate);
  }
};

struct GeluErf {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440)));
  }
};

struct GeluTanh {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (T(1) + std::tanh(inner));
  }
};

struct Elu {
  static constexpr FunctorParameter kParameters[] = {{"alpha", 1.0f}};
  float alpha;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(alpha) * std::expm1(x) : x;
  }
};

struct Celu {
  static constexpr FunctorParameter kParameters[] = {{"alpha", 1.0f}};
  float alpha;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(alpha) * std::expm1(x / T(alpha)) : x;
  }
};

struct Selu {
  static constexpr FunctorParameter kParameters[] = {{"alpha", kSeluAlpha}, {"gamma", kSeluGamma}};
  float alpha, gamma;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return T(gamma) * (x < T(0) ? T(alpha) * std::expm1(x) : x);
  }
};

struct LeakyRelu {
  static constexpr FunctorParameter kParameters[] = {{"alpha", 0.01f}};
  float alpha;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(alpha) * x : x;
  }
};

struct ThresholdedRelu {
  static constexpr FunctorParameter kParameters[] = {{"alpha", 1.0f}};
  float alpha;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x > T(alpha) ? x : T(0);
  }
};

struct HardSigmoid {
  static constexpr FunctorParameter kParameters[] = {{"alpha", 0.2f}, {"beta", 0.5f}};
  float alpha, beta;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    const T y = T(alpha) * x + T(beta);
    return y < T(0) ? T(0) : y > T(1) ? T(1) : y;
  }
};

struct Swish {
  static constexpr FunctorParameter kParameters[] = {{"alpha", 1.0f}};
  float alpha;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x * Sigmoid()(T(alpha) * x);
  }
};

// Integers compute in double, truncate toward zero and wrap, as NumPy casts them.
struct Shrink {
  static constexpr FunctorParameter kParameters[] = {{"lambd", 0.5f}, {"bias", 0.0f}};
  float lambd, bias;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return x < T(-lambd) ? x + T(bias) : x > T(lambd) ? x - T(bias) : T(0);
    } else {
      const double value = static_cast<double>(x), limit = lambd;
      const double y = value < -limit ? value + bias : value > limit ? value - bias : 0.0;
      if (!(y >= -9.2e18 && y <= 9.2e18)) return x;
      return static_cast<T>(static_cast<int64_t>(y));
    }
  }
};

struct IsNaN {
  template <typename T>
  ONWARD_HOST_DEVICE bool operator()(T x) const {
    return x != x;
  }
};

struct IsInf {
  static constexpr FunctorParameter kParameters[] = {{"detect_negative", 1.0f},
                                                     {"detect_positive", 1.0f}};
  float negative, positive;
  template <typename T>
  ONWARD_HOST_DEVICE bool operator()(T x) const {
    // NaN equals nothing.
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
    const T high = positive != 0.0f ? kInfinity : kNaN;
    const T low = negative != 0.0f ? -kInfinity : kNaN;
    return static_cast<int>(x == high) + static_cast<int>(x == low) != 0;
  }
};

}  // namespace onward::kernels::functors

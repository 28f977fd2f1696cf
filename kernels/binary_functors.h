// Functors of two operands. Formulas: the ONNX operator specification; NaN propagates as it does in
// NumPy.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/unary_functors.h"

namespace onward::kernels::functors {

// Integers wrap; floats follow IEEE 754.
#define ONWARD_ARITHMETIC(name, op)                                                        \
  struct name {                                                                            \
    template <typename T>                                                                  \
    ONWARD_HOST_DEVICE T operator()(T a, T b) const {                                      \
      if constexpr (std::is_floating_point_v<T>) {                                         \
        return a op b;                                                                     \
      } else {                                                                             \
        return static_cast<T>(static_cast<WrapType<T>>(a) op static_cast<WrapType<T>>(b)); \
      }                                                                                    \
    }                                                                                      \
  };
ONWARD_ARITHMETIC(Add, +)
ONWARD_ARITHMETIC(Sub, -)
ONWARD_ARITHMETIC(Mul, *)
#undef ONWARD_ARITHMETIC

#define ONWARD_COMPARISON(name, op)                      \
  struct name {                                          \
    template <typename T>                                \
    ONWARD_HOST_DEVICE bool operator()(T a, T b) const { \
      return a op b;                                     \
    }                                                    \
  };
ONWARD_COMPARISON(Equal, ==)
ONWARD_COMPARISON(Less, <)
ONWARD_COMPARISON(LessOrEqual, <=)
ONWARD_COMPARISON(Greater, >)
ONWARD_COMPARISON(GreaterOrEqual, >=)
#undef ONWARD_COMPARISON

#define ONWARD_BITWISE(name, op)                      \
  struct name {                                       \
    template <typename T>                             \
    ONWARD_HOST_DEVICE T operator()(T a, T b) const { \
      return static_cast<T>(a op b);                  \
    }                                                 \
  };
ONWARD_BITWISE(BitwiseAnd, &)
ONWARD_BITWISE(BitwiseOr, |)
ONWARD_BITWISE(BitwiseXor, ^)
#undef ONWARD_BITWISE

// Integers: toward zero; x / 0 is 0, as NumPy has it; the lowest value divided by -1 wraps.
struct Div {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return static_cast<T>(WrapType<T>(0) - static_cast<WrapType<T>>(a));
      }
      return static_cast<T>(a / b);
    }
  }
};

// Mod with fmod = 1: the quotient is truncated. Integers: x mod 0 is 0, as NumPy has it.
struct ModTruncate {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
      }
      return static_cast<T>(a % b);
    }
  }
};

// Mod with fmod = 0: the quotient is floored, so the result has the sign of b.
struct ModFloor {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T a, T b) const {
    const T remainder = ModTruncate()(a, b);
    if constexpr (std::is_floating_point_v<T>) {
      if (remainder == T(0)) return std::copysign(T(0), b);
      return (remainder < T(0)) != (b < T(0)) ? remainder + b : remainder;
    } else if constexpr (std::is_signed_v<T>) {
      return remainder != 0 && (remainder < 0) != (b < 0) ? static_cast<T>(remainder + b)
                                                          : remainder;
    } else {
      return remainder;
    }
  }
};

// NaN in either operand gives NaN.
struct Max {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T a, T b) const {
    return (a > b || a != a) ? a : b;
  }
};

struct Min {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T a, T b) const {
    return (a < b || a != a) ? a : b;
  }
};

// T(a^b). Integer powers of integers wrap; a negative exponent truncates the fraction (0 to a
// negative power gives 0). A mix of types computes in double.
struct Pow {
  template <typename A, typename B>
  ONWARD_HOST_DEVICE A operator()(A a, B b) const {
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
      return IntegerPower(a, b);
    } else if constexpr (std::is_floating_point_v<A> && std::is_same_v<A, B>) {
      return std::pow(a, b);
    } else {
      const double y = std::pow(static_cast<double>(a), static_cast<double>(b));
      if constexpr (std::is_integral_v<A>) {
        constexpr double kLimit = 9223372036854775808.0;
        if (y != y) return 0;
        constexpr A kMost = std::numeric_limits<A>::max(), kLeast = std::numeric_limits<A>::min();
        if (y >= kLimit) return kMost;
        if (y < -kLimit) return kLeast;
        return static_cast<A>(static_cast<int64_t>(y));
      } else {
        return static_cast<A>(y);
      }
    }
  }

  template <typename A, typename B>
  ONWARD_HOST_DEVICE static A IntegerPower(A a, B b) {
    if constexpr (std::is_signed_v<B>) {
      if (b < 0) {
        if (a == 1) return 1;
        if constexpr (std::is_signed_v<A>) {
          if (a == -1) return b % 2 == 0 ? static_cast<A>(1) : static_cast<A>(-1);
        }
        return 0;
      }
    }
    WrapType<A> base = static_cast<WrapType<A>>(a), result = 1;
    for (auto rest = static_cast<uint64_t>(b); rest != 0; rest >>= 1) {
      if (rest & 1) result *= base;
      base *= base;
    }
    return static_cast<A>(result);
  }
};

// The same, for devices: exponents that one or two products give are products, as in the
// reference's loop.
struct PowOfFew {
  template <typename A, typename B>
  ONWARD_HOST_DEVICE A operator()(A x, B exponent) const {
    if (exponent == B(2)) return Mul()(x, x);
    if constexpr (std::is_floating_point_v<A>) {
      if (exponent == B(3)) return x * x * x;
    }
    return Pow()(x, exponent);
  }
};

// Shifts by a negative amount or by the width and more leave only the sign fill.
struct BitShiftLeft {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T a, T b) const {
    if (b < T(0) || b >= static_cast<T>(8 * sizeof(T))) return 0;
    return static_cast<T>(static_cast<WrapType<T>>(a) << static_cast<int>(b));
  }
};

struct BitShiftRight {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T a, T b) const {
    if (b < T(0) || b >= static_cast<T>(8 * sizeof(T))) return a < T(0) ? static_cast<T>(-1) : T(0);
    return static_cast<T>(a >> static_cast<int>(b));
  }
};

struct PRelu {
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x, T slope) const {
    return x < T(0) ? Mul()(x, slope) : x;
  }
};

struct SwiGlu {
  static constexpr FunctorParameter kParameters[] = {{"alpha", 1.0f}};
  float alpha;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T gate, T value) const {
    return Swish{alpha}(gate)*value;
  }
};

}  // namespace onward::kernels::functors

// The parts of C++'s standard library that functors name, for NVRTC, which has no library.
#pragma once

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

namespace std {

template <bool kChosen, typename A, typename B>
struct conditional {
  using type = A;
};
template <typename A, typename B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool kChosen, typename A, typename B>
using conditional_t = typename conditional<kChosen, A, B>::type;

template <typename A, typename B>
inline constexpr bool is_same_v = false;
template <typename A>
inline constexpr bool is_same_v<A, A> = true;
template <typename T, typename... Types>
inline constexpr bool is_any_v = (is_same_v<T, Types> || ...);
template <typename T>
inline constexpr bool is_class_v = __is_class(T);
template <typename T>
inline constexpr bool is_floating_point_v = is_any_v<T, float, double>;
template <typename T>
inline constexpr bool is_unsigned_v = is_any_v<T, bool, uint8_t, uint16_t, uint32_t, uint64_t>;
template <typename T>
inline constexpr bool is_integral_v =
    is_unsigned_v<T> || is_any_v<T, int8_t, int16_t, int32_t, int64_t>;
template <typename T>
inline constexpr bool is_signed_v = is_floating_point_v<T> ||
                                    (is_integral_v<T> && !is_unsigned_v<T>);
template <typename T>
using make_unsigned_t = conditional_t<
    sizeof(T) == 1, uint8_t,
    conditional_t<sizeof(T) == 2, uint16_t, conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
template <typename T>
T&& declval();

template <typename To, typename From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

template <typename T>
struct numeric_limits {
  static constexpr T max() {
    if constexpr (is_same_v<T, float>) return 0x1.fffffep127f;
    if constexpr (is_same_v<T, double>) return 0x1.fffffffffffffp1023;
    if constexpr (is_integral_v<T>)
      return static_cast<T>(~uint64_t{0} >> (64 - 8 * sizeof(T) + (is_signed_v<T> ? 1 : 0)));
  }
  static constexpr T min() { return is_signed_v<T> ? static_cast<T>(-max() - 1) : T(0); }
  static constexpr T infinity() {
    if constexpr (is_same_v<T, float>) return bit_cast<float>(0x7f800000u);
    if constexpr (is_same_v<T, double>) return bit_cast<double>(0x7ff0000000000000u);
    return T(0);
  }
  static constexpr T quiet_NaN() {
    if constexpr (is_same_v<T, float>) return bit_cast<float>(0x7fc00000u);
    if constexpr (is_same_v<T, double>) return bit_cast<double>(0x7ff8000000000000u);
    return T(0);
  }
};

#define ONWARD_MATH(name)                             \
  inline float name(float x) { return ::name##f(x); } \
  inline double name(double x) { return ::name(x); }
ONWARD_MATH(acos)
ONWARD_MATH(acosh)
ONWARD_MATH(asin)
ONWARD_MATH(asinh)
ONWARD_MATH(atan)
ONWARD_MATH(atanh)
ONWARD_MATH(ceil)
ONWARD_MATH(cos)
ONWARD_MATH(cosh)
ONWARD_MATH(erf)
ONWARD_MATH(exp)
ONWARD_MATH(expm1)
ONWARD_MATH(fabs)
ONWARD_MATH(floor)
ONWARD_MATH(log)
ONWARD_MATH(log1p)
ONWARD_MATH(nearbyint)
ONWARD_MATH(sin)
ONWARD_MATH(sinh)
ONWARD_MATH(sqrt)
ONWARD_MATH(tan)
ONWARD_MATH(tanh)
#undef ONWARD_MATH
inline float ldexp(float x, int exponent) { return ::ldexpf(x, exponent); }
inline float copysign(float x, float sign) { return ::copysignf(x, sign); }
inline double copysign(double x, double sign) { return ::copysign(x, sign); }
inline float fmod(float a, float b) { return ::fmodf(a, b); }
inline double fmod(double a, double b) { return ::fmod(a, b); }
inline float pow(float a, float b) { return ::powf(a, b); }
inline double pow(double a, double b) { return ::pow(a, b); }

}  // namespace std

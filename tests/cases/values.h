// Short ways to write the rows of case tables.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/cases/cases.h"

namespace onward::cases {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

// The type in which elements of T are written: float for the formats narrower than that.
template <typename T>
using Literal =
    std::conditional_t<std::is_arithmetic_v<T> || std::is_same_v<T, std::string>, T, float>;

// The element that `value` names; infinities stay infinite where the format has them.
template <typename T>
T Element(const Literal<T>& value) {
  if constexpr (requires { T::kKind; }) {
    return T(value, false);
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
Tensor Of(DimsView dims, std::initializer_list<Literal<T>> values) {
  Tensor tensor(kDTypeOf<T>, dims);
  T* to = tensor.mutable_data<T>();
  for (const Literal<T>& value : values) *to++ = Element<T>(value);
  return tensor;
}

// A vector of any number type or bool.
inline Tensor OfDType(DType dtype, const std::vector<double>& values) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size())});
  using Types = Concat<Concat<NumericTypes, Float8Types>, TypeList<bool>>;
  DispatchDType(Types(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < values.size(); ++i)
      tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<Literal<T>>(values[i]));
  });
  return tensor;
}

// The relative error of one operation that rounds to `dtype`, about one unit in the last place (of
// float32: a few).
inline double Tolerance(DType dtype) {
  return dtype == DType::kFloat16 ? 1e-3 : dtype == DType::kBFloat16 ? 8e-3 : 1e-5;
}

inline OpCase Row(std::string name, std::string op, Attributes attributes,
                  std::vector<Tensor> inputs, std::vector<Tensor> expected, double rtol = 1e-5,
                  double atol = 1e-6) {
  return {std::move(name),   std::move(op),       "",   std::move(attributes),
          std::move(inputs), std::move(expected), rtol, atol};
}

// One list after another.
inline std::vector<OpCase> Join(std::initializer_list<std::vector<OpCase> (*)()> parts) {
  std::vector<OpCase> all;
  for (auto part : parts) {
    for (OpCase& c : part()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases

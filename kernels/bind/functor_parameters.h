// The parameters of elementwise functors, from the attributes of their ops.
#pragma once

#include <cstdint>
#include <variant>

#include "kernels/functor.h"
#include "onward/graph.h"

namespace onward::kernels {

// Writes a value for each of F::kParameters, where F has any.
template <typename F>
void ReadFunctorParameters(const Attributes& attributes, float* values) {
  if constexpr (requires { F::kParameters; }) {
    for (const FunctorParameter& p : F::kParameters) {
      // IsInf has integers for flags.
      const Attribute* attribute = attributes.Find(p.attribute);
      if (attribute != nullptr && std::holds_alternative<int64_t>(*attribute)) {
        *values++ = static_cast<float>(std::get<int64_t>(*attribute));
      } else {
        *values++ = attributes.Float(p.attribute, p.otherwise);
      }
    }
  }
}

}  // namespace onward::kernels

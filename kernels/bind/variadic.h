// Sum, Mean, Max and Min of any number of operands, as a chain of two-operand loops into the
// output.
#pragma once

#include "absl/status/status.h"
#include "kernels/broadcast.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Makes a mean of a sum; `divisor` is the number of operands.
struct DivideBy {
  static constexpr FunctorParameter kParameters[] = {{"", 1.0f}};
  float divisor;
  template <typename T>
  ONWARD_HOST_DEVICE T operator()(T x) const {
    return x / static_cast<T>(divisor);
  }
};

// Keeps as the state a pointer to loops: loop i, from 1 on, has operand i and what the output holds
// (for loop 1: operand 0). Settles output 0, in place of operand 0 where that is possible.
absl::Status BindVariadic(BindContext& context, int num_inputs);

}  // namespace onward::kernels

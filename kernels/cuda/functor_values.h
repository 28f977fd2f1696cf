// The parameters of a functor, as a launch hands them to a kernel.
#pragma once

#include "kernels/bind/functor_parameters.h"

namespace onward::kernels::cuda {

struct FunctorValues {
  float values[2];
};

template <typename F>
FunctorValues ReadFunctorValues(const Attributes& attributes) {
  FunctorValues read = {};
  ReadFunctorParameters<F>(attributes, read.values);
  return read;
}

}  // namespace onward::kernels::cuda

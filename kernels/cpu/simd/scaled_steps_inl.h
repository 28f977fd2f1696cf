// Included once per instruction set.
#pragma once

#include "kernels/cpu/simd/adafactor_blocks_inl.h"
#include "kernels/cpu/simd/lamb_inl.h"
#include "kernels/cpu/simd/muon_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <typename T>
constexpr ScaledStepLoops<T> ScaledStepLoopsOf() {
  return {.lamb_moments = LambMoments<T>,
          .lamb_apply = LambApply<T>,
          .elements_squares = ElementsSquares<false, T>,
          .elements_apply = ElementsApply<false, T>,
          .units_squares = ElementsSquares<true, T>,
          .units_apply = ElementsApply<true, T>,
          .tiny_squares = TinySquares<T>,
          .tiny_apply = TinyApply<T>,
          .block_squares = BlockSquares<T>,
          .inverse_roots = InverseRoots<T>,
          .block_changes = BlockChanges<T>,
          .block_apply = BlockApply<T>,
          .muon_direction = MuonDirection<T>,
          .divide = Divide<T>,
          .muon_apply = MuonApply<T>};
}

const ScaledStepLoops<float>& FloatSteps() {
  static constexpr ScaledStepLoops<float> kLoops = ScaledStepLoopsOf<float>();
  return kLoops;
}

const ScaledStepLoops<double>& DoubleSteps() {
  static constexpr ScaledStepLoops<double> kLoops = ScaledStepLoopsOf<double>();
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET

// Checks of fast kernels over many shapes.
#pragma once

#include <random>
#include <string>
#include <string_view>

#include "kernels/cpu/kernels.h"
#include "tests/support/kernel_runner.h"

namespace onward::testing {

// A tensor of floats drawn evenly from [low, high).
Tensor RandomFloats(DimsView dims, std::mt19937& random, float low = -1.0f, float high = 1.0f);

// The same, of numbers that bfloat16 has.
Tensor RandomBFloats(DimsView dims, std::mt19937& random);

// The tensor's floats rounded to a dtype of 16 bits.
Tensor Narrowed(const Tensor& floats, DType dtype);

// Runs the case through every CPU kernel that takes it, on one and on three threads.
void ExpectKernels(const cases::OpCase& op_case);

// Runs the case through every CPU kernel of its op whose name does not end in "_reference", with
// variable and with the given constant inputs, on one and on three threads. The results must be the
// expected ones and the same bits for any number of threads. Reports how many kernels ran.
// `precision` kFast: only through those that multiply pairs of bfloat16. Convolutions by Winograd
// round otherwise and are left to the next function.
int ExpectFastKernels(const cases::OpCase& op_case, uint64_t constants = 0,
                      Precision precision = Precision::kDefault);

// The same for convolutions by Winograd alone.
int ExpectWinogradKernels(const cases::OpCase& op_case, uint64_t constants,
                          Precision precision = Precision::kDefault);

// The same for kernels whose names have `part` alone.
int ExpectNamedKernels(const cases::OpCase& op_case, std::string_view part, uint64_t constants);

// The same for convolutions of images whose dims the kernel's maker does not know.
int ExpectSizedKernels(const cases::OpCase& op_case, uint64_t constants);

// The number of instruction sets that may run here and multiply pairs of bfloat16.
int NumBf16Targets();

}  // namespace onward::testing

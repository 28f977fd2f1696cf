#include "tests/support/fast_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/targets.h"

namespace onward::testing {

using cases::OpCase;

Tensor RandomFloats(DimsView dims, std::mt19937& random, float low, float high) {
  Tensor tensor(DType::kFloat32, dims);
  std::uniform_real_distribution<float> distribution(low, high);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = distribution(random);
  return tensor;
}

Tensor RandomBFloats(DimsView dims, std::mt19937& random) {
  Tensor tensor = RandomFloats(dims, random);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    float& value = tensor.mutable_data<float>()[i];
    value = std::round(value * 128) / 128;
  }
  return tensor;
}

Tensor Narrowed(const Tensor& floats, DType dtype) {
  Tensor narrow(dtype, floats.dims());
  DispatchDType(TypeList<Float16, BFloat16>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < floats.num_elements(); ++i)
      narrow.mutable_data<T>()[i] = T(floats.data<float>()[i]);
  });
  return narrow;
}

namespace {

using TakesKernel = absl::FunctionRef<bool(std::string_view name)>;

int ExpectKernels(const OpCase& c, uint64_t constants, Precision precision, TakesKernel takes,
                  KnownDims known = KnownDims::kAll) {
  int ran = 0;
  KernelOptions options;
  options.precision = precision;
  for (const auto& [entry, target] : KernelsPerTarget(c)) {
    if (!takes(entry.name)) continue;
    options.cpu_targets = target;
    for (uint64_t mask : std::set<uint64_t>{0, constants}) {
      SCOPED_TRACE(std::string(entry.name) + " " + kernels::cpu::TargetNames(target) + " " +
                   c.name);
      const auto alone = RunKernel(entry, c, 1, mask, options, known);
      if (alone.status().code() == absl::StatusCode::kUnimplemented) continue;
      EXPECT_TRUE(alone.ok()) << alone.status();
      const auto threaded = RunKernel(entry, c, 3, mask, options, known);
      EXPECT_TRUE(threaded.ok()) << threaded.status();
      if (!alone.ok() || !threaded.ok()) return ran;
      ++ran;
      for (size_t i = 0; i < alone->size(); ++i) {
        if (c.expected[i].empty()) continue;
        EXPECT_EQ(Difference((*alone)[i], c.expected[i], c.rtol, c.atol), "") << "output " << i;
        EXPECT_TRUE(SameBits((*alone)[i], (*threaded)[i])) << "threads change output " << i;
      }
    }
  }
  return ran;
}

bool IsWinograd(std::string_view name) { return name.find("winograd") != name.npos; }

}  // namespace

int ExpectFastKernels(const OpCase& c, uint64_t constants, Precision precision) {
  return ExpectKernels(c, constants, precision, [&](std::string_view name) {
    if (IsWinograd(name)) return false;
    return precision == Precision::kFast ? name.ends_with("_bf16") : !name.ends_with("_reference");
  });
}

int ExpectWinogradKernels(const OpCase& c, uint64_t constants, Precision precision) {
  return ExpectKernels(c, constants, precision, IsWinograd);
}

int ExpectNamedKernels(const OpCase& c, std::string_view part, uint64_t constants) {
  return ExpectKernels(c, constants, Precision::kDefault,
                       [part](std::string_view name) { return name.find(part) != name.npos; });
}

int ExpectSizedKernels(const OpCase& c, uint64_t constants) {
  return ExpectKernels(
      c, constants, Precision::kDefault,
      [](std::string_view name) { return name.find("sized") != name.npos; }, KnownDims::kNone);
}

int NumBf16Targets() {
  return std::popcount(kernels::cpu::AllowedTargets() & kernels::cpu::kBf16Targets);
}

void ExpectKernels(const OpCase& op_case) {
  int ran = 0;
  for (const auto& [entry, target] : KernelsPerTarget(op_case)) {
    KernelOptions options;
    options.cpu_targets = target;
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(absl::StrCat(std::string(entry.name), " ", op_case.name));
      const auto results = RunKernel(entry, op_case, threads, 0, options);
      if (results.status().code() == absl::StatusCode::kUnimplemented) continue;
      ASSERT_TRUE(results.ok()) << results.status();
      ++ran;
      for (size_t i = 0; i < results->size(); ++i) {
        EXPECT_EQ(Difference((*results)[i], op_case.expected[i], op_case.rtol, op_case.atol), "")
            << i;
      }
    }
  }
  EXPECT_GT(ran, 0) << op_case.op;
}

}  // namespace onward::testing

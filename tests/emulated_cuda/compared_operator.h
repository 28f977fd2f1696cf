// Graphs of one operator on the emulated device, compared with the CPU provider.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/session.h"
#include "tests/emulated_cuda/device.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/text_model.h"

namespace onward::emulated_cuda {

struct Operand {
  DType dtype;
  Dims dims;
};

// The tolerance for results that are computed in a float of that dtype.
inline double ToleranceOf(DType dtype) {
  if (dtype == DType::kBFloat16) return 1.6e-2;
  if (dtype == DType::kFloat16) return 2e-3;
  return dtype == DType::kFloat32 ? 1e-5 : 1e-12;
}

// As the text syntax has it: "float16[2, 3]".
inline std::string TextOf(const Operand& operand) {
  const std::string name(DTypeName(operand.dtype));
  return absl::StrCat(name == "float32"   ? "float"
                      : name == "float64" ? "double"
                                          : name,
                      "[", absl::StrJoin(operand.dims, ", "), "]");
}

// Numbers in [-4, 4], integers in [-5, 5]; with `special`, floats have NaN and infinities among
// them.
inline Tensor Filled(const Operand& operand, uint32_t seed, bool special) {
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(), 0, -0.0};
  Tensor tensor(operand.dtype, operand.dims);
  uint32_t state = seed * 2654435761u + 1;
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), operand.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      state = state * 1664525u + 1013904223u;
      const uint32_t drawn = state >> 8;
      if constexpr (std::is_same_v<T, bool>) {
        tensor.mutable_data<T>()[i] = drawn % 3 == 0;
      } else if constexpr (std::is_integral_v<T>) {
        tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<int>(drawn % 11) - 5);
      } else {
        const double number = drawn % 8001 / 1000.0 - 4;
        const double value = special && drawn % 7 == 0 ? kSpecial[drawn / 7 % 5] : number;
        tensor.mutable_data<T>()[i] = static_cast<T>(static_cast<float>(value));
      }
    }
  });
  return tensor;
}

// The results of a graph on inputs "a", "b", ... of one provider; `graph` is its text from the
// outputs on, as "(float[n] y) { y = Neg (a) }". On the device no node may be the CPU's.
inline absl::StatusOr<Session::Outputs> RunOn(const std::string& provider, const std::string& graph,
                                              const std::vector<Tensor>& inputs) {
  std::string parameters;
  Session::Inputs given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    const DimsView dims = inputs[i].dims();
    absl::StrAppend(&parameters, i == 0 ? "" : ", ",
                    TextOf({inputs[i].dtype(), Dims(dims.begin(), dims.end())}), " ", name);
    given[name] = Value(inputs[i]);
  }
  absl::StatusOr<Model> model =
      testing::ModelFromText(absl::StrCat("g (", parameters, ") => ", graph));
  if (!model.ok()) return model.status();
  SessionOptions options;
  options.provider = provider;
  options.num_threads = 1;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(model), options);
  if (!session.ok()) return session.status();
  for (const NodeExplanation& node : (*session)->Explain())
    EXPECT_EQ(node.provider, provider) << node.node << absl::StrJoin(node.refusals, "; ");
  return (*session)->Run(given);
}

// Both providers, the device in late order: all outputs are equal within the tolerance.
inline void ExpectAsCpu(const std::string& graph, const std::vector<Tensor>& inputs,
                        double tolerance) {
  SCOPED_TRACE(graph);
  for (const Tensor& input : inputs) SCOPED_TRACE(DimsString(input.dims()));
  Configure({.order = Order::kLate});
  const auto expected = RunOn("cpu", graph, inputs), actual = RunOn("cuda", graph, inputs);
  Configure({});
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (const auto& [name, value] : *expected) {
    EXPECT_EQ(testing::Difference(actual->at(name).tensor(), value.tensor(), tolerance, tolerance),
              "")
        << name << " of " << (inputs.empty() ? "" : DimsString(inputs[0].dims()));
  }
}

}  // namespace onward::emulated_cuda

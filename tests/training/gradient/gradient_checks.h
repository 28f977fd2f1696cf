// Gradients of models in text: against finite differences, and as ONNX Runtime computes them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "graph/ir/verify.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/text_model.h"
#include "tests/training/gradient/finite_differences.h"
#include "training/gradient/gradient_model.h"

namespace onward::training {

inline Model ParsedModel(const std::string& text) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

inline Value Doubles(DimsView dims, unsigned seed) { return Value(RandomDoubles(dims, seed)); }
inline Value Floats(DimsView dims, unsigned seed) {
  Tensor floats(DType::kFloat32, dims);
  const Tensor doubles = RandomDoubles(dims, seed);
  std::copy_n(doubles.data<double>(), doubles.num_elements(), floats.mutable_data<float>());
  return Value(floats);
}
inline Value Flag(bool value) { return Value(Tensor::Scalar(value)); }
inline Value Count(int64_t value) { return Value(Tensor::Scalar(value)); }

// The gradients of all outputs of `dtype` with respect to all inputs of it, here and there. Passes
// where ONNX Runtime is not installed.
inline void ExpectSameInOnnxRuntime(Model model, Session::Inputs inputs, double rtol = 1e-9,
                                    DType dtype = DType::kFloat64) {
  if (!testing::HasOnnxRuntime()) return;
  const Session::Outputs forward = RunModel(model, inputs);
  GradientModelOptions options;
  for (const ValueId id : model.graph.outputs()) {
    const std::string name = model.graph.value(id).name;
    if (model.graph.type(id).dtype != dtype) continue;
    options.of.push_back(name);
    const DimsView dims = forward.at(name).tensor().dims();
    inputs["grad/" + name] = dtype == DType::kFloat64 ? Doubles(dims, 31) : Floats(dims, 31);
  }
  for (const ValueId id : model.graph.inputs()) {
    if (model.graph.type(id).dtype == dtype) options.wrt.push_back(model.graph.value(id).name);
  }
  const auto names = MakeGradientModel(model, options);
  ASSERT_TRUE(names.ok()) << names.status();
  ASSERT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
  for (auto it = inputs.begin(); it != inputs.end();)
    it = model.graph.FindValue(it->first).valid() ? std::next(it) : inputs.erase(it);
  const Session::Outputs ours = RunModel(model, inputs);
  const auto theirs = testing::RunInOnnxRuntime(model, inputs);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  for (const auto& [name, value] : ours) {
    EXPECT_EQ(testing::Difference(value.tensor(), theirs->at(name).tensor(), rtol,
                                  dtype == DType::kFloat64 ? rtol / 1000 : rtol),
              "")
        << name;
  }
}

inline void CheckGradients(const std::string& text, const Session::Inputs& inputs,
                           bool in_onnxruntime = true) {
  const Model model = ParsedModel(text);
  ExpectFiniteDifferences(model, inputs);
  if (in_onnxruntime) ExpectSameInOnnxRuntime(model, inputs);
}

}  // namespace onward::training

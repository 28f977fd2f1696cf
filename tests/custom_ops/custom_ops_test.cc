// Operators of users' own: examples/custom_ops, loaded as a library, and what registration refuses.
#include "onward/custom_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/gradient.h"
#include "onward/import.h"
#include "onward/session.h"
#include "tests/support/command_output.h"
#include "tests/support/kernel_runner.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Model> SoftcapModel(DType dtype) {
  GraphBuilder builder("softcap");
  const Expr x = builder.Input("x", dtype, {"n", 2});
  const Expr y = expr::Op("Softcap", {x}, {{"cap", 3.0f}}, "my.ops");
  EXPECT_EQ(y.type().ToString(), Type::Tensor(dtype, SymbolicDims{Dim::Symbol("n"), 2}).ToString());
  builder.Output("y", y);
  return builder.Build();
}

const std::vector<double> kX = {-100, -3, -0.0, 0.5, 2, 1e30};

template <typename T>
Tensor Tensored(const std::vector<double>& values) {
  Tensor tensor(kDTypeOf<T>, {static_cast<int64_t>(values.size()) / 2, 2});
  for (size_t i = 0; i < values.size(); ++i) tensor.mutable_data<T>()[i] = T(values[i]);
  return tensor;
}

template <typename T>
void ExpectSoftcap(const std::string& kernel) {
  auto model = SoftcapModel(kDTypeOf<T>);
  ASSERT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->Explain()[0].kernel == "softcap", kernel == "softcap");
  const auto outputs = (*session)->Run({{"x", Tensored<T>(kX)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> expected;
  for (const double x : kX) expected.push_back(3 * std::tanh(x / 3));
  EXPECT_EQ(testing::Difference(outputs->at("y").tensor(), Tensored<T>(expected), 1e-6, 1e-7), "");
}

class CustomOps : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const absl::Status status = LoadCustomOps(SOFTCAP_LIBRARY);
    ASSERT_TRUE(status.ok()) << status;
  }
};

TEST_F(CustomOps, TheKernelRunsWhereItCan) { ExpectSoftcap<float>("softcap"); }

TEST_F(CustomOps, TheFormulaRunsWhereNoKernelCan) {
  ExpectSoftcap<double>("");
  auto model = SoftcapModel(DType::kFloat16);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(Session::Create(*std::move(model)).ok());
}

TEST_F(CustomOps, TheGradientIsTheRules) {
  auto model = SoftcapModel(DType::kFloat64);
  ASSERT_TRUE(model.ok()) << model.status();
  GraphSink sink(model->graph, "loss/");
  const Expr loss = expr::ReduceSum(sink.Value(model->graph.outputs()[0]), {}, false);
  const auto gradients = AddGradients(model->graph, loss.id(), {model->graph.inputs()[0]});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  GraphEdit(model->graph).AddOutput((*gradients)[0]);
  const std::string name = model->graph.value((*gradients)[0]).name;
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run({{"x", Tensored<double>(kX)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> expected;
  for (const double x : kX) expected.push_back(1 - std::pow(std::tanh(x / 3), 2));
  EXPECT_EQ(
      testing::Difference(outputs->at(name).tensor(), Tensored<double>(expected), 1e-9, 1e-12), "");
}

TEST_F(CustomOps, RegistrationRefusesWhatCannotWork) {
  const auto refusal = [](CustomOp op) { return std::string(RegisterCustomOp(op).message()); };
  EXPECT_THAT(refusal({.domain = "", .signature = "Op (X: T) -> (Y: T) where T = float"}),
              HasSubstr("the domain '' is not yours"));
  EXPECT_THAT(refusal({.domain = "com.microsoft", .signature = "Op () -> ()"}),
              HasSubstr("the domain 'com.microsoft' is not yours"));
  EXPECT_THAT(refusal({.domain = "my.ops", .signature = "Op (X T) -> (Y: T) where T = float"}),
              HasSubstr("where ':' is expected"));
  EXPECT_THAT(refusal({.domain = "my.ops", .signature = "Op (X: T) -> (Y: T) where T = float"}),
              HasSubstr("needs a formula, or an inference function and a kernel"));
  const Formula identity = [](const FormulaCall& call) { return std::vector<Expr>{call.input(0)}; };
  EXPECT_TRUE(absl::IsAlreadyExists(
      RegisterCustomOp({.domain = "my.ops",
                        .signature = "Softcap (X: T) -> (Y: T) where T = float",
                        .formula = identity})));
}

TEST(CustomOpsLibrary, WhatIsNoLibraryIsNamed) {
  EXPECT_THAT(std::string(LoadCustomOps("no_such_library.so").message()),
              HasSubstr("no_such_library.so"));
}

// Runs the command and returns what it printed, stderr included, with the exit code at the end.
std::string Command(const std::string& arguments) {
  return testing::OutputOf(absl::StrCat(ONWARD_PROGRAM, " ", arguments, " 2>&1; echo exit $?"))
      .text;
}

TEST_F(CustomOps, TheCommandTakesALibrary) {
  auto model = SoftcapModel(DType::kFloat32);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string path = ::testing::TempDir() + "softcap.onnx";
  ASSERT_TRUE(ExportFile(*model, path).ok());
  const std::string run = absl::StrCat("run ", path, " --input x=6,3 --shape x=1x2");
  EXPECT_THAT(Command(absl::StrCat(run, " --custom-ops ", SOFTCAP_LIBRARY)), HasSubstr("exit 0"));
  // A model alone brings no code.
  EXPECT_THAT(Command(run), ::testing::AllOf(HasSubstr("my.ops"), HasSubstr("exit 1")));
  EXPECT_THAT(Command(absl::StrCat(run, " --custom-ops ", path)),
              ::testing::AllOf(HasSubstr("cannot be loaded"), HasSubstr("exit 1")));
}

}  // namespace
}  // namespace onward

#include "onnx_io/domain_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "onnx/onnx_pb.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/import.h"
#include "tests/cases/cases.h"

namespace onward::onnx_io {
namespace {

constexpr char kMl[] = "ai.onnx.ml";

Expr Call(GraphBuilder& b, const std::string& op) {
  const std::vector<cases::OpCase> all = cases::AllCases();
  const auto c =
      std::find_if(all.begin(), all.end(), [&](const cases::OpCase& row) { return row.op == op; });
  const Tensor& x = c->inputs[0];
  return b.Op(op, {b.Input(op + "/x", Type::Tensor(x.dtype(), x.dims()))}, c->attributes, kMl);
}

// Exporters of scikit-learn write ops that ai.onnx.ml 5 removed.
TEST(DomainVersions, TheLastThatHasAnOp) {
  GraphBuilder b;
  b.Output("y", Call(b, "TreeEnsembleRegressor"));
  const absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<std::string> bytes = ExportBytes(*model);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(*bytes));
  for (const auto& opset : proto.opset_import()) {
    EXPECT_EQ(opset.version(), opset.domain() == kMl ? 4 : 21) << opset.domain();
  }
  EXPECT_TRUE(ImportBytes(*bytes).ok()) << ImportBytes(*bytes).status();
}

TEST(DomainVersions, NoneHasBothOps) {
  GraphBuilder b;
  b.Output("y", Call(b, "TreeEnsembleRegressor"));
  b.Output("z", Call(b, "TreeEnsemble"));
  const absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status status = ExportBytes(*model).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(
      std::string(status.message()),
      ::testing::HasSubstr("needs ai.onnx.ml 5, other ops of the model were removed after 4"));
}

}  // namespace
}  // namespace onward::onnx_io

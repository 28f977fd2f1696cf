// Names of dims promise nothing: models run with the sizes that come, as in ONNX Runtime.
#include "executors/dim_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "onward/import.h"
#include "onward/session.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"

namespace onward::executors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHead[] = "<ir_version: 10, opset_import: [\"\" : 21]>\n";

Tensor Count(const Dims& dims, float first = 1) {
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

onnx::TensorShapeProto* ShapeOf(onnx::ValueInfoProto* value) {
  return value->mutable_type()->mutable_tensor_type()->mutable_shape();
}

std::unique_ptr<Session> Make(const onnx::ModelProto& proto, const SessionOptions& options = {}) {
  auto model = ImportBytes(proto.SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

Tensor OutputOf(Session& session, const Session::Inputs& inputs, const std::string& output) {
  const auto outputs = session.Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->at(output).tensor() : Tensor();
}

// A copy of Expand's input where the names were right, and else what Expand does.
const char kExpand[] = R"(g (float[n,3] x, float[n,3] y) => (float[n,3] z) {
  s = Shape(y)
  e = Exp(x)
  w = Expand(e, s)
  z = Log(w)
})";

TEST(DimNames, EqualNamesMayHaveOtherSizes) {
  std::vector<std::string> warnings;
  SessionOptions options;
  options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  const auto session = Make(testing::ProtoFromText(std::string(kHead) + kExpand), options);
  for (int round = 0; round < 2; ++round) {
    const Tensor same = OutputOf(*session, {{"x", Count({2, 3})}, {"y", Count({2, 3})}}, "z");
    EXPECT_THAT(same.dims(), ElementsAre(2, 3));
    for (const int64_t rows : {4, 5}) {
      const Tensor z = OutputOf(*session, {{"x", Count({1, 3})}, {"y", Count({rows, 3})}}, "z");
      ASSERT_THAT(z.dims(), ElementsAre(rows, 3));
      for (int64_t i = 0; i < z.num_elements(); ++i)
        EXPECT_NEAR(z.data<float>()[i], static_cast<float>(1 + i % 3), 1e-5) << i;
    }
  }
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("input 'y': dimension 0 ('n') is 4 but it is 1 in input 'x'")));
}

TEST(DimNames, OneInputMayHaveANameTwice) {
  const auto session = Make(testing::ProtoFromText(std::string(kHead) + R"(
    g (float[n,n] x) => (float[n,n] y) { s = Shape(x)  t = Transpose(x)  y = Reshape(t, s) })"));
  const Tensor y = OutputOf(*session, {{"x", Count({2, 3})}}, "y");
  EXPECT_THAT(y.dims(), ElementsAre(2, 3));
  EXPECT_THAT(y.span<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

// The mask is declared longer by one than the past, and is as long as it is.
TEST(DimNames, ExpressionsMayNotHold) {
  onnx::ModelProto proto = testing::ProtoFromText(std::string(kHead) + R"(
    g (float[past] x, float[more] mask) => (float[m] z) <int64[1] one = {1}> {
      s = Shape(x)
      n = Add(s, one)
      z = Expand(mask, n)
    })");
  ShapeOf(proto.mutable_graph()->mutable_input(1))->mutable_dim(0)->set_dim_param("past + 1");
  const auto session = Make(proto);
  EXPECT_THAT(OutputOf(*session, {{"x", Count({2})}, {"mask", Count({3})}}, "z").dims(),
              ElementsAre(3));
  EXPECT_THAT(OutputOf(*session, {{"x", Count({2})}, {"mask", Count({1})}}, "z").dims(),
              ElementsAre(3));
}

TEST(DimNames, ATrainingMayInsist) {
  SessionOptions options;
  options.names_may_differ = false;
  const auto session = Make(testing::ProtoFromText(std::string(kHead) + kExpand), options);
  const auto outputs = session->Run({{"x", Count({1, 3})}, {"y", Count({4, 3})}});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().message(),
            "input 'y': dimension 0 ('n') is 4 but it is 1 in input 'x'");
}

// Large weights are not kept a second time: the file is read again.
TEST(DimNames, AModelThatWasLoadedIsImportedAgain) {
  const testing::ScratchDirectory directory;
  const onnx::ModelProto proto = testing::ProtoFromText(std::string(kHead) + kExpand);
  const std::string path = directory.Write("m.onnx", proto.SerializeAsString());
  auto session = Session::Load(path);
  ASSERT_TRUE(session.ok()) << session.status();
  const Session::Inputs inputs = {{"x", Count({1, 3})}, {"y", Count({4, 3})}};
  EXPECT_THAT(OutputOf(**session, inputs, "z").dims(), ElementsAre(4, 3));

  session = Session::Load(path);
  ASSERT_TRUE(session.ok()) << session.status();
  const onnx::ModelProto other = testing::ProtoFromText(
      std::string(kHead) + "g (float[n,3] x) => (float[n,3] z) { z = Exp(x) }");
  directory.Write("m.onnx", other.SerializeAsString());
  const auto outputs = (*session)->Run(inputs);
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.status().message(), HasSubstr("changed"));
}

TEST(DimNames, WordsThatNameNothingAreDimsOfTheirOwn) {
  for (const char* name : {"?", "None", "-1", "3", "unk__12", "batch size",
                           "gr\xc3\xb6\xc3\x9f"
                           "e",
                           "h-w", "unknown", " "}) {
    SCOPED_TRACE(name);
    onnx::ModelProto proto = testing::ProtoFromText(std::string(kHead) + R"(
      g (float[a,3,b,c] x) => (float[a,b,c] y) <int64[1] one = {1}> { y = ReduceMax<keepdims=0>(x, one) })");
    for (const int axis : {0, 2, 3})
      ShapeOf(proto.mutable_graph()->mutable_input(0))->mutable_dim(axis)->set_dim_param(name);
    for (const int axis : {0, 1, 2})
      ShapeOf(proto.mutable_graph()->mutable_output(0))->mutable_dim(axis)->set_dim_param(name);
    std::vector<std::string> warnings;
    SessionOptions options;
    options.log = [&](const LogRecord& record) { warnings.push_back(record.message); };
    const auto session = Make(proto, options);
    EXPECT_THAT(OutputOf(*session, {{"x", Count({1, 3, 48, 19})}}, "y").dims(),
                ElementsAre(1, 48, 19));
    EXPECT_TRUE(warnings.empty());
  }
}

// What NonZero finds has as many columns as it has, whatever the file says.
TEST(DimNames, WhatAFileDeclaresOfInnerValuesIsNotReliedUpon) {
  onnx::ModelProto proto = testing::ProtoFromText(std::string(kHead) + R"(
    g (float[n] x) => (int64[n] y) <int64[1] first = {0}> {
      found = NonZero(x)
      flat = Squeeze(found, first)
      s = Shape(x)
      y = Expand(flat, s)
    })");
  onnx::ValueInfoProto* flat = proto.mutable_graph()->add_value_info();
  flat->set_name("flat");
  flat->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  ShapeOf(flat)->add_dim()->set_dim_param("n");
  const auto session = Make(proto);
  const Tensor y = OutputOf(*session, {{"x", Tensor::Of<float>({4}, {0, 0, 7, 0})}}, "y");
  EXPECT_THAT(y.span<int64_t>(), ElementsAre(2, 2, 2, 2));
}

// A number left over from the exporter's example input.
TEST(DimNames, AStaleNumberOfAnInnerValueIsNotReliedUpon) {
  onnx::ModelProto proto = testing::ProtoFromText(std::string(kHead) + R"(
    g (float[n,3] x) => (float[1,3] z) <float[1,3] c = {1, 2, 3}> {
      y = Relu(x)
      s = Shape(y)
      z = Expand(c, s)
    })");
  onnx::ValueInfoProto* y = proto.mutable_graph()->add_value_info();
  y->set_name("y");
  y->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  ShapeOf(y)->add_dim()->set_dim_value(1);
  ShapeOf(y)->add_dim()->set_dim_value(3);
  const auto session = Make(proto);
  EXPECT_THAT(OutputOf(*session, {{"x", Count({2, 3})}}, "z").dims(), ElementsAre(2, 3));
}

}  // namespace
}  // namespace onward::executors

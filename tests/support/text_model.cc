#include "tests/support/text_model.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executors/evaluate.h"
#include "graph/infer/infer.h"
#include "graph/ir/verify.h"
#include "onnx/defs/parser.h"
#include "onward/import.h"
#include "onward/session.h"
#include "onward/status.h"
#include "tests/support/kernel_runner.h"

namespace onward::testing {

absl::StatusOr<Model> ModelFromText(const std::string& text) {
  const std::string model = absl::StrCat(
      "<ir_version: 10, opset_import: [\"\" : 28, \"ai.onnx.ml\" : 5, \"com.microsoft\" : 1, "
      "\"ai.onnx.preview\" : 1, \"onward\" : 1]>\n",
      text);
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, model.c_str());
  if (!status.IsOK()) return absl::InvalidArgumentError(status.ErrorMessage());
  return ImportBytes(proto.SerializeAsString());
}

std::string Nodes(const Graph& graph) {
  const auto names = [&](const std::vector<ValueId>& ids) {
    return absl::StrJoin(ids, ", ", [&](std::string* out, ValueId id) {
      out->append(id.valid() ? graph.value(id).name : "_");
    });
  };
  std::string lines;
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return std::string(order.status().message());
  for (NodeId id : *order) {
    const Node& node = graph.node(id);
    const std::string domain = node.domain.empty() ? "" : node.domain + ".";
    absl::StrAppend(&lines, names(node.outputs), " = ", domain, node.op_type, "(",
                    names(node.inputs), ")\n");
  }
  return lines;
}

namespace {

Tensor RandomTensor(const Type& type, std::mt19937& generator) {
  Dims dims;
  for (const Dim& dim : *type.shape) dims.push_back(dim.known() ? dim.value() : 3);
  Tensor tensor(type.dtype, dims);
  using Types = Concat<NumericTypes, TypeList<bool>>;
  DispatchDType(Types(), type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::uniform_real_distribution<float> real(-2, 2);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const float value = real(generator);
      if constexpr (std::is_integral_v<T>) {
        tensor.mutable_data<T>()[i] = static_cast<T>(value > 0);
      } else {
        tensor.mutable_data<T>()[i] = T(value);
      }
    }
  });
  return tensor;
}

absl::StatusOr<Session::Outputs> RunGraph(const Graph& graph, const Session::Inputs& inputs) {
  Model model;
  model.graph = graph;
  SessionOptions options;
  options.optimize = false;
  options.num_threads = 1;
  ONWARD_ASSIGN_OR_RETURN(const auto session, Session::Create(std::move(model), options));
  return session->Run(inputs);
}

}  // namespace

std::string ValueDifference(const Graph& before, const Graph& after, double rtol) {
  std::mt19937 generator(7);
  Session::Inputs inputs;
  for (ValueId id : before.inputs()) {
    if (before.is_constant(id)) continue;
    inputs[before.value(id).name] = RandomTensor(before.type(id), generator);
  }
  const auto expected = RunGraph(before, inputs);
  if (!expected.ok()) return absl::StrCat("before: ", std::string(expected.status().message()));
  const auto actual = RunGraph(after, inputs);
  if (!actual.ok()) return absl::StrCat("after: ", std::string(actual.status().message()));
  for (const auto& [name, value] : *expected) {
    const auto found = actual->find(name);
    if (found == actual->end()) return absl::StrCat("output '", name, "' is gone");
    const std::string difference = Difference(found->second.tensor(), value.tensor(), rtol, rtol);
    if (!difference.empty()) return absl::StrCat("output '", name, "': ", difference);
  }
  return "";
}

Graph Optimize(const std::string& text, const std::vector<Pass>& passes, double rtol) {
  absl::StatusOr<Model> model = ModelFromText(text);
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    return Graph();
  }
  Graph graph = std::move(model->graph);
  EXPECT_TRUE(InferGraph(graph).ok());
  const Graph before = graph;
  PassOptions options;
  options.evaluate = [](const Graph& g, NodeId id) { return executors::EvaluateOnCpu(g, id); };
  const auto reports = RunPasses(graph, passes, options);
  EXPECT_TRUE(reports.ok()) << reports.status();
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  EXPECT_EQ(ValueDifference(before, graph, rtol), "");
  return graph;
}

Graph Optimize(const std::string& text, RunPass pass, double rtol) {
  return Optimize(text, {{"pass", pass}}, rtol);
}

}  // namespace onward::testing

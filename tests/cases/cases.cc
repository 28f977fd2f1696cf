#include "tests/cases/cases.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onnx/defs/parser.h"
#include "onnx_io/import_attributes.h"
#include "onward/status.h"
#include "tests/support/case_file.h"
#include "tests/support/test_data.h"

namespace onward::cases {
namespace {

// On a machine that has only the tests, the environment says where the sources lie.
std::string Folder() {
  const std::string elsewhere = testing::DirectoryFrom("ONWARD_SOURCE_DIR");
  return absl::StrCat(elsewhere.empty() ? ONWARD_SOURCE_DIR : elsewhere, "/tests/cases/");
}

using Names = google::protobuf::RepeatedPtrField<std::string>;

// The tensors that a graph has as initializers; an empty one for a name that is left out.
absl::StatusOr<std::vector<Tensor>> TensorsOf(const onnx::GraphProto& graph, const Names& names) {
  std::map<std::string, Tensor> by_name;
  for (const onnx::TensorProto& proto : graph.initializer()) {
    ONWARD_ASSIGN_OR_RETURN(by_name[proto.name()], onnx_io::TensorFromProto(proto));
  }
  std::vector<Tensor> tensors;
  for (const std::string& name : names) tensors.push_back(by_name[name]);
  return tensors;
}

absl::StatusOr<OpCase> CaseOf(const testing::CaseText& text) {
  onnx::GraphProto graph;
  const auto parsed = onnx::OnnxParser::Parse(graph, text.graph.c_str());
  if (!parsed.IsOK()) return absl::InvalidArgumentError(parsed.ErrorMessage());
  const onnx::NodeProto& node = graph.node(0);
  OpCase c;
  c.name = text.name;
  c.op = node.op_type();
  c.domain = node.domain();
  for (const onnx::AttributeProto& proto : node.attribute()) {
    ONWARD_ASSIGN_OR_RETURN(Attribute attribute, onnx_io::AttributeFromProto(proto, {}));
    c.attributes.Set(proto.name(), std::move(attribute));
  }
  ONWARD_ASSIGN_OR_RETURN(c.inputs, TensorsOf(graph, node.input()));
  ONWARD_ASSIGN_OR_RETURN(c.expected, TensorsOf(graph, node.output()));
  for (const auto& [key, value] : text.notes) {
    if (key != "tolerance") continue;
    const std::vector<std::string> bounds = absl::StrSplit(value, ' ');
    c.rtol = std::stod(bounds.at(0));
    c.atol = std::stod(bounds.at(1));
  }
  return c;
}

}  // namespace

std::vector<OpCase> AllCases() {
  const std::string folder = Folder();
  std::vector<OpCase> all;
  for (const std::string& family : testing::CaseFamilies(folder)) {
    for (const testing::CaseText& text : testing::ReadCaseFile(folder + family + ".txt")) {
      absl::StatusOr<OpCase> c = CaseOf(text);
      if (!c.ok()) {
        std::fprintf(stderr, "tests/cases/%s.txt: %s: %s\n", family.c_str(), text.name.c_str(),
                     std::string(c.status().message()).c_str());
        std::abort();
      }
      all.push_back(*std::move(c));
    }
  }
  return all;
}

}  // namespace onward::cases

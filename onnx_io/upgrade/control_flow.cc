#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"
#include "onnx_io/upgrade/families.h"
#include "onward/import.h"

namespace onward::onnx_io {

namespace {

// Builds the body of a scan over the batch, which holds the old scan.
class BatchBody {
 public:
  BatchBody(const NodeUpgrade& u, int num_states, int num_scans, bool has_lengths)
      : u_(u), num_states_(num_states), num_scans_(num_scans), has_lengths_(has_lengths) {}

  // Takes the old body out of the node.
  Subgraph Build(Node& old);

 private:
  ValueId Add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    Node node;
    node.op_type = op;
    node.schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(kOpset), "");
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.outputs = {
        GraphEdit(*body_).AddValue(body_->UniqueName(absl::StrCat("batch_", op)), Type())};
    const ValueId output = node.outputs[0];
    GraphEdit(*body_).AddNode(std::move(node));
    return output;
  }
  ValueId Int64s(std::vector<int64_t> values) {
    return GraphEdit(*body_).AddConstant(
        body_->UniqueName("batch_constant"),
        Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, absl::MakeConstSpan(values)));
  }
  // The type of one sample of the old input.
  Type SampleType(ValueId input) const {
    Type type = u_.graph().type(input);
    if (type.shape && !type.shape->empty()) type.shape->erase(type.shape->begin());
    return type;
  }
  ValueId AddInputLike(ValueId input) {
    return GraphEdit(*body_).AddInput(
        body_->UniqueName(absl::StrCat("batch_", u_.graph().value(input).name)), SampleType(input));
  }
  void AddInner(Node& old, std::vector<ValueId> inputs, Subgraph* outer);

  const NodeUpgrade& u_;
  const int num_states_;
  const int num_scans_;
  const bool has_lengths_;
  std::unique_ptr<Graph> body_ = std::make_unique<Graph>();
  ValueId length_;      // of the sample's sequence, 1-D
  ValueId max_length_;  // 1-D
};

Subgraph BatchBody::Build(Node& old) {
  Subgraph outer{"body", nullptr, {}};
  std::vector<ValueId> inputs;
  for (int i = 0; i < num_states_ + num_scans_; ++i)
    inputs.push_back(AddInputLike(u_.input(1 + i)));
  if (has_lengths_) {
    // The scalar length becomes one more scan input.
    const ValueId scalar = AddInputLike(u_.input(0));
    length_ = Add("Reshape", {scalar, Int64s({1})});
    max_length_ = Add("Shape", {inputs[static_cast<size_t>(num_states_)]},
                      {{"start", int64_t{0}}, {"end", int64_t{1}}});
    for (int i = num_states_; i < num_states_ + num_scans_; ++i) {
      ValueId& scan = inputs[static_cast<size_t>(i)];
      scan = Add("Slice", {scan, Int64s({0}), length_, Int64s({0})});
    }
  }
  AddInner(old, std::move(inputs), &outer);
  outer.graph = std::move(body_);
  return outer;
}

void BatchBody::AddInner(Node& old, std::vector<ValueId> inputs, Subgraph* outer) {
  Node inner;
  inner.op_type = "Scan";
  inner.schema = onnx::OpSchemaRegistry::Schema("Scan", static_cast<int>(kOpset), "");
  inner.name = old.name;
  inner.inputs = std::move(inputs);
  inner.attributes.Set("num_scan_inputs", static_cast<int64_t>(num_scans_));
  if (const Attribute* directions = old.attributes.Find("directions")) {
    inner.attributes.Set("scan_input_directions", *directions);
  }
  Subgraph body = std::move(old.subgraphs[0]);
  outer->captures = body.captures;
  for (size_t i = 0; i < body.captures.size(); ++i) {
    const ValueData& captured = u_.graph().value(body.captures[i]);
    body.captures[i] =
        GraphEdit(*body_).AddCapture(body_->UniqueName(captured.name), captured.type);
  }
  const size_t num_outputs = body.graph->outputs().size();
  for (size_t i = 0; i < num_outputs; ++i) {
    inner.outputs.push_back(GraphEdit(*body_).AddValue(body_->UniqueName("batch_output"), Type()));
  }
  inner.subgraphs.push_back(std::move(body));
  const std::vector<ValueId> outputs = inner.outputs;
  GraphEdit(*body_).AddNode(std::move(inner));
  for (size_t i = 0; i < num_outputs; ++i) {
    ValueId output = outputs[i];
    if (has_lengths_ && static_cast<int>(i) >= num_states_) {
      const ValueId missing = Add("Sub", {max_length_, length_});
      const ValueId pads = Add("Concat", {Int64s({0}), missing}, {{"axis", int64_t{0}}});
      output = Add("Pad", {output, pads, {}, Int64s({0})});
    }
    GraphEdit(*body_).AddOutput(output);
  }
}

// Opset 8 scanned a batch of sequences, of lengths that may differ. Every sample is scanned by
// itself, so the newer form is a scan over the samples of scans over the sequence. What the older
// form leaves undefined behind a short sequence is zero.
absl::Status ScanOverBatch(NodeUpgrade& u) {
  const int64_t num_scans = u.attributes().Int("num_scan_inputs", 0);
  const int64_t num_inputs = static_cast<int64_t>(u.node.inputs.size()) - 1;
  if (num_scans < 1 || num_scans > num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat("num_scan_inputs is ", num_scans, " but ",
                                                   num_inputs,
                                                   " states and scan inputs are given"));
  }
  if (u.node.subgraphs.size() != 1) return absl::InvalidArgumentError("`body` is needed");
  for (int i = 1; i <= num_inputs; ++i) {
    if (!u.input(i).valid())
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is empty"));
  }
  const ValueId lengths = u.input(0);
  BatchBody builder(u, static_cast<int>(num_inputs - num_scans), static_cast<int>(num_scans),
                    lengths.valid());
  Subgraph body = builder.Build(u.node);
  u.node.inputs.erase(u.node.inputs.begin());
  if (lengths.valid()) u.node.inputs.push_back(lengths);
  u.node.subgraphs.clear();
  u.node.subgraphs.push_back(std::move(body));
  u.attributes().Erase("directions");
  u.attributes().Set("num_scan_inputs", static_cast<int64_t>(u.node.inputs.size()));
  return absl::OkStatus();
}

}  // namespace

UpgradeRules ControlFlowUpgrades() { return {{"", "Scan", 9, ScanOverBatch}}; }

}  // namespace onward::onnx_io

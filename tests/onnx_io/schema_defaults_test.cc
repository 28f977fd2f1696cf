// An attribute that a node leaves out means the schema's default: in inference, in the upgrade of
// old opsets and in the kernels. Looks through the schemas of all opsets, on drawn nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"
#include "onward/import.h"
#include "onward/session.h"
#include "tests/cases/cases.h"

namespace onward::onnx_io {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::OpSchema;

// A node and what it is given; inputs without a name are left out.
struct Drawn {
  NodeProto node;
  std::vector<Tensor> inputs;
  int opset = 1;
};

template <typename List>
auto Pick(std::mt19937& random, const List& list) {
  return *std::next(std::begin(list), static_cast<std::ptrdiff_t>(random() % std::size(list)));
}

// The dtypes of a formal parameter that draws are made of.
std::vector<DType> Allowed(const OpSchema::FormalParameter& formal) {
  std::vector<DType> allowed;
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool, DType::kUint8}) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(static_cast<int>(dtype));
    if (formal.GetTypes().count(onnx::Utils::DataTypeUtils::ToType(type)) > 0)
      allowed.push_back(dtype);
  }
  return allowed;
}

Tensor DrawTensor(std::mt19937& random, DType dtype, const Dims& dims) {
  Tensor tensor(dtype, dims);
  DispatchDType(TypeList<float, int64_t, bool, uint8_t>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      tensor.mutable_data<T>()[i] = static_cast<T>(random() % 4);
  });
  return tensor;
}

// Whether the attribute could be made up.
bool DrawAttribute(std::mt19937& random, AttributeProto::AttributeType type,
                   AttributeProto* attribute) {
  attribute->set_type(type);
  const size_t count = Pick(random, std::vector<size_t>{1, 2, 4});
  switch (type) {
    case AttributeProto::INT:
      attribute->set_i(Pick(random, std::vector<int>{0, 1, 2, -1}));
      return true;
    case AttributeProto::FLOAT:
      attribute->set_f(1);
      return true;
    case AttributeProto::STRING:
      attribute->set_s("constant");
      return true;
    case AttributeProto::INTS:
      for (size_t i = 0; i < count; ++i) attribute->add_ints(static_cast<int64_t>(random() % 3));
      return true;
    case AttributeProto::FLOATS:
      for (size_t i = 0; i < count; ++i) attribute->add_floats(1);
      return true;
    default:
      return false;
  }
}

// Whether inputs of tensors could be drawn.
bool Draw(std::mt19937& random, const OpSchema& schema, Drawn& drawn) {
  drawn.opset = schema.since_version();
  drawn.node.set_op_type(schema.Name());
  drawn.node.set_domain(schema.domain());
  const int formals = static_cast<int>(schema.inputs().size());
  const int most = std::min(schema.max_input(), std::max(schema.min_input(), formals));
  const int inputs =
      schema.min_input() + static_cast<int>(random() % (most - schema.min_input() + 1u));
  const int rank = Pick(random, std::vector<int>{1, 2, 3, 3, 4, 4});
  std::map<std::string, DType> bound;
  for (int i = 0; i < inputs; ++i) {
    const auto& formal = schema.inputs()[static_cast<size_t>(std::min(i, formals - 1))];
    const std::vector<DType> allowed = Allowed(formal);
    if (allowed.empty()) return false;
    const DType dtype = bound.try_emplace(formal.GetTypeStr(), Pick(random, allowed)).first->second;
    Dims dims(static_cast<size_t>(random() % 3 > 0 ? rank : Pick(random, std::vector{0, 1, 1, 2})));
    for (int64_t& dim : dims) dim = Pick(random, std::vector<int>{1, 2, 3, 4, 8});
    drawn.inputs.push_back(DrawTensor(random, dtype, dims));
    drawn.node.add_input(absl::StrCat("x", i));
  }
  for (int i = 0; i < std::max(1, schema.min_output()); ++i)
    drawn.node.add_output(absl::StrCat("y", i));
  for (const auto& [name, attribute] : schema.attributes()) {
    if (!attribute.required && (attribute.default_value.has_type() || random() % 3 > 0)) continue;
    AttributeProto made;
    made.set_name(name);
    if (DrawAttribute(random, attribute.type, &made)) {
      *drawn.node.add_attribute() = std::move(made);
    } else if (attribute.required) {
      return false;
    }
  }
  return true;
}

// "" where the node is refused, or its types and what it gives.
struct Outcome {
  std::string types;
  std::vector<Tensor> outputs;
  std::string error;
};

Outcome OutcomeOf(const Drawn& drawn, bool constant) {
  onnx::ModelProto proto;
  proto.set_ir_version(8);
  for (const auto& domain : {std::string(), drawn.node.domain()}) {
    auto* opset = proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(domain == drawn.node.domain() ? drawn.opset : 13);
    if (drawn.node.domain().empty()) break;
  }
  *proto.mutable_graph()->add_node() = drawn.node;
  Session::Inputs given;
  for (size_t i = 0; i < drawn.inputs.size(); ++i) {
    const std::string& name = drawn.node.input(static_cast<int>(i));
    if (name.empty()) continue;
    // What decides shapes is known, as in most models.
    if (constant && i > 0 && drawn.inputs[i].num_elements() < 16) {
      auto* tensor = proto.mutable_graph()->add_initializer();
      TensorToProto(drawn.inputs[i], name, tensor);
      continue;
    }
    auto* input = proto.mutable_graph()->add_input();
    input->set_name(name);
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(static_cast<int>(drawn.inputs[i].dtype()));
    type->mutable_shape();
    for (const int64_t dim : drawn.inputs[i].dims())
      type->mutable_shape()->add_dim()->set_dim_value(dim);
    given[name] = drawn.inputs[i];
  }
  for (const std::string& name : drawn.node.output())
    proto.mutable_graph()->add_output()->set_name(name);
  Outcome outcome;
  absl::StatusOr<Model> model = ImportBytes(proto.SerializeAsString());
  if (!model.ok()) return {"", {}, std::string(model.status().message())};
  for (const ValueId id : model->graph.outputs())
    absl::StrAppend(&outcome.types, model->graph.type(id).ToString(), " ");
  SessionOptions options;
  options.num_threads = 1;
  options.optimize = false;
  options.reference_kernels = true;
  options.max_memory = int64_t{64} << 20;
  const auto session = Session::Create(*std::move(model), options);
  if (!session.ok()) return {outcome.types, {}, std::string(session.status().message())};
  const auto outputs = (*session)->Run(given);
  if (!outputs.ok()) return {outcome.types, {}, std::string(outputs.status().message())};
  for (const auto& [name, value] : *outputs)
    if (value.is_tensor()) outcome.outputs.push_back(value.tensor());
  return outcome;
}

bool Same(const Outcome& a, const Outcome& b) {
  return a.types == b.types && a.error.empty() == b.error.empty() &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](const Tensor& x, const Tensor& y) { return SameBits(x, y); });
}

// Defaults of the schema that the node leaves out, each written into it in turn. Counts those with
// which the node ran.
void ExpectDefaultsAreMeant(const OpSchema& schema, const Drawn& drawn, bool constant,
                            std::set<std::string>& seen) {
  const Outcome absent = OutcomeOf(drawn, constant);
  for (const auto& [name, attribute] : schema.attributes()) {
    const auto& given = drawn.node.attribute();
    if (attribute.required || !attribute.default_value.has_type() ||
        std::any_of(given.begin(), given.end(),
                    [&, name = name](const auto& a) { return a.name() == name; })) {
      continue;
    }
    Drawn written = drawn;
    *written.node.add_attribute() = attribute.default_value;
    written.node.mutable_attribute()->rbegin()->set_name(name);
    const Outcome outcome = OutcomeOf(written, constant);
    if (absent.error.empty() && !absent.outputs.empty())
      seen.insert(absl::StrCat(schema.domain(), ".", schema.Name(), ".", schema.since_version(),
                               ".", name));
    EXPECT_TRUE(Same(absent, outcome))
        << schema.domain() << "." << schema.Name() << " of opset " << schema.since_version() << ", "
        << name << "\nabsent: " << absent.types << absent.error << "\nwritten: " << outcome.types
        << outcome.error << "\n"
        << drawn.node.ShortDebugString();
  }
}

bool IsOfTheStandard(const OpSchema& schema) {
  return schema.domain().empty() || schema.domain() == "ai.onnx.ml";
}

TEST(SchemaDefaults, HoldInDrawnNodesOfAllOpsets) {
  constexpr int kSeed = 1, kDraws = 24;
  std::printf("seed %d, %d draws of every op\n", kSeed, kDraws);
  std::set<std::string> seen;
  for (const OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.deprecated() || !IsOfTheStandard(schema) || schema.inputs().empty()) continue;
    std::mt19937 random(kSeed);
    for (int i = 0; i < kDraws; ++i) {
      Drawn drawn;
      if (Draw(random, schema, drawn)) ExpectDefaultsAreMeant(schema, drawn, i % 2 == 0, seen);
    }
  }
  std::printf("%zu defaults\n", seen.size());
  EXPECT_GT(seen.size(), 250u);
}

TEST(SchemaDefaults, HoldInTheOperatorsCases) {
  std::set<std::string> seen;
  std::map<std::string, int> cases_of_op;
  for (const cases::OpCase& c : cases::AllCases()) {
    const OpSchema* schema = onnx::OpSchemaRegistry::Schema(c.op, c.domain);
    if (schema == nullptr || !IsOfTheStandard(*schema) || ++cases_of_op[c.op] > 12) continue;
    Drawn drawn;
    drawn.opset = schema->since_version();
    drawn.node.set_op_type(c.op);
    drawn.node.set_domain(c.domain);
    bool whole = true;
    for (const auto& [name, value] : c.attributes.map()) {
      AttributeProto* attribute = drawn.node.add_attribute();
      attribute->set_name(name);
      if (const auto* i = std::get_if<int64_t>(&value)) {
        attribute->set_type(AttributeProto::INT);
        attribute->set_i(*i);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        attribute->set_type(AttributeProto::STRING);
        attribute->set_s(*text);
      } else if (const auto* number = std::get_if<float>(&value)) {
        attribute->set_type(AttributeProto::FLOAT);
        attribute->set_f(*number);
      } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
        attribute->set_type(AttributeProto::INTS);
        for (const int64_t each : *ints) attribute->add_ints(each);
      } else {
        whole = false;
      }
    }
    if (!whole) continue;
    for (size_t i = 0; i < c.inputs.size(); ++i)
      drawn.node.add_input(c.inputs[i].empty() ? "" : absl::StrCat("x", i));
    drawn.inputs = c.inputs;
    for (size_t i = 0; i < c.expected.size(); ++i)
      drawn.node.add_output(c.expected[i].empty() ? "" : absl::StrCat("y", i));
    ExpectDefaultsAreMeant(*schema, drawn, true, seen);
  }
  std::printf("%zu defaults\n", seen.size());
  EXPECT_GT(seen.size(), 150u);
}

}  // namespace
}  // namespace onward::onnx_io

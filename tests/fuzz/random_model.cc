#include "tests/fuzz/random_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "onnx/defs/printer.h"
#include "onnx/defs/schema.h"
#include "onnx_io/tensor_proto.h"
#include "onward/dtype.h"
#include "tests/fuzz/random_tensor.h"

namespace onward::fuzz {
namespace {

constexpr int64_t kOpset = 28;

const std::vector<onnx::OpSchema>& Schemas() {
  static const auto* schemas = [] {
    auto* kept = new std::vector<onnx::OpSchema>();
    RegisterOnwardSchemas();
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
      const std::string& domain = schema.domain();
      const bool known = domain.empty() || domain == "ai.onnx.ml" || domain == "com.microsoft";
      if (known && !schema.Deprecated()) kept->push_back(schema);
    }
    return kept;
  }();
  return *schemas;
}

// "tensor(float)" -> kFloat32; kUndefined for what is not a tensor.
DType DTypeOfType(const std::string& type) {
  static const auto* types = new std::map<std::string, DType>{
      {"tensor(float)", DType::kFloat32},     {"tensor(uint8)", DType::kUint8},
      {"tensor(int8)", DType::kInt8},         {"tensor(uint16)", DType::kUint16},
      {"tensor(int16)", DType::kInt16},       {"tensor(int32)", DType::kInt32},
      {"tensor(int64)", DType::kInt64},       {"tensor(string)", DType::kString},
      {"tensor(bool)", DType::kBool},         {"tensor(float16)", DType::kFloat16},
      {"tensor(double)", DType::kFloat64},    {"tensor(uint32)", DType::kUint32},
      {"tensor(uint64)", DType::kUint64},     {"tensor(complex64)", DType::kComplex64},
      {"tensor(bfloat16)", DType::kBFloat16}, {"tensor(int4)", DType::kInt4},
      {"tensor(uint4)", DType::kUint4},       {"tensor(float8e4m3fn)", DType::kFloat8E4M3FN}};
  const auto it = types->find(type);
  return it == types->end() ? DType::kUndefined : it->second;
}

class ModelMaker {
 public:
  ModelMaker(FuzzBytes& bytes, bool concrete) : bytes_(bytes), concrete_(concrete) {}

  onnx::ModelProto Make() {
    onnx::ModelProto model;
    model.set_ir_version(10);
    AddOpset("", kOpset, model);
    AddOpset("ai.onnx.ml", 5, model);
    AddOpset("com.microsoft", 1, model);
    onnx::GraphProto* graph = model.mutable_graph();
    graph->set_name("g");
    top_ = graph;
    const int64_t inputs = bytes_.Between(0, 3);
    for (int64_t i = 0; i < inputs; ++i) AddInput(RandomDType(bytes_));
    FillGraph(*graph, 0, bytes_.Between(1, 4));
    return model;
  }

 private:
  struct Known {
    std::string name;
    DType dtype;  // kUndefined: not known
  };

  static void AddOpset(const std::string& domain, int64_t version, onnx::ModelProto& model) {
    onnx::OperatorSetIdProto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  std::string NewName() { return absl::StrCat("v", count_++); }

  std::string AddInput(DType dtype) {
    onnx::ValueInfoProto* input = top_->add_input();
    input->set_name(NewName());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(static_cast<int32_t>(dtype));
    known_.push_back({input->name(), dtype});
    if (!concrete_ && bytes_.OneIn(8)) return input->name();
    auto* shape = type->mutable_shape();
    for (int64_t dim : RandomDims(bytes_)) {
      auto* written = shape->add_dim();
      const size_t kind = bytes_.Below(8);
      if (kind == 6 || (kind == 7 && concrete_)) {
        written->set_dim_param(bytes_.OneIn(2) ? "n" : "m");
      } else if (kind < 6) {
        written->set_dim_value(dim);
      }
    }
    return input->name();
  }

  std::string AddInitializer(DType dtype) {
    onnx::TensorProto* tensor = top_->add_initializer();
    onnx_io::TensorToProto(RandomTensor(bytes_, dtype, RandomDims(bytes_)), NewName(), tensor);
    known_.push_back({tensor->name(), dtype});
    return tensor->name();
  }

  // Nodes that read what is known so far, then outputs.
  void FillGraph(onnx::GraphProto& graph, int depth, int64_t nodes) {
    for (int64_t i = 0; i < nodes; ++i) AddNode(graph, depth);
    const int64_t outputs = bytes_.Between(1, 3);
    for (int64_t i = 0; i < outputs; ++i) {
      const auto last = static_cast<size_t>(i);
      if (known_.size() <= last) break;
      graph.add_output()->set_name(known_[known_.size() - 1 - last].name);
    }
  }

  std::string PickInput(const onnx::OpSchema::FormalParameter& parameter,
                        std::map<std::string, DType>& bound) {
    std::vector<DType> allowed;
    for (const std::string* type : parameter.GetTypes()) {
      if (const DType dtype = DTypeOfType(*type); dtype != DType::kUndefined) {
        allowed.push_back(dtype);
      }
    }
    std::sort(allowed.begin(), allowed.end());
    if (const auto it = bound.find(parameter.GetTypeStr()); it != bound.end()) {
      allowed = {it->second};
    }
    if (allowed.empty() || bytes_.OneIn(32)) {
      return known_.empty() ? "" : bytes_.Pick(known_).name;
    }
    std::vector<Known> fitting;
    for (const Known& known : known_) {
      if (std::find(allowed.begin(), allowed.end(), known.dtype) != allowed.end()) {
        fitting.push_back(known);
      }
    }
    if (!fitting.empty() && !bytes_.OneIn(3)) {
      const Known& known = bytes_.Pick(fitting);
      bound[parameter.GetTypeStr()] = known.dtype;
      return known.name;
    }
    const DType dtype = bytes_.Pick(allowed);
    bound[parameter.GetTypeStr()] = dtype;
    return bytes_.OneIn(3) ? AddInput(dtype) : AddInitializer(dtype);
  }

  void AddNode(onnx::GraphProto& graph, int depth) {
    const onnx::OpSchema& schema = bytes_.Pick(Schemas());
    onnx::NodeProto node;
    node.set_op_type(schema.Name());
    node.set_domain(schema.domain());
    std::map<std::string, DType> bound;
    for (const auto& parameter : schema.inputs()) {
      const auto option = parameter.GetOption();
      if (option == onnx::OpSchema::Variadic) {
        const int64_t count = bytes_.Between(parameter.GetMinArity(), 3);
        for (int64_t i = 0; i < count; ++i) node.add_input(PickInput(parameter, bound));
      } else if (option == onnx::OpSchema::Optional && bytes_.OneIn(2)) {
        node.add_input("");
      } else {
        node.add_input(PickInput(parameter, bound));
      }
    }
    for (const auto& [name, attribute] : schema.attributes()) {
      if (attribute.required ? bytes_.OneIn(32) : !bytes_.OneIn(2)) continue;
      AddAttribute(name, attribute.type, depth, node);
    }
    AddOutputs(schema, bound, node);
    *graph.add_node() = std::move(node);
  }

  void AddOutputs(const onnx::OpSchema& schema, const std::map<std::string, DType>& bound,
                  onnx::NodeProto& node) {
    for (const auto& parameter : schema.outputs()) {
      const bool variadic = parameter.GetOption() == onnx::OpSchema::Variadic;
      const int64_t count = variadic ? bytes_.Between(parameter.GetMinArity(), 3) : 1;
      for (int64_t i = 0; i < count; ++i) {
        if (parameter.GetOption() == onnx::OpSchema::Optional && bytes_.OneIn(2)) {
          node.add_output("");
          continue;
        }
        node.add_output(NewName());
        const auto it = bound.find(parameter.GetTypeStr());
        known_.push_back({node.output(node.output_size() - 1),
                          it == bound.end() ? DTypeOfType(parameter.GetTypeStr()) : it->second});
      }
    }
  }

  std::string Word() {
    static const std::string kWords[] = {"NOTSET",     "SAME_UPPER",
                                         "SAME_LOWER", "VALID",
                                         "constant",   "reflect",
                                         "edge",       "wrap",
                                         "linear",     "nearest",
                                         "cubic",      "floor",
                                         "ij,jk->ik",  "...i,...i->...",
                                         "i->",        "add",
                                         "mul",        "max",
                                         "forward",    "bidirectional",
                                         "reverse",    "none",
                                         "mean",       "sum",
                                         "DCR",        "CRD",
                                         "half_pixel", "align_corners",
                                         "bilinear",   "zeros",
                                         "border",     "tf_crop_and_resize",
                                         "Relu",       "Tanh",
                                         "avg",        "LOGISTIC",
                                         "SOFTMAX",    "BRANCH_LEQ",
                                         "LEAF",       ""};
    return bytes_.Pick(kWords);
  }

  void AddAttribute(const std::string& name, onnx::AttributeProto::AttributeType type, int depth,
                    onnx::NodeProto& node) {
    onnx::AttributeProto attribute;
    attribute.set_name(name);
    attribute.set_type(type);
    const int64_t count = bytes_.Between(0, 5);
    switch (type) {
      case onnx::AttributeProto::INT:
        attribute.set_i(absl::StrContains(name, "to") ? bytes_.Between(0, 27) : bytes_.Integer());
        break;
      case onnx::AttributeProto::FLOAT:
        attribute.set_f(bytes_.Real());
        break;
      case onnx::AttributeProto::STRING:
        attribute.set_s(Word());
        break;
      case onnx::AttributeProto::INTS:
        for (int64_t i = 0; i < count; ++i) attribute.add_ints(bytes_.Integer());
        break;
      case onnx::AttributeProto::FLOATS:
        for (int64_t i = 0; i < count; ++i) attribute.add_floats(bytes_.Real());
        break;
      case onnx::AttributeProto::STRINGS:
        for (int64_t i = 0; i < count; ++i) attribute.add_strings(Word());
        break;
      case onnx::AttributeProto::TENSOR:
        onnx_io::TensorToProto(RandomTensor(bytes_, RandomDType(bytes_), RandomDims(bytes_)), name,
                               attribute.mutable_t());
        break;
      case onnx::AttributeProto::GRAPH:
        if (depth >= 2) return;
        AddBody(*attribute.mutable_g(), depth);
        break;
      case onnx::AttributeProto::TYPE_PROTO:
        attribute.mutable_tp()->mutable_tensor_type()->set_elem_type(
            static_cast<int32_t>(RandomDType(bytes_)));
        break;
      default:
        return;
    }
    *node.add_attribute() = std::move(attribute);
  }

  // A subgraph sees what is outside; what is inside is not seen from outside.
  void AddBody(onnx::GraphProto& graph, int depth) {
    const std::vector<Known> outside = known_;
    graph.set_name("body");
    const int64_t inputs = bytes_.Between(0, 3);
    for (int64_t i = 0; i < inputs; ++i) {
      onnx::ValueInfoProto* input = graph.add_input();
      input->set_name(NewName());
      static constexpr DType kFirst[] = {DType::kInt64, DType::kBool, DType::kFloat32};
      known_.push_back({input->name(), kFirst[i]});
      if (bytes_.OneIn(2)) {
        input->mutable_type()->mutable_tensor_type()->set_elem_type(
            static_cast<int32_t>(kFirst[i]));
      }
    }
    FillGraph(graph, depth + 1, bytes_.Between(0, 2));
    known_ = outside;
  }

  FuzzBytes& bytes_;
  const bool concrete_;
  onnx::GraphProto* top_ = nullptr;
  std::vector<Known> known_;
  int count_ = 0;
};

}  // namespace

onnx::ModelProto RandomModel(FuzzBytes& bytes, bool concrete) {
  onnx::ModelProto model = ModelMaker(bytes, concrete).Make();
  if (std::getenv("ONWARD_FUZZ_PRINT") != nullptr) {
    std::fprintf(stderr, "%s\n", onnx::ProtoToString(model).c_str());
  }
  return model;
}

}  // namespace onward::fuzz

// Models that are broken or made to do harm: each is refused with a message that says why.
#include <filesystem>
#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "onward/import.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"

namespace onward::onnx_io {
namespace {

using ::testing::HasSubstr;
using testing::ProtoFromText;
using testing::ScratchDirectory;

constexpr char kHeader[] = "<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n";

onnx::ModelProto Small() {
  return ProtoFromText(absl::StrCat(kHeader, R"(
    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
      [add] t = Add(x, w)
      [neg] y = Neg(t)
    })"));
}

std::string BytesError(std::string_view bytes, const ImportOptions& options = {}) {
  const auto model = ImportBytes(bytes, "", options);
  return model.ok() ? "OK" : std::string(model.status().message());
}
std::string Error(const onnx::ModelProto& proto, const ImportOptions& options = {}) {
  return BytesError(proto.SerializeAsString(), options);
}
std::string TextError(const std::string& body) {
  return Error(ProtoFromText(absl::StrCat(kHeader, body)));
}

TEST(HostileTest, FilesThatAreNoModels) {
  const ScratchDirectory directory;
  const auto missing = ImportFile(directory.path("none.onnx"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("none.onnx"));
  const auto folder = ImportFile(directory.path());
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("is not a regular file"));
  EXPECT_THAT(BytesError(""), HasSubstr("the model is empty (0 bytes)"));
  EXPECT_THAT(BytesError("<html>not a model</html>"), HasSubstr("not a valid ONNX file"));
  EXPECT_THAT(BytesError(std::string(100, '\xff')), HasSubstr("not a valid ONNX file"));
  onnx::ModelProto no_graph;
  no_graph.set_ir_version(8);
  EXPECT_THAT(Error(no_graph), HasSubstr("the model has no graph"));
}

TEST(HostileTest, VersionsOutsideTheSupportedRange) {
  onnx::ModelProto proto = Small();
  proto.set_ir_version(15);
  EXPECT_THAT(Error(proto), HasSubstr("IR version 15 is newer than the newest supported, 14"));
  proto.set_ir_version(2);
  EXPECT_THAT(Error(proto), HasSubstr("IR version 2 is older than the oldest supported, 3"));
  proto = Small();
  proto.mutable_opset_import(0)->set_version(29);
  EXPECT_THAT(Error(proto), HasSubstr("opset 29 of ai.onnx is newer than the newest supported"));
  proto.mutable_opset_import(0)->set_version(-1);
  EXPECT_THAT(Error(proto), HasSubstr("opset -1 of ai.onnx is not a version"));
  proto = Small();
  proto.clear_opset_import();
  EXPECT_THAT(Error(proto), HasSubstr("its domain 'ai.onnx' is not among the model's opset"));
}

TEST(HostileTest, AllUnknownOpsAreListedWithTheirNodes) {
  const std::string error = TextError(R"(
    g (float[2] x) => (float[2] y) {
      [first] a = Foo(x)
      [second] b = com.acme.Bar(a)
      [third] y = Gelu(b)
    })");
  EXPECT_THAT(error, HasSubstr("2 problems"));
  EXPECT_THAT(error, HasSubstr("[Foo 'first'] is not an operator of ai.onnx opset 21"));
  EXPECT_THAT(error, HasSubstr("[com.acme.Bar 'second'] its domain 'com.acme' is not supported"));
  onnx::ModelProto proto = Small();
  proto.mutable_graph()->mutable_node(1)->set_op_type("Swish");
  EXPECT_THAT(Error(proto), HasSubstr("[Swish 'neg'] is not an operator of ai.onnx opset 21"));
  onnx::OperatorSetIdProto* ml = proto.add_opset_import();
  ml->set_domain("ai.onnx.ml");
  ml->set_version(5);
  proto.mutable_graph()->mutable_node(1)->set_domain("ai.onnx.ml");
  proto.mutable_graph()->mutable_node(1)->set_op_type("TreeEnsembleRegressor");
  EXPECT_THAT(Error(proto), HasSubstr("was removed from ai.onnx.ml in opset 5"));
  const auto status = ImportBytes(
      ProtoFromText(absl::StrCat(kHeader, "g (float[2] x) => (float[2] y) { y = Foo(x) }"))
          .SerializeAsString());
  EXPECT_EQ(status.status().code(), absl::StatusCode::kUnimplemented);
}

TEST(HostileTest, Attributes) {
  const auto with = [](const std::function<void(onnx::AttributeProto*)>& set) {
    onnx::ModelProto proto = Small();
    auto* node = proto.mutable_graph()->mutable_node(1);
    node->set_op_type("LeakyRelu");
    set(node->add_attribute());
    return Error(proto);
  };
  EXPECT_THAT(with([](auto* a) {
                a->set_name("alpha");
                a->set_type(onnx::AttributeProto::INT);
                a->set_i(1);
              }),
              HasSubstr("[LeakyRelu 'neg'] attribute 'alpha' has kind INT, expected FLOAT"));
  EXPECT_THAT(with([](auto* a) {
                a->set_name("beta");
                a->set_type(onnx::AttributeProto::FLOAT);
              }),
              HasSubstr("attribute 'beta' is not one that LeakyRelu takes"));
  onnx::ModelProto twice = Small();
  twice.mutable_graph()->mutable_node(1)->set_op_type("LeakyRelu");
  for (int i = 0; i < 2; ++i) {
    auto* attribute = twice.mutable_graph()->mutable_node(1)->add_attribute();
    attribute->set_name("alpha");
    attribute->set_type(onnx::AttributeProto::FLOAT);
  }
  EXPECT_THAT(Error(twice), HasSubstr("attribute 'alpha' is given twice"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { y = Cast(x) }"),
              HasSubstr("attribute 'to' is required"));
}

// Arithmetic of formulas must not overflow.
TEST(HostileTest, AttributesOfFormulasBeyond32Bits) {
  const std::string header = "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n";
  for (const char* heads : {"9223372036854775807", "-9223372036854775807", "4294967296"}) {
    EXPECT_THAT(
        Error(ProtoFromText(absl::StrCat(
            header,
            "g (float[1, 2, 8] q, float[1, 2, 8] k, float[1, 2, 8] v, int32[1] s, int32 t) => "
            "(float[1, 2, 8] y) { y = com.microsoft.GroupQueryAttention <num_heads = ",
            heads, ", kv_num_heads = 7> (q, k, v, , , s, t) }"))),
        HasSubstr(absl::StrCat("attribute 'num_heads' is ", heads, ", which is out of range")));
  }
}

TEST(HostileTest, ValuesAndEdges) {
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { [n] y = Add(x, gone) }"),
              HasSubstr("[Add 'n'] reads 'gone' as input 1, which nothing produces"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { t = Neg(x) }"),
              HasSubstr("has the output 'y', which nothing produces"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { y = Neg(x) [b] y = Abs(x) }"),
              HasSubstr("[Abs 'b'] its output 'y' is already defined"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { x = Neg(x) y = Abs(x) }"),
              HasSubstr("its output 'x' is already defined"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { y = Add(x, t) t = Neg(y) }"),
              HasSubstr("the graph has a cycle"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { [n] y = Add(x) }"),
              HasSubstr("[Add 'n'] has 1 inputs, expected 2"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { [n] y, z = Neg(x) }"),
              HasSubstr("[Neg 'n'] has 2 outputs, expected 1"));
  EXPECT_THAT(TextError("g (float[2] x) => (float[2] y) { [n] y = Add(x, ) }"), HasSubstr("[Add"));
  onnx::ModelProto twice = Small();
  *twice.mutable_graph()->add_initializer() = twice.graph().initializer(0);
  EXPECT_THAT(Error(twice), HasSubstr("initializer 'w': is listed twice"));
  *twice.mutable_graph()->add_input() = twice.graph().input(0);
  EXPECT_THAT(Error(twice), HasSubstr("input 'x' is listed twice"));
}

TEST(HostileTest, Tensors) {
  const auto with = [](const std::function<void(onnx::TensorProto*)>& set) {
    onnx::ModelProto proto = Small();
    auto* tensor = proto.mutable_graph()->mutable_initializer(0);
    tensor->clear_float_data();
    set(tensor);
    return Error(proto);
  };
  EXPECT_THAT(with([](auto* t) { t->set_raw_data("1234"); }),
              HasSubstr("initializer 'w': raw_data has 4 bytes, shape [2] of float32 needs 8"));
  EXPECT_THAT(with([](auto* t) { t->set_raw_data(std::string(1000, 'a')); }),
              HasSubstr("raw_data has 1000 bytes, shape [2] of float32 needs 8"));
  EXPECT_THAT(with([](auto* t) { t->set_dims(0, -2); }), HasSubstr("has a negative dimension"));
  EXPECT_THAT(with([](auto* t) {
                t->set_dims(0, int64_t{1} << 40);
                t->add_dims(int64_t{1} << 40);
              }),
              HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(with([](auto* t) { t->set_data_type(77); }), HasSubstr("dtype 77 is not one of"));
  EXPECT_THAT(with([](auto* t) { t->mutable_segment()->set_end(8); }),
              HasSubstr("a tensor stored in segments"));
  EXPECT_THAT(with([](auto* t) {
                for (int i = 0; i < 70; ++i) t->add_dims(1);
              }),
              HasSubstr("rank 71 is above the limit of 64"));
  onnx::ModelProto unknown = Small();
  unknown.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      29);
  EXPECT_THAT(Error(unknown), HasSubstr("value 'x': dtype 29 is not one of"));
}

TEST(HostileTest, NamesAndCounts) {
  onnx::ModelProto proto = Small();
  proto.mutable_graph()->mutable_node(0)->set_name(std::string(70000, 'n'));
  EXPECT_THAT(Error(proto), HasSubstr("a name has 70000 bytes, above the limit of 65536"));
  ImportOptions options;
  options.max_nodes = 1;
  EXPECT_THAT(Error(Small(), options), HasSubstr("the model has more than 1 nodes"));
  // Two bytes of file for every node that parsing would build.
  std::string nodes;
  for (int i = 0; i < 900000; ++i) nodes += std::string("\x0a\x00", 2);
  std::string bytes = "\x3a";
  for (uint64_t size = nodes.size(); size > 0; size >>= 7) {
    bytes.push_back(static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0)));
  }
  EXPECT_THAT(BytesError(bytes + nodes), HasSubstr("bytes when parsed"));
}

onnx::ModelProto Nested(int depth) {
  onnx::ModelProto proto = Small();
  onnx::GraphProto inner = proto.graph();
  inner.clear_input();
  inner.clear_node();
  inner.clear_initializer();
  for (int i = 0; i < depth; ++i) {
    onnx::GraphProto outer;
    auto* node = outer.add_node();
    node->set_op_type("If");
    node->add_output("y");
    auto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    attribute->mutable_g()->Swap(&inner);
    inner.Swap(&outer);
  }
  proto.mutable_graph()->Swap(&inner);
  return proto;
}

TEST(HostileTest, NestingIsLimited) {
  EXPECT_THAT(Error(Nested(33)), HasSubstr("subgraphs are nested deeper than the limit of 32"));
  EXPECT_THAT(Error(Nested(32)), ::testing::Not(HasSubstr("deeper")));
  // Deeper than protobuf itself would write: built by hand from the inside out.
  std::string bytes;
  const auto wrap = [&](char tag) {
    std::string size;
    for (uint64_t n = bytes.size();; n >>= 7) {
      size.push_back(static_cast<char>((n & 0x7f) | (n >= 0x80 ? 0x80 : 0)));
      if (n < 0x80) break;
    }
    bytes = tag + size + bytes;
  };
  for (int i = 0; i < 10000; ++i) {
    wrap('\x32');  // attribute.g
    wrap('\x2a');  // node.attribute
    wrap('\x0a');  // graph.node
  }
  wrap('\x3a');  // model.graph
  EXPECT_THAT(BytesError(bytes), HasSubstr("nested deeper than the limit"));
}

TEST(HostileTest, Functions) {
  EXPECT_THAT(TextError(R"(
    g (float[2] x) => (float[2] y) { y = local.A(x) }
    <domain: "local", opset_import: ["" : 21, "local" : 1]> A (x) => (y) { y = local.B(x) }
    <domain: "local", opset_import: ["" : 21, "local" : 1]> B (x) => (y) { y = local.A(x) })"),
              HasSubstr("functions call each other in a cycle: function 'local.A' -> function "
                        "'local.B' -> function 'local.A'"));
  // Each function calls the next one twice: 2^40 nodes.
  std::string doubling = "g (float[2] x) => (float[2] y) { y = local.F0(x) }\n";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&doubling, "<domain: \"local\", opset_import: [\"\" : 21, \"local\" : 1]> F", i,
                    " (x) => (y) { t = local.F", i + 1, "(x)  y = local.F", i + 1, "(t) }\n");
  }
  absl::StrAppend(&doubling, "<domain: \"local\", opset_import: [\"\" : 21]> F40 (x) => (y) ",
                  "{ y = Neg(x) }\n");
  ImportOptions options;
  options.max_nodes = 20000;
  EXPECT_THAT(Error(ProtoFromText(absl::StrCat(kHeader, doubling)), options),
              HasSubstr("more than 20000 nodes when its functions are expanded"));
  EXPECT_THAT(TextError(R"(
    g (float[2] x) => (float[2] y) { [call] y = local.A(x, x) }
    <domain: "local", opset_import: ["" : 21]> A (x) => (y) { y = Neg(x) })"),
              HasSubstr("[local.A 'call'] has 2 inputs and 1 outputs, its function has 1 and 1"));
}

class ExternalDataTest : public ::testing::Test {
 protected:
  std::string ErrorWith(const std::vector<std::pair<std::string, std::string>>& entries) {
    onnx::ModelProto proto = Small();
    auto* tensor = proto.mutable_graph()->mutable_initializer(0);
    tensor->clear_float_data();
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const auto model = ImportFile(directory_.Write("models/m.onnx", proto.SerializeAsString()));
    return model.ok() ? "OK" : std::string(model.status().message());
  }

  ScratchDirectory directory_;
};

TEST_F(ExternalDataTest, LocationsOutsideTheModelsDirectory) {
  directory_.Write("secret", "12345678");
  directory_.Write("models/w", "12345678");
  EXPECT_EQ(ErrorWith({{"location", "w"}}), "OK");
  EXPECT_EQ(ErrorWith({{"location", "./w"}}), "OK");
  EXPECT_THAT(ErrorWith({{"location", "../secret"}}), HasSubstr("leaves the model's directory"));
  EXPECT_THAT(ErrorWith({{"location", "sub/../../secret"}}), HasSubstr("with '..'"));
  EXPECT_THAT(ErrorWith({{"location", directory_.path("secret")}}), HasSubstr("is absolute"));
  EXPECT_THAT(ErrorWith({{"location", std::string("w\0x", 3)}}), HasSubstr("contains a NUL byte"));
  EXPECT_THAT(ErrorWith({{"location", "\xff"}}), HasSubstr("is not valid UTF-8"));
  EXPECT_THAT(ErrorWith({{"location", ""}}), HasSubstr("external data without a location"));
  EXPECT_THAT(ErrorWith({}), HasSubstr("external data without a location"));
  EXPECT_THAT(ErrorWith({{"location", "gone"}}), HasSubstr("cannot open external data 'gone'"));
  std::filesystem::create_symlink("../secret", directory_.path("models/link"));
  EXPECT_THAT(ErrorWith({{"location", "link"}}), HasSubstr("leads outside the model's directory"));
  std::filesystem::create_directory_symlink("..", directory_.path("models/up"));
  EXPECT_THAT(ErrorWith({{"location", "up/secret"}}), HasSubstr("leads outside"));
  std::filesystem::create_symlink("w", directory_.path("models/inside"));
  EXPECT_EQ(ErrorWith({{"location", "inside"}}), "OK");
  std::filesystem::create_directory(directory_.path("models/folder"));
  EXPECT_THAT(ErrorWith({{"location", "folder"}}), HasSubstr("is not a regular file"));
}

TEST_F(ExternalDataTest, RangesOutsideTheFile) {
  directory_.Write("models/w", "12345678");
  const auto range = [&](const std::string& offset, const std::string& length) {
    return ErrorWith({{"location", "w"}, {"offset", offset}, {"length", length}});
  };
  EXPECT_EQ(range("0", "8"), "OK");
  EXPECT_THAT(range("1", "8"), HasSubstr("at offset 1 with 8 bytes lies outside 'w' of 8 bytes"));
  EXPECT_THAT(range("9223372036854775807", "8"), HasSubstr("lies outside 'w'"));
  EXPECT_THAT(range("99999999999999999999", "8"),
              HasSubstr("offset '99999999999999999999' is not"));
  EXPECT_THAT(range("-8", "8"), HasSubstr("offset '-8' is not a size in bytes"));
  EXPECT_THAT(range("0", "4"), HasSubstr("has 4 bytes, its shape needs 8"));
  EXPECT_THAT(ErrorWith({{"location", "w"}, {"run", "rm"}}), HasSubstr("the unknown key 'run'"));
  EXPECT_THAT(ErrorWith({{"location", "w"}, {"location", "w"}}), HasSubstr("twice"));
}

TEST(HostileTest, CutAnywhereAModelIsRefusedOrWhole) {
  const std::string bytes = Small().SerializeAsString();
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const size_t size =
        i < static_cast<int>(bytes.size()) ? static_cast<size_t>(i) : random() % bytes.size();
    const auto model = ImportBytes(std::string_view(bytes).substr(0, size));
    EXPECT_TRUE(model.ok() || !model.status().message().empty());
  }
}

TEST(HostileTest, MutatedModelsDoNoHarm) {
  onnx::ModelProto proto = Nested(2);
  proto.mutable_graph()->MergeFrom(Small().graph());
  const std::string bytes[] = {Small().SerializeAsString(), proto.SerializeAsString()};
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 4000; ++i) {
    std::string mutated = bytes[i % 2];
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int change = 0; change < changes; ++change) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    const auto model = ImportBytes(mutated);
    EXPECT_TRUE(model.ok() || !model.status().message().empty());
  }
}

}  // namespace
}  // namespace onward::onnx_io

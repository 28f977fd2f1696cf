// Bad input at the command line: exit code 1, nothing on stdout, and one line on stderr that says
// what, where and why.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out, error;
};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class HostileCommandTest : public ::testing::Test {
 protected:
  Outcome Call(const std::string& arguments) const {
    const std::string error = directory_.path("stderr"), out = directory_.path("stdout");
    const int status =
        std::system(absl::StrCat(ONWARD_PROGRAM, " ", arguments, " >", out, " 2>", error).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ReadAll(out),
            ReadAll(error)};
  }

  void ExpectRefused(const std::string& arguments, const std::string& why) const {
    const Outcome outcome = Call(arguments);
    EXPECT_EQ(outcome.code, 1) << arguments << "\n" << outcome.error;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_THAT(outcome.error, AllOf(StartsWith("error: "), HasSubstr(why))) << arguments;
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  }
  // By `run` and, where the file itself is bad, by `inspect`.
  void ExpectBadModel(const std::string& bytes, const std::string& why, bool inspect = true) {
    const std::string path = directory_.Write("models/m.onnx", bytes);
    ExpectRefused(absl::StrCat("run ", path, " --random"), why);
    if (inspect) ExpectRefused("inspect " + path, why);
  }
  void ExpectBadText(const std::string& text, const std::string& why, bool inspect = true) {
    ExpectBadModel(Proto(text).SerializeAsString(), why, inspect);
  }
  static onnx::ModelProto Proto(const std::string& text) {
    return testing::ProtoFromText("<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n" +
                                  text);
  }
  static onnx::ModelProto Sum() {
    return Proto("g (float[n,2] x) => (float[n,2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
  }
  std::string GoodModel() const {
    return directory_.Write("models/good.onnx", Sum().SerializeAsString());
  }
  // The model with its initializer changed.
  template <typename F>
  void ExpectBadTensor(F&& change, const std::string& why) {
    onnx::ModelProto proto = Sum();
    onnx::TensorProto* tensor = proto.mutable_graph()->mutable_initializer(0);
    change(*tensor);
    ExpectBadModel(proto.SerializeAsString(), why, tensor->external_data_size() == 0);
  }
  void ExpectBadExternal(const std::string& location, const std::string& offset,
                         const std::string& length, const std::string& why) {
    ExpectBadTensor(
        [&](onnx::TensorProto& tensor) {
          tensor.clear_float_data();
          tensor.set_data_location(onnx::TensorProto::EXTERNAL);
          for (const auto& [key, value] : std::array<std::pair<std::string, std::string>, 3>{
                   {{"location", location}, {"offset", offset}, {"length", length}}}) {
            auto* entry = tensor.add_external_data();
            entry->set_key(key);
            entry->set_value(value);
          }
        },
        why);
  }

  testing::ScratchDirectory directory_;
};

TEST_F(HostileCommandTest, NoModel) {
  ExpectRefused("run " + directory_.path("none.onnx"), "none.onnx");
  ExpectRefused("inspect " + directory_.path("none.onnx"), "none.onnx");
  ExpectRefused("run " + directory_.path(), "is not a regular file");
  ExpectBadModel("", "the model is empty (0 bytes)");
  ExpectBadModel("hello", "not a valid ONNX file");
  ExpectBadModel("<html>404</html>", "not an ONNX model but a web page");
  const std::string whole = Sum().SerializeAsString();
  ExpectBadModel(whole.substr(0, whole.size() / 2), "cut off?");
}

TEST_F(HostileCommandTest, UnknownThingsAreAllListed) {
  ExpectBadText("g (float[2] x) => (float[2] y) { [a] t = Foo(x) [b] y = com.acme.Bar(t) }",
                "[Foo 'a'] is not an operator of ai.onnx opset 21", false);
  ExpectBadText("g (float[2] x) => (float[2] y) { [a] t = Foo(x) [b] y = com.acme.Bar(t) }",
                "[com.acme.Bar 'b'] its domain 'com.acme' is not supported", false);
  onnx::ModelProto unknown = Sum();
  unknown.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      29);
  ExpectBadModel(unknown.SerializeAsString(), "value 'x': dtype 29 is not one of");
}

TEST_F(HostileCommandTest, Cycles) {
  ExpectBadText("g (float[2] x) => (float[2] y) { y = Add(x, t) t = Neg(y) }",
                "the graph has a cycle");
  ExpectBadText(R"(
    g (float[2] x) => (float[2] y) { y = local.A(x) }
    <domain: "local", opset_import: ["" : 21, "local" : 1]> A (x) => (y) { y = local.B(x) }
    <domain: "local", opset_import: ["" : 21, "local" : 1]> B (x) => (y) { y = local.A(x) })",
                "functions call each other in a cycle: function 'local.A' -> function 'local.B'");
}

TEST_F(HostileCommandTest, Inputs) {
  const std::string good = "run " + GoodModel();
  EXPECT_EQ(Call(good + " --input x=1,2").code, 0);
  ExpectRefused(good, "missing input 'x' (float32[n,2]): --input x=FILE gives it, --random");
  ExpectRefused(good + " --input xx=1,2", "the model has no input 'xx'; did you mean 'x'?");
  ExpectRefused(good + " --input x=1,two", "is neither a file nor values of float32");
  ExpectRefused(good + " --input x=1,2,3 --shape x=1x3",
                "input 'x': dimension 1 is 3 (expected float32[n,2], got float32[1,3])");
  ExpectRefused(good + " --input x=1,2 --shape x=2", "input 'x': wrong rank 1");
  const std::string npy = directory_.Write(
      "x.npy", std::string("\x93NUMPY\x01\x00\x46\x00", 10) +
                   "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }          \n" +
                   std::string(16, '\0'));
  ExpectRefused(absl::StrCat(good, " --input x=", npy), "input 'x': wrong dtype");
  ExpectRefused(absl::StrCat(good, " --input x=", directory_.path("no.npy")), "no.npy");
  const std::string half = directory_.Write("half.npy", ReadAll(npy).substr(0, 90));
  ExpectRefused(absl::StrCat(good, " --input x=", half), "half.npy");
  ExpectRefused(absl::StrCat(good, " --input x=", directory_.Write("x.pb", "\xff\xff")), "x.pb");
  ExpectRefused(good + " --random --shape x=1000000000000x2", "out of memory");
}

TEST_F(HostileCommandTest, Tensors) {
  ExpectBadTensor(
      [](auto& t) {
        t.clear_float_data();
        t.set_raw_data("1234");
      },
      "initializer 'w': raw_data has 4 bytes, shape [2] of float32 needs 8");
  ExpectBadTensor([](auto& t) { t.set_dims(0, -2); }, "has a negative dimension");
  ExpectBadTensor(
      [](auto& t) {
        t.set_dims(0, int64_t{1} << 62);
        t.add_dims(int64_t{1} << 62);
      },
      "more than 2^63 elements");
  ExpectBadTensor([](auto& t) { t.set_data_type(99); }, "dtype 99 is not one of");
}

TEST_F(HostileCommandTest, ExternalData) {
  directory_.Write("secret", "12345678");
  directory_.Write("models/w", "12345678");
  std::filesystem::create_symlink("../secret", directory_.path("models/link"));
  ExpectBadExternal("../secret", "0", "8", "leaves the model's directory");
  ExpectBadExternal(directory_.path("secret"), "0", "8", "is absolute");
  ExpectBadExternal("link", "0", "8", "leads outside the model's directory");
  ExpectBadExternal("w", "4", "8", "at offset 4 with 8 bytes lies outside 'w' of 8 bytes");
  ExpectBadExternal("w", "9223372036854775807", "8", "lies outside 'w'");
  ExpectBadExternal("w", "0", "4", "external data has 4 bytes, its shape needs 8");
  ExpectBadExternal("gone", "0", "8", "cannot open external data 'gone'");
}

TEST_F(HostileCommandTest, DeepNesting) {
  std::string bytes;
  for (int i = 0; i < 30000; ++i) {
    std::string head(1, "\x0a\x2a\x32"[2 - i % 3]);  // graph.node, node.attribute, attribute.g
    for (uint64_t n = bytes.size();; n >>= 7) {
      head.push_back(static_cast<char>((n & 0x7f) | (n >= 0x80 ? 0x80 : 0)));
      if (n < 0x80) break;
    }
    bytes.insert(0, head);
  }
  std::string model = "\x3a";
  for (uint64_t n = bytes.size();; n >>= 7) {
    model.push_back(static_cast<char>((n & 0x7f) | (n >= 0x80 ? 0x80 : 0)));
    if (n < 0x80) break;
  }
  ExpectBadModel(model + bytes, "nested deeper than the limit");
}

TEST_F(HostileCommandTest, IndicesAtRunTime) {
  const std::string path = directory_.Write(
      "gather.onnx", Proto("g (float[3] x, int64[n] i) => (float[n] y) { [pick] y = Gather(x, i) }")
                         .SerializeAsString());
  EXPECT_EQ(Call(absl::StrCat("run ", path, " --input x=1,2,3 --input i=0,-1")).code, 0);
  ExpectRefused(absl::StrCat("run ", path, " --input x=1,2,3 --input i=0,3"),
                "[Gather 'pick'] index 3 at position 1 is out of range for an axis of size 3");
}

}  // namespace
}  // namespace onward

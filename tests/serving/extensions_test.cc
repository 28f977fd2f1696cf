// Binary tensors, classification, compressed bodies and keys, over sockets.
#include <cstring>
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/graph.h"
#include "serving/http/compression.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using nlohmann::json;
using onward::testing::Client;
using onward::testing::ModelFromText;
using onward::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTwice[] = "g (float[n, 2] x) => (float[n, 2] y) { y = Add(x, x) }";
constexpr char kText[] = "g (string[n] x) => (string[n] y) { y = Identity(x) }";
constexpr char kInfer[] = "/v2/models/twice/infer";
constexpr char kPlain[] =
    R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1.5,-2]}]})";

class ExtensionsTest : public ::testing::Test {
 protected:
  static std::shared_ptr<ServedModel> Model(const std::string& name, const std::string& text) {
    auto model = ModelFromText(text);
    EXPECT_TRUE(model.ok()) << model.status();
    model->metadata["onward.classes"] = R"({"output":"y","names":["cat","dog"]})";
    auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
    EXPECT_TRUE(session.ok()) << session.status();
    auto served = ServedModel::Create(name, *std::move(session));
    EXPECT_TRUE(served.ok()) << served.status();
    return served.ok() ? *served : nullptr;
  }

  void Start(ServerOptions options = {}) {
    options.address.port = 0;
    auto server = Server::Start({Model("twice", kTwice), Model("text", kText)}, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  static std::string Length(size_t json) {
    return absl::StrCat("inference-header-content-length: ", json, "\r\n");
  }
  static std::string BytesOf(std::vector<float> values) {
    std::string bytes(values.size() * sizeof(float), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  // The JSON that asks for `rows` rows by bytes.
  static std::string Binary(int rows, const std::string& members) {
    return absl::StrCat(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[)", rows,
                        R"(,2],"parameters":{"binary_data_size":)", rows * 8, "}}]", members, "}");
  }
  // The JSON of a reply with bytes; these are in `binary`.
  static json Split(const Reply& reply, std::string& binary) {
    constexpr char kField[] = "Inference-Header-Content-Length: ";
    const size_t at = reply.head.find(kField);
    EXPECT_NE(at, std::string::npos) << reply.head << reply.body;
    if (at == std::string::npos) return {};
    const size_t length = std::strtoul(reply.head.c_str() + at + sizeof(kField) - 1, nullptr, 10);
    EXPECT_THAT(reply.head, HasSubstr("Content-Type: application/octet-stream\r\n"));
    binary = reply.body.substr(length);
    return json::parse(reply.body.substr(0, length));
  }

  std::unique_ptr<Server> server_;
};

TEST_F(ExtensionsTest, BinaryBothWays) {
  Start();
  Client client(server_->port());
  for (const int rows : {0, 1, 30000}) {
    const std::string asked = Binary(rows, R"(,"id":"7","parameters":{"binary_data_output":true})");
    const std::string body =
        asked + BytesOf(std::vector<float>(static_cast<size_t>(rows) * 2, 1.5f));
    std::string binary;
    const json reply = Split(client.Ask("POST", kInfer, body, Length(asked.size())), binary);
    EXPECT_EQ(reply, json::parse(absl::StrCat(
                         R"({"model_name":"twice","model_version":"1","id":"7","outputs":[
                             {"name":"y","datatype":"FP32","shape":[)",
                         rows, R"(,2],"parameters":{"binary_data_size":)", rows * 8, "}}]}")));
    EXPECT_TRUE(binary == BytesOf(std::vector<float>(static_cast<size_t>(rows) * 2, 3.0f)));
  }
}

TEST_F(ExtensionsTest, MixesOfJsonAndBinary) {
  Start();
  Client client(server_->port());
  const std::string asked = Binary(1, "");
  const Reply as_json = client.Ask("POST", kInfer, asked + BytesOf({1, 2}), Length(asked.size()));
  EXPECT_EQ(json::parse(as_json.body)["outputs"][0]["data"], json({2, 4}));
  EXPECT_THAT(as_json.head, Not(HasSubstr("Inference-Header-Content-Length")));
  json plain = json::parse(kPlain);
  plain["outputs"] = {{{"name", "y"}, {"parameters", {{"binary_data", true}}}}};
  std::string binary;
  Split(client.Ask("POST", kInfer, plain.dump()), binary);
  EXPECT_EQ(binary, BytesOf({3, -4}));
  Split(client.Ask("POST", kInfer, BytesOf({1, 2, 3, 4}), Length(0)), binary);  // raw
  EXPECT_EQ(binary, BytesOf({2, 4, 6, 8}));
  using namespace std::string_view_literals;  // NOLINT: of bytes with a NUL
  Split(client.Ask("POST", "/v2/models/text/infer", "\xff any", Length(0)), binary);
  EXPECT_EQ(binary, "\5\0\0\0\xff any"sv);
}

TEST_F(ExtensionsTest, WrongLengthsLeaveTheConnectionUsable) {
  Start();
  Client client(server_->port());
  const std::string asked = Binary(1, ""), body = asked + BytesOf({1, 2});
  const std::string field = "Inference-Header-Content-Length: ";
  for (const std::string& fields :
       {std::string(), Length(0), Length(asked.size() - 1), Length(asked.size() + 1),
        Length(body.size() + 1), field + "-1\r\n", field + "+5\r\n", field + "2147483648\r\n",
        field + "18446744073709551616\r\n", field + "many\r\n",
        Length(asked.size()) + Length(asked.size() - 1)}) {
    const Reply reply = client.Ask("POST", kInfer, body, fields);
    EXPECT_EQ(reply.status, 400) << fields;
    EXPECT_TRUE(json::parse(reply.body).contains("error")) << reply.body;
  }
  for (const std::string& wrong : {body.substr(0, body.size() - 1), body + "a"})
    EXPECT_EQ(client.Ask("POST", kInfer, wrong, Length(asked.size())).status, 400);
  EXPECT_EQ(client.Ask("POST", kInfer, body, Length(asked.size())).status, 200);
}

TEST_F(ExtensionsTest, Classification) {
  Start();
  Client client(server_->port());
  json asked = json::parse(kPlain);
  asked["outputs"] = {{{"name", "y"}, {"parameters", {{"classification", 5}}}}};
  const json reply = json::parse(client.Ask("POST", kInfer, asked.dump()).body);
  EXPECT_EQ(reply["outputs"][0], json::parse(R"({"name":"y","datatype":"BYTES","shape":[1,2],
                            "data":["3:0:cat","-4:1:dog"]})"));
  asked["inputs"] = {{{"name", "x"}, {"datatype", "BYTES"}, {"shape", {1}}, {"data", {"a"}}}};
  const Reply text = client.Ask("POST", "/v2/models/text/infer", asked.dump());
  EXPECT_EQ(text.status, 400);
  EXPECT_THAT(text.body, HasSubstr("output 'y': classification needs scores that are numbers"));
}

TEST_F(ExtensionsTest, CompressedBodies) {
  ServerOptions options;
  options.limits.body_bytes = 20000;
  Start(options);
  Client client(server_->port());
  // 2000 rows are 16000 bytes: the JSON's length is larger than that of the compressed body.
  const std::string asked = Binary(2000, R"(,"parameters":{"binary_data_output":true})");
  const std::string body = asked + BytesOf(std::vector<float>(4000, 1.5f));
  for (const auto& [name, coding] :
       {std::pair("gzip", Coding::kGzip), std::pair("deflate", Coding::kDeflate)}) {
    const std::string sent = *Compress(coding, {body});
    ASSERT_LT(sent.size(), asked.size() + 100);
    const std::string fields = absl::StrCat(
        "Content-Encoding: ", name, "\r\nAccept-Encoding: ", name, "\r\n", Length(asked.size()));
    Reply reply = client.Ask("POST", kInfer, sent, fields);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_THAT(reply.head, HasSubstr(absl::StrCat("Content-Encoding: ", name, "\r\n")));
    reply.body = *Decompress(coding, reply.body, 20000);
    std::string binary;
    Split(reply, binary);
    EXPECT_TRUE(binary == BytesOf(std::vector<float>(4000, 3.0f)));
    const std::string bomb = *Compress(coding, {std::string(20001, ' ')});
    EXPECT_EQ(client.Ask("POST", kInfer, bomb, fields).status, 413);
    EXPECT_EQ(client.Ask("POST", kInfer, sent.substr(0, sent.size() - 1), fields).status, 400);
  }
  const Reply unknown = client.Ask("POST", kInfer, kPlain, "Content-Encoding: br\r\n");
  EXPECT_EQ(unknown.status, 415);
  EXPECT_THAT(unknown.head, HasSubstr("Accept-Encoding: gzip, deflate\r\n"));
  EXPECT_EQ(client.Ask("POST", kInfer, kPlain).status, 200);
}

TEST_F(ExtensionsTest, Keys) {
  const onward::testing::ScratchDirectory directory;
  ServerOptions options;
  options.keys.api = *KeyList::Read(directory.Write("keys", "secret-1\n"));
  Start(options);
  Client client(server_->port());
  EXPECT_EQ(client.Ask("GET", "/v2/health/live").status, 200);
  EXPECT_EQ(client.Ask("GET", "/v2").status, 200);
  for (const char* path : {"/v2/models", "/v2/models/twice", "/v2/models/twice/versions/1/ready"}) {
    const Reply none = client.Ask("GET", path);
    EXPECT_EQ(none.status, 401) << path;
    EXPECT_THAT(none.head, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  }
  const auto infer = [&](const std::string& key) {
    return client.Ask("POST", kInfer, kPlain, absl::StrCat("Authorization: Bearer ", key, "\r\n"));
  };
  EXPECT_EQ(infer("secret-1").status, 200);
  EXPECT_EQ(infer("secret-2").status, 403);
  EXPECT_THAT(infer("secret-2").body, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace onward::serving

// GET /openapi.json: what it says of the models holds when a client does as it says.
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/routes.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using nlohmann::json;
using onward::testing::Client;
using onward::testing::ModelFromText;

class OpenApiTest : public ::testing::Test {
 protected:
  void Add(const std::string& name, const std::string& text) {
    auto model = ModelFromText(text);
    ASSERT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1});
    ASSERT_TRUE(session.ok()) << session.status();
    auto served = ServedModel::Create(name, *std::move(session));
    ASSERT_TRUE(served.ok()) << served.status();
    models_.push_back(*std::move(served));
  }

  json Start(ServerOptions options = {}, const std::string& fields = "") {
    options.address.port = 0;
    options.version = "0.1";
    auto server = Server::Start(std::move(models_), options);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<Client>(server_->port());
    const auto reply = client_->Ask("GET", "/openapi.json", "", fields);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body);
  }

  std::vector<std::shared_ptr<ServedModel>> models_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

constexpr char kKinds[] =
    "g (float[n, 2] x, int64 k, bool[3] b, string[n] s, float16[2, 2] h)"
    " => (float[n, 2] y, int64 z, bool[3] c, string[n] t, float16[2, 2] i)"
    " { y = Identity(x) z = Identity(k) c = Identity(b) t = Identity(s) i = Identity(h) }";

TEST_F(OpenApiTest, ExamplesWorkWhenPosted) {
  Add("kinds", kKinds);
  Add("a model", "g (float[n] x) => (float[n] y) { y = Neg(x) }");
  Add("windows",
      "g (float[n, 1, h, w] x) => (float[n, 1, i, j] y) "
      "{ y = MaxPool<kernel_shape = [20, 3]>(x) }");
  const json document = Start();
  EXPECT_EQ(document["openapi"], "3.0.3");
  EXPECT_EQ(document["info"]["version"], "0.1");
  for (const char* path :
       {"/v2/models/kinds/infer", "/v2/models/a%20model/infer", "/v2/models/windows/infer"}) {
    const json& content =
        document["paths"][path]["post"]["requestBody"]["content"]["application/json"];
    const auto reply = client_->Ask("POST", path, content["example"].dump());
    EXPECT_EQ(reply.status, 200) << path << ": " << content["example"] << reply.body;
  }
}

TEST_F(OpenApiTest, RequestsAreDescribed) {
  Add("kinds", kKinds);
  const json operation = Start()["paths"]["/v2/models/kinds/infer"]["post"];
  const json& request = operation["requestBody"]["content"]["application/json"]["schema"];
  const json& inputs = request["properties"]["inputs"];
  EXPECT_EQ(request["required"], json({"inputs"}));
  EXPECT_EQ(inputs["minItems"], 5);
  EXPECT_EQ(inputs["maxItems"], 5);
  const json& x = inputs["items"]["oneOf"][0]["properties"];
  EXPECT_EQ(x["name"]["enum"], json::array({"x"}));
  EXPECT_EQ(x["datatype"]["enum"], json::array({"FP32"}));
  EXPECT_EQ(x["shape"]["minItems"], 2);
  EXPECT_EQ(x["shape"]["description"], "[-1,2], -1 for dims that vary");
  EXPECT_EQ(inputs["items"]["oneOf"][3]["properties"]["data"]["items"]["anyOf"][0]["type"],
            "string");
  EXPECT_EQ(operation["security"], json::array());
  const json& reply = operation["responses"]["200"]["content"]["application/json"]["schema"];
  EXPECT_EQ(reply["properties"]["outputs"]["items"]["oneOf"].size(), 5);
}

// Each route that is listed is there with its method, each path's names are its parameters.
TEST_F(OpenApiTest, PathsAreThoseOfTheRoutes) {
  const json paths = Start()["paths"];
  size_t listed = 0, described = 0;
  for (const Route& route : Routes()) listed += route.summary != nullptr;
  for (const auto& [path, methods] : paths.items()) {
    for (const auto& [method, operation] : methods.items()) {
      ++described;
      EXPECT_EQ(std::count(path.begin(), path.end(), '{'),
                static_cast<std::ptrdiff_t>(operation.value("parameters", json::array()).size()));
      for (const json& parameter : operation.value("parameters", json::array()))
        EXPECT_NE(path.find("{" + parameter["name"].get<std::string>() + "}"), path.npos) << path;
    }
  }
  EXPECT_EQ(described, listed);
  EXPECT_EQ(paths["/v2/models/{model}/versions/{version}"]["get"]["parameters"].size(), 2);
  EXPECT_EQ(paths["/v2/repository/index"]["post"]["security"][0].count("adminKey"), 1);
  EXPECT_FALSE(paths.contains("/v2/repository/{model}/index"));
}

TEST_F(OpenApiTest, WantsTheKeyOfInference) {
  const onward::testing::ScratchDirectory directory;
  ServerOptions options;
  options.keys.api = *KeyList::Read(directory.Write("keys", "secret-1\n"));
  Add("kinds", kKinds);
  const json document = Start(options, "Authorization: Bearer secret-1\r\n");
  EXPECT_EQ(document["paths"]["/v2/models/kinds/infer"]["post"]["security"][0].count("apiKey"), 1);
  EXPECT_EQ(client_->Ask("GET", "/openapi.json").status, 401);
}

// Zeros of a large input would make the description large.
TEST_F(OpenApiTest, LargeInputsHaveNoExample) {
  Add("large", "g (float[n, 1000, 1000] x) => (float[n, 1000, 1000] y) { y = Neg(x) }");
  const json document = Start();
  const json& content = document["paths"]["/v2/models/large/infer"]["post"]["requestBody"]
                                ["content"]["application/json"];
  EXPECT_TRUE(content.contains("schema"));
  EXPECT_FALSE(content.contains("example"));
}

}  // namespace
}  // namespace onward::serving

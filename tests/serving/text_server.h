// A server with the model of text_fixture.h, and a client that posts JSON to it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/serving/text_fixture.h"

namespace onward::serving {

class TextServerTest : public ::testing::Test {
 protected:
  using json = nlohmann::json;

  void Start(TextFacts facts = {}, files::Tokenizer tokenizer = LettersTokenizer()) {
    text_ = LettersTextModel(std::move(facts), /*rows=*/4, std::move(tokenizer));
    auto served = ServedModel::Create("letters", std::shared_ptr<Session>(text_, text_->session()),
                                      {.text = text_});
    ASSERT_TRUE(served.ok()) << served.status();
    Serve({*served});
  }
  void Serve(std::vector<std::shared_ptr<ServedModel>> models) {
    ServerOptions options;
    options.address.port = 0;
    auto server = Server::Start(std::move(models), options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<testing::Client>(server_->port());
  }

  testing::Reply Post(const std::string& path, const json& body) {
    return client_->Ask("POST", path, body.dump());
  }
  // The reply's JSON; its status must be 200.
  json Posted(const std::string& path, const json& body) {
    const testing::Reply reply = Post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body, nullptr, false);
  }
  // The data of a stream's events.
  static std::vector<std::string> Events(const std::string& body) {
    std::vector<std::string> events;
    for (size_t at = 0; at < body.size();) {
      const size_t end = body.find("\n\n", at);
      EXPECT_EQ(body.substr(at, 6), "data: ");
      EXPECT_NE(end, body.npos);
      if (end == body.npos) break;
      events.push_back(body.substr(at + 6, end - at - 6));
      at = end + 2;
    }
    return events;
  }

  std::shared_ptr<TextModel> text_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<testing::Client> client_;
};

}  // namespace onward::serving

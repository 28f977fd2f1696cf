// A server on a repository of models in a directory of the test's own.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/import.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"

namespace onward::testing {

// The bytes of a model of one graph, in ONNX's text syntax.
inline std::string ModelBytes(const std::string& graph) {
  return ProtoFromText(R"(<ir_version: 10, opset_import: ["" : 21]>)" + graph).SerializeAsString();
}

// y = factor * x, over rows of two.
inline std::string Times(int factor) {
  return ModelBytes(absl::StrCat("g (float[n, 2] x) => (float[n, 2] y) <float f = {", factor,
                                 "}> { y = Mul(x, f) }"));
}

inline serving::SessionLoader LoadSession() {
  serving::SessionLoader loader;
  loader.import = [](const std::string& path) {
    ImportOptions options;
    options.copy_weights = true;
    return ImportFile(path, options);
  };
  loader.create = [](Model model, const std::string& provider) {
    SessionOptions options;
    options.provider = provider;
    options.num_threads = 1;
    options.check_rows = true;
    return Session::Create(std::move(model), options);
  };
  return loader;
}

class RepositoryTest : public ::testing::Test {
 protected:
  using json = nlohmann::json;

  // Serves the directory. The error of loading, if there is one.
  absl::Status Start(const std::vector<serving::ModelSource>& places) {
    serving::ServerOptions options;
    options.address.port = 0;
    options.version = "0.1";
    options.keys.admin = *serving::KeyList::Read(keys_.Write("keys", "key-of-an-administrator\n"));
    options.load_session = LoadSession();
    options.trace_directory = trace_directory_;
    options.open_grpc = open_grpc_;
    options.log = [this](const LogRecord& record) {
      const std::lock_guard lock(mutex_);
      absl::StrAppend(&log_, record.message, "\n");
    };
    auto server = serving::Server::Start({}, options);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    if (absl::Status status = server_->Load(places); !status.ok()) return status;
    while (!server_->Loaded()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return *server_->Loaded();
  }
  void StartDirectory() {
    const absl::Status status = Start({{"", directory_.path()}});
    ASSERT_TRUE(status.ok()) << status;
  }

  // A request on a connection of its own; the body of the reply.
  std::string Ask(const std::string& method, const std::string& path, const std::string& body,
                  int status) {
    Client client(server_->port());
    const Reply reply =
        client.Ask(method, path, body, "Authorization: Bearer key-of-an-administrator\r\n");
    EXPECT_EQ(reply.status, status) << path << ": " << reply.body;
    return reply.body;
  }
  json Get(const std::string& path, int status = 200) {
    return json::parse(Ask("GET", path, "", status), nullptr, false);
  }
  json Post(const std::string& path, const std::string& body = "", int status = 200) {
    const std::string reply = Ask("POST", path, body, status);
    return reply.empty() ? json() : json::parse(reply, nullptr, false);
  }

  // The first element of what the model makes of {1, 2} times so many rows, and its version.
  std::pair<double, std::string> Infer(const std::string& path, int rows = 1) {
    json data = json::array();
    for (int i = 0; i < rows; ++i) data.push_back({1, 2});
    const json asked = {
        {"inputs", {{{"name", "x"}, {"datatype", "FP32"}, {"shape", {rows, 2}}, {"data", data}}}}};
    const json reply = Post(path + "/infer", asked.dump());
    if (!reply.contains("outputs")) return {0, reply.dump()};
    return {reply["outputs"][0]["data"][0], reply["model_version"]};
  }

  std::string Log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  ScratchDirectory directory_, keys_;
  std::string trace_directory_;
  serving::OpenListener open_grpc_;
  std::mutex mutex_;
  std::string log_;  // guarded by mutex_
  std::unique_ptr<serving::Server> server_;
};

}  // namespace onward::testing

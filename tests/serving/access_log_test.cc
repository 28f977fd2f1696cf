// A line for each request, and what administrators may change of the log.
#include "serving/access_log.h"

#include <mutex>
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/protocol/traceparent.h"
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

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kTraceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kAsk[] =
    R"({"inputs":[{"name":"x","datatype":"FP32","shape":[3,2],"data":[1,2,3,4,5,6]}]})";

TEST(Traceparent, IsValidated) {
  const std::string good = kTraceparent;
  EXPECT_EQ(TraceIdOf(good), kTrace);
  EXPECT_EQ(TraceIdOf("01" + good.substr(2) + "-more"), kTrace);
  const auto with = [&](size_t at, char c) {
    std::string changed = good;
    changed[at] = c;
    return changed;
  };
  for (const std::string& wrong :
       {std::string(), good.substr(0, 54), good + "-more", good + "0",
        "01" + good.substr(2) + "more", "ff" + good.substr(2), with(2, '_'), with(35, '0'),
        with(52, ' '), with(10, 'A'), with(10, 'g'), with(54, 'x'),
        "00-" + std::string(32, '0') + good.substr(35),
        good.substr(0, 36) + std::string(16, '0') + "-01",
        "01" + good.substr(2) + "-" + std::string(600, 'a')})
    EXPECT_EQ(TraceIdOf(wrong), "") << wrong;
}

class AccessLogTest : public ::testing::Test {
 protected:
  void Start(ServerOptions options) {
    auto model = ModelFromText("g (float[n, 2] x) => (float[n, 2] y) { y = Add(x, x) }");
    ASSERT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
    ASSERT_TRUE(session.ok()) << session.status();
    auto served = ServedModel::Create("twice", *std::move(session));
    ASSERT_TRUE(served.ok()) << served.status();
    options.address.port = 0;
    options.keys.admin = *KeyList::Read(keys_.Write("keys", "secret-1\n"));
    auto server = Server::Start({*std::move(served)}, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<Client>(server_->port());
  }

  // Lines are written before the replies are sent.
  AccessLog Taking() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }
  LogSink TakingRecords() {
    return [this](const LogRecord& record) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(record.message);
    };
  }
  std::vector<std::string> Lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  Reply AskAsAdministrator(const std::string& method, const std::string& body = "") {
    return client_->Ask(method, "/v2/logging", body, "Authorization: Bearer secret-1\r\n");
  }

  onward::testing::ScratchDirectory keys_;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(AccessLogTest, OneLineForEachRequest) {
  ServerOptions options;
  options.access_log = Taking();
  Start(options);
  const Reply reply =
      client_->Ask("POST", "/v2/models/twice/infer?key=hidden", kAsk,
                   absl::StrCat("traceparent: ", kTraceparent, "\r\nX-Key: hidden\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr(absl::StrCat("traceparent: ", kTraceparent, "\r\n")));
  const Reply none = client_->Ask("GET", "/v2/a%20b\"/x", "",
                                  "traceparent: 00-0-0-01\r\nAuthorization: Bearer hidden\r\n");
  EXPECT_THAT(none.head, Not(HasSubstr("traceparent")));
  Client malformed(server_->port());
  malformed.Send("GET /v2 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(malformed.Read().status, 400);
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, Not(HasSubstr("hidden")));
    EXPECT_EQ(line.find('\n'), line.npos);
  }
  const json first = json::parse(lines[0]), second = json::parse(lines[1]);
  EXPECT_EQ(first["client"], "127.0.0.1");
  EXPECT_EQ(first["method"], "POST");
  EXPECT_EQ(first["path"], "/v2/models/twice/infer");
  EXPECT_EQ(first["model"], "twice");
  EXPECT_EQ(first["version"], "1");
  EXPECT_EQ(first["status"], 200);
  EXPECT_EQ(first["bytes_in"], std::string_view(kAsk).size());
  EXPECT_EQ(first["bytes_out"], reply.body.size());
  EXPECT_EQ(first["batch_rows"], 3);
  EXPECT_EQ(first["trace_id"], kTrace);
  EXPECT_GE(first["total_us"], first["compute_us"]);
  EXPECT_GE(first["queue_us"], 0);
  EXPECT_THAT(first["time"].get<std::string>(), ::testing::ContainsRegex("^20.*T.*\\.[0-9]*Z$"));
  EXPECT_EQ(second["status"], 404);
  EXPECT_EQ(second["path"], "/v2/a%20b%22/x");
  EXPECT_GT(second["id"], first["id"]);
  EXPECT_FALSE(second.contains("model"));
  EXPECT_FALSE(second.contains("trace_id"));
  EXPECT_EQ(json::parse(lines[2])["status"], 400);
}

TEST_F(AccessLogTest, AdministratorsChangeTheLog) {
  ServerOptions options;
  options.log = TakingRecords();
  Start(options);
  const json usual = json::parse(R"({"log_file":"","log_format":"default","log_verbose_level":0,
                                     "log_info":true,"log_warning":true,"log_error":true})");
  EXPECT_EQ(json::parse(client_->Ask("GET", "/v2/logging").body), usual);
  EXPECT_EQ(Lines().size(), 0U);
  json changed = usual;
  changed["log_verbose_level"] = 1;
  const Reply reply = AskAsAdministrator("POST", R"({"log_verbose_level":1})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(json::parse(reply.body), changed);
  client_->Ask("GET", "/v2");
  ASSERT_EQ(Lines().size(), 1U);
  EXPECT_EQ(json::parse(Lines()[0])["path"], "/v2");
  AskAsAdministrator("POST", R"({"log_info":false})");
  client_->Ask("GET", "/v2");
  EXPECT_EQ(Lines().size(), 1U);
  EXPECT_THAT(json::parse(client_->Ask("GET", "/v2").body)["extensions"],
              ::testing::Contains("logging"));
}

TEST_F(AccessLogTest, WrongChangesChangeNothing) {
  Start({});
  EXPECT_EQ(client_->Ask("POST", "/v2/logging", "{}").status, 401);
  const std::string before = client_->Ask("GET", "/v2/logging").body;
  const auto error = [&](const std::string& body) {
    const Reply reply = AskAsAdministrator("POST", body);
    EXPECT_EQ(reply.status, 400) << body;
    return reply.body;
  };
  EXPECT_THAT(error(R"({"log_info":false,"log_file":"/tmp/x"})"), HasSubstr("log_file: cannot"));
  EXPECT_THAT(error(R"({"log_info":1})"), HasSubstr("log_info: expected true or false"));
  EXPECT_THAT(error(R"({"log_verbose_level":-1})"), HasSubstr("at least 0"));
  EXPECT_THAT(error(R"({"log_verbose_level":4294967296})"), HasSubstr("at least 0"));
  EXPECT_THAT(error(R"({"log_format":"ISO8601"})"), HasSubstr("log_format"));
  EXPECT_THAT(error(R"({"log_inof":true})"), HasSubstr("did you mean 'log_info'"));
  for (const char* body : {"", "[]", "{", "null"})
    EXPECT_THAT(error(body), HasSubstr("not a JSON object"));
  EXPECT_EQ(client_->Ask("GET", "/v2/logging").body, before);
}

}  // namespace
}  // namespace onward::serving

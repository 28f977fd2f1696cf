#include "serving/client/load.h"

#include "serving/client/server_connection.h"
//
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostRequests = 20e6;  // whose latencies are kept

absl::Status CheckLoad(const LoadOptions& options) {
  const double seconds = options.time.count();
  if (!(options.rate > 0) || !(seconds > 0) || options.rate * seconds > kMostRequests)
    return absl::InvalidArgumentError(
        absl::StrCat("a rate of ", options.rate, " requests a second for ", seconds,
                     " s: expected both above 0, and at most ", kMostRequests, " requests"));
  if (options.connections < 1 || options.connections > 10000)
    return absl::InvalidArgumentError(
        absl::StrCat(options.connections, " connections: expected 1 to 10000"));
  return absl::OkStatus();
}

using Requests = std::vector<std::shared_ptr<const std::string>>;

// One load, of one thread.
class Load {
 public:
  Load(const HttpClientOptions& server, const LoadOptions& options, Requests requests,
       std::shared_ptr<ServerPlace> place)
      : most_(server.most),
        options_(options),
        requests_(std::move(requests)),
        place_(std::move(place)) {
    report_.planned =
        std::max<int64_t>(1, static_cast<int64_t>(options.rate * options.time.count()));
  }

  LoadReport Run() {
    begin_ = Clock::now();
    end_ = PlannedAt(report_.planned - 1) + most_;
    SendDue();
    context_.run();
    report_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (begun_ < report_.planned)
      report_.lost["no connection was free in time"] += report_.planned - begun_;
    return std::move(report_);
  }

 private:
  Clock::time_point PlannedAt(int64_t index) const {
    return begin_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(static_cast<double>(index) / options_.rate));
  }

  // Sends those whose time has come, as far as there are connections, and waits for the next one.
  void SendDue() {
    const Clock::time_point now = Clock::now();
    while (due_ < report_.planned && PlannedAt(due_) <= now) ++due_;
    SendWaiting();
    if (due_ == report_.planned) return;
    timer_.expires_at(PlannedAt(due_));
    timer_.async_wait([this](Stream::Error) { SendDue(); });
  }

  void SendWaiting() {
    while (begun_ < due_ && Clock::now() < end_) {
      std::shared_ptr<ServerConnection> connection;
      if (!idle_.empty()) {
        connection = std::move(idle_.back());
        idle_.pop_back();
      } else if (opened_ < options_.connections) {
        ++opened_;
        connection = std::make_shared<ServerConnection>(context_, place_);
      } else {
        break;
      }
      SendOn(std::move(connection), begun_++);
    }
    report_.most_behind = std::max(report_.most_behind, due_ - begun_);
  }

  void SendOn(std::shared_ptr<ServerConnection> connection, int64_t index) {
    connection->Ask(requests_[RequestAt(index)], most_,
                    [this, connection, index](absl::StatusOr<ServerReply> reply) {
                      Note(reply, index);
                      idle_.push_back(connection);
                      SendWaiting();
                    });
  }

  size_t RequestAt(int64_t index) const { return static_cast<size_t>(index) % requests_.size(); }

  void Note(const absl::StatusOr<ServerReply>& reply, int64_t index) {
    if (!reply.ok()) {
      ++report_.lost[std::string(reply.status().message())];
      return;
    }
    const double latency =
        std::chrono::duration<double, std::milli>(Clock::now() - PlannedAt(index)).count();
    ++report_.replies;
    ++report_.by_status[reply->status];
    if (reply->status != 200) return report_.refusals.push_back(latency);
    report_.latencies.push_back(latency);
    const bool right = options_.is_right == nullptr || options_.is_right(*reply, RequestAt(index));
    ++(right ? report_.right : report_.wrong);
  }

  const std::chrono::milliseconds most_;
  const LoadOptions& options_;
  const Requests requests_;
  const std::shared_ptr<ServerPlace> place_;
  boost::asio::io_context context_{1};
  boost::asio::steady_timer timer_{context_};
  std::vector<std::shared_ptr<ServerConnection>> idle_;
  int opened_ = 0;
  int64_t due_ = 0, begun_ = 0;  // requests
  Clock::time_point begin_, end_;
  LoadReport report_;
};

}  // namespace

absl::StatusOr<LoadReport> RunLoad(const HttpClientOptions& server,
                                   absl::Span<const ClientRequest> requests,
                                   const LoadOptions& options) {
  ONWARD_RETURN_IF_ERROR(CheckLoad(options));
  if (requests.empty()) return absl::InvalidArgumentError("a load needs a request");
  ONWARD_ASSIGN_OR_RETURN(const ServerUrl url, ReadServerUrl(server.url));
  ONWARD_ASSIGN_OR_RETURN(auto place, FindServer(url, server.ca_file));
  ONWARD_ASSIGN_OR_RETURN(const auto client, HttpClient::Create(server));
  Requests bytes;
  for (const ClientRequest& request : requests)
    bytes.push_back(std::make_shared<const std::string>(client->BytesOf(request)));
  return Load(server, options, std::move(bytes), std::move(place)).Run();
}

}  // namespace onward::serving

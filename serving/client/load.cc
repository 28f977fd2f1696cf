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

// One load, of one thread.
class Load {
 public:
  Load(const HttpClientOptions& server, const LoadOptions& options, std::string request,
       std::shared_ptr<ServerPlace> place)
      : most_(server.most),
        options_(options),
        request_(std::make_shared<const std::string>(std::move(request))),
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
      SendOn(std::move(connection), PlannedAt(begun_++));
    }
    report_.most_behind = std::max(report_.most_behind, due_ - begun_);
  }

  void SendOn(std::shared_ptr<ServerConnection> connection, Clock::time_point planned) {
    connection->Ask(request_, most_,
                    [this, connection, planned](absl::StatusOr<ServerReply> reply) {
                      Note(reply, planned);
                      idle_.push_back(connection);
                      SendWaiting();
                    });
  }

  void Note(const absl::StatusOr<ServerReply>& reply, Clock::time_point planned) {
    if (!reply.ok()) {
      ++report_.lost[std::string(reply.status().message())];
      return;
    }
    const double latency =
        std::chrono::duration<double, std::milli>(Clock::now() - planned).count();
    ++report_.replies;
    ++report_.by_status[reply->status];
    if (reply->status != 200) return report_.refusals.push_back(latency);
    report_.latencies.push_back(latency);
    const bool right = options_.is_right == nullptr || options_.is_right(*reply);
    ++(right ? report_.right : report_.wrong);
  }

  const std::chrono::milliseconds most_;
  const LoadOptions& options_;
  const std::shared_ptr<const std::string> request_;
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

absl::StatusOr<LoadReport> RunLoad(const HttpClientOptions& server, const ClientRequest& request,
                                   const LoadOptions& options) {
  ONWARD_RETURN_IF_ERROR(CheckLoad(options));
  ONWARD_ASSIGN_OR_RETURN(const ServerUrl url, ReadServerUrl(server.url));
  ONWARD_ASSIGN_OR_RETURN(auto place, FindServer(url, server.ca_file));
  ONWARD_ASSIGN_OR_RETURN(const auto client, HttpClient::Create(server));
  return Load(server, options, client->BytesOf(request), std::move(place)).Run();
}

}  // namespace onward::serving

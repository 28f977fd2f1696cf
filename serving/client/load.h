// Measures a server under load that does not depend on it: requests begin at planned times,
// whatever has become of those before (an open loop), so that a server which stalls cannot hide it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "serving/client/http_client.h"

namespace onward::serving {

struct LoadOptions {
  double rate = 100;                       // requests a second
  std::chrono::duration<double> time{10};  // in which they begin
  int connections = 100;                   // at most; a request without one waits for one
  // Called with each reply of status 200, in the thread that sends: whether it is right for the
  // request of that number. Null: all are.
  std::function<bool(const ServerReply& reply, size_t request)> is_right = nullptr;
};

struct LoadReport {
  int64_t planned = 0, replies = 0, right = 0, wrong = 0;
  int64_t most_behind = 0;              // requests that waited for a connection at a time
  double seconds = 0;                   // from the first request's time to the last reply
  std::map<int, int64_t> by_status;     // replies
  std::map<std::string, int64_t> lost;  // requests without a reply, by the reason
  // Milliseconds from the planned time to the reply's end: of status 200, and of others.
  std::vector<double> latencies, refusals;
};

// The requests take turns. Each has `server.most` from when it is sent; those that no connection
// could take that long after the last one's time are lost. InvalidArgument: a rate, a time or a
// number of connections out of range, no request. Errors as HttpClient::Create.
absl::StatusOr<LoadReport> RunLoad(const HttpClientOptions& server,
                                   absl::Span<const ClientRequest> requests,
                                   const LoadOptions& options);

}  // namespace onward::serving

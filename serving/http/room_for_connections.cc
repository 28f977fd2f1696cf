#include "serving/http/room_for_connections.h"

#include <sys/resource.h>

#include <algorithm>

namespace onward::serving {
namespace {

constexpr rlim_t kOthers = 200;  // files of models, logs, devices

// The descriptors that the process may have, after it has asked for so many.
rlim_t DescriptorsOf(rlim_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return wanted;
  const rlimit raised{std::min(wanted, limit.rlim_max), limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

}  // namespace

bool MakeRoomForConnections(HttpLimits& limits) {
  const auto wanted = static_cast<rlim_t>(limits.connections) + kOthers;
  const rlim_t descriptors = DescriptorsOf(wanted);
  if (descriptors >= wanted) return true;
  const auto most = static_cast<int>(descriptors - std::min(kOthers, descriptors / 2));
  limits.connections = std::max(1, most);
  limits.connections_from_here = std::min(limits.connections_from_here, limits.connections);
  limits.connections_per_address =
      std::min(limits.connections_per_address, std::max(1, limits.connections / 2));
  return false;
}

}  // namespace onward::serving

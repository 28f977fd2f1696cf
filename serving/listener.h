// A way into the server besides HTTP.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"

namespace onward::serving {

struct ServerState;

// Thread-safe. At the end of its life what is under way is cancelled, and has ended.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual int port() const = 0;
  // Takes nothing new, and waits at most so long for what is under way. False: some of it was not
  // answered.
  virtual bool Drain(std::chrono::seconds most) = 0;
};

// Takes calls from now on, which find all that they need in `state`; it outlives the listener.
// Errors as HttpServer::Listen.
using OpenListener = std::function<absl::StatusOr<std::unique_ptr<Listener>>(ServerState& state)>;

}  // namespace onward::serving

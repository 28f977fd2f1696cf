// The calls of gRPC that are under way.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "serving/endpoints/endpoints.h"
#include "serving/http/message.h"
#include "serving/keys.h"

namespace onward::serving {

// A call that waits for its client may be told that the server stops.
class DrainableCall {
 public:
  virtual void Drain() = 0;

 protected:
  ~DrainableCall() = default;
};

// State that calls share. Thread-safe.
class Calls {
 public:
  Calls(ServerState& state, size_t most_bytes) : state(state), most_bytes(most_bytes) {}

  void Add(DrainableCall* call);
  void Remove(DrainableCall* call);
  void Drain();

  ServerState& state;
  const size_t most_bytes;  // of a message

 private:
  std::mutex mutex_;
  std::set<DrainableCall*> all_;  // guarded by mutex_
  bool drains_ = false;           // guarded by mutex_
};

// The fields of the call's metadata that endpoints look at.
HttpFields FieldsOf(const grpc::CallbackServerContext& context);
// The client's address: "127.0.0.1".
std::string ClientOfCall(const grpc::CallbackServerContext& context);

// Calls it from a thread of gRPC.
void RunSoon(std::function<void()> work);

grpc::Status StatusOfGrpc(const absl::Status& status);
// Parts keep what they refer to alive until they are sent.
grpc::ByteBuffer BufferOf(std::vector<BodyPart> parts);
// In one piece.
absl::StatusOr<std::string> BytesOf(const grpc::ByteBuffer& buffer);

}  // namespace onward::serving

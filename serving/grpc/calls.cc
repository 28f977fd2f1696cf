#include "serving/grpc/calls.h"

#include <grpcpp/alarm.h>

#include <chrono>
#include <memory>
#include <new>
#include <utility>

namespace onward::serving {

void Calls::Add(DrainableCall* call) {
  const std::lock_guard lock(mutex_);
  all_.insert(call);
  if (drains_) call->Drain();
}

void Calls::Remove(DrainableCall* call) {
  const std::lock_guard lock(mutex_);
  all_.erase(call);
}

void Calls::Drain() {
  const std::lock_guard lock(mutex_);
  drains_ = true;
  for (DrainableCall* call : all_) call->Drain();
}

HttpFields FieldsOf(const grpc::CallbackServerContext& context) {
  HttpFields fields;
  for (const auto& [name, value] : context.client_metadata()) {
    const std::string_view key(name.data(), name.size());
    if (key == "authorization" || key == "traceparent")
      fields.emplace_back(key, std::string(value.data(), value.size()));
  }
  return fields;
}

// gRPC says "ipv4:127.0.0.1:4711", "ipv6:%5B::1%5D:4711".
std::string ClientOfCall(const grpc::CallbackServerContext& context) {
  std::string peer = context.peer();
  const size_t begin = peer.find(':') + 1, end = peer.rfind(':');
  if (begin == 0 || end < begin) return "";
  peer = peer.substr(begin, end - begin);
  for (const std::string bracket : {"%5B", "%5D", "[", "]"})
    if (const size_t at = peer.find(bracket); at != peer.npos) peer.erase(at, bracket.size());
  return peer;
}

// gRPC keeps what it calls until the call has returned, also where the alarm is gone.
void RunSoon(std::function<void()> work) {
  auto* const alarm = new grpc::Alarm;
  alarm->Set(std::chrono::system_clock::now(), [alarm, work = std::move(work)](bool) {
    work();
    delete alarm;
  });
}

grpc::Status StatusOfGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

grpc::ByteBuffer BufferOf(std::vector<BodyPart> parts) {
  std::vector<grpc::Slice> slices;
  slices.reserve(parts.size());
  for (BodyPart& part : parts) {
    auto owner = std::make_unique<std::shared_ptr<const void>>(std::move(part.owner));
    slices.emplace_back(
        const_cast<char*>(part.bytes.data()), part.bytes.size(),
        [](void* ended) { delete static_cast<std::shared_ptr<const void>*>(ended); }, owner.get());
    owner.release();
  }
  return {slices.data(), slices.size()};
}

absl::StatusOr<std::string> BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return absl::InternalError("the message cannot be read");
  std::string bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

}  // namespace onward::serving

// Where memory lies, and queues of work there.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace onward {

struct Device {
  enum class Kind : uint8_t { kHost, kCuda };
  Kind kind = Kind::kHost;
  uint8_t index = 0;  // among the devices of that kind

  bool is_host() const { return kind == Kind::kHost; }
  friend bool operator==(const Device& a, const Device& b) {
    return a.kind == b.kind && a.index == b.index;
  }
};

// "cpu", "cuda:0".
inline std::string DeviceName(Device device) {
  return device.is_host() ? "cpu" : absl::StrCat("cuda:", device.index);
}

// A queue of work on a device, which the device's provider makes.
class Stream {
 public:
  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // The handle that calls of the device's library take: the cudaStream_t of CUDA.
  virtual void* native_handle() const = 0;
};

}  // namespace onward

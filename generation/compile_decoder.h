// Sessions of decoders.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/session.h"

namespace onward::generation {

// Compiles a decoder. `caches_on_device`: its caches lie on the device of the provider
// (SessionOptions::device_values), if that has one.
absl::StatusOr<std::unique_ptr<Session>> CompileDecoder(Model model, SessionOptions options,
                                                        bool caches_on_device);

}  // namespace onward::generation

// Sessions of models, for what stands above the executors.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "executors/compile.h"
#include "onward/graph.h"
#include "onward/session.h"

namespace onward::executors {

// As Session::Create, with what the caller can do that executors cannot.
absl::StatusOr<std::unique_ptr<Session>> CreateSession(Model model, const SessionOptions& options,
                                                       const CompileHooks& hooks);

// The threads that a session with these options computes with.
std::shared_ptr<ThreadPool> PoolOf(const SessionOptions& options);

// The limit that a session with these options counts its memory against.
std::shared_ptr<MemoryLimit> MemoryOf(const SessionOptions& options);

}  // namespace onward::executors

// Zeros that a model runs with: what the curl line and the description of the API show to users.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"

namespace onward::serving {

// `size` for the dims at the end that vary, as height and width do, and 1 for others and for an
// unknown rank.
std::vector<int64_t> ExampleShape(const Type& type, int64_t size);

// Zeros, false or empty strings, of the inputs that have to be there. ResourceExhausted: there is
// not enough memory.
absl::StatusOr<Session::Inputs> ExampleInputs(const Session& session, int64_t size);

// The least size of those tried with which the model runs: its windows may want more than 1. 1
// where none does, where no dim varies, and where the inputs become large before one is found.
int64_t LeastExampleSize(Session& session);

}  // namespace onward::serving

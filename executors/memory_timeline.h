// The bytes of an arena that are in use while each step runs.
#pragma once

#include <cstdint>
#include <vector>

#include "executors/plan/binding.h"

namespace onward::executors {

// Per step: bytes of the values that live while it runs and of its scratch, over all devices. The
// greatest is the least arena that could do; an arena is larger where lifetimes do not pack.
std::vector<int64_t> LiveBytes(const Program& program, const Binding& binding);

}  // namespace onward::executors

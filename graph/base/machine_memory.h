// Memory of the machine, or of the container around the process where that has less.
#pragma once

#include <cstdint>

namespace onward {

// Bytes that there are.
int64_t MachineMemory();
// Bytes that could be taken now without swapping: caches of files count as free. It reads files of
// the system, some ten microseconds. Linux: MemAvailable of /proc/meminfo, and memory.max of the
// control group at the root of /sys/fs/cgroup.
int64_t AvailableMemory();
// Bytes of this process that lie in memory, files apart. Linux: /proc/self/statm; 0 elsewhere.
int64_t ResidentMemory();

}  // namespace onward

#include "graph/base/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace onward {
namespace {

constexpr char kGroup[] = "/sys/fs/cgroup/";

// A file that holds one number; nothing where it holds a word ("max") or does not exist.
std::optional<int64_t> Number(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The number behind `name` in a file of names and numbers.
std::optional<int64_t> NumberOf(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    int64_t number = 0;
    if (word == name && file >> number) return number;
  }
  return std::nullopt;
}

std::optional<int64_t> GroupLimit() {
  static const std::optional<int64_t> limit = Number(std::string(kGroup) + "memory.max");
  return limit;
}

// The memory that the control group may still take: the cache of files is given up first.
int64_t GroupAvailable(int64_t limit) {
  const std::string folder = kGroup;
  const int64_t used = Number(folder + "memory.current").value_or(0);
  const int64_t cache = NumberOf(folder + "memory.stat", "inactive_file").value_or(0);
  return limit - used + cache;
}

}  // namespace

int64_t MachineMemory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  const int64_t machine = pages > 0 && page > 0 ? pages * page : INT64_MAX;
  return std::min(machine, GroupLimit().value_or(INT64_MAX));
}

int64_t AvailableMemory() {
  const std::optional<int64_t> kilobytes = NumberOf("/proc/meminfo", "MemAvailable:");
  const int64_t machine = kilobytes ? *kilobytes * 1024 : MachineMemory();
  return GroupLimit() ? std::min(machine, GroupAvailable(*GroupLimit())) : machine;
}

int64_t ResidentMemory() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0, shared = 0;
  if (!(file >> size >> resident >> shared)) return 0;
  return (resident - shared) * sysconf(_SC_PAGE_SIZE);
}

}  // namespace onward

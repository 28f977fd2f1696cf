// The device's memory: a range of addresses of its own, which host code cannot touch. Blocks begin
// at multiples of 256 bytes, as the runtime says, and no better; they hold NaN until they are
// written, and a fence lies behind each.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/emulated_cuda/state.h"

namespace onward::emulated_cuda {
namespace {

constexpr size_t kReserved = size_t{64} << 30;
constexpr size_t kAlignment = 256;
constexpr size_t kFence = 256;
constexpr size_t kPage = 4096;
constexpr int kPoison = 0xFF;  // NaN of every floating-point type
constexpr unsigned char kFenceByte = 0xA5;

struct Block {
  size_t bytes;
  size_t room;  // with the fence
};

struct Memory {
  std::byte* base;
  size_t top = 0;  // all blocks lie below
  std::map<size_t, Block> live;
  std::map<size_t, size_t> gaps;  // room between them, by place
  int open = 0;

  Memory() {
    void* range =
        mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) Fault("no range of addresses can be reserved");
    base = static_cast<std::byte*>(range);
  }
  static size_t Pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
  void Protect(int access) const {
    if (top > 0 && mprotect(base, Pages(top), access) != 0) Fault("mprotect failed");
  }
  // The lowest place with so much room, which is a gap no more.
  size_t TakeRoom(size_t room) {
    const auto gap = std::find_if(gaps.begin(), gaps.end(),
                                  [&](const auto& each) { return each.second >= room; });
    if (gap == gaps.end()) {
      const size_t at = top;
      top += room;
      if (open > 0) Protect(PROT_READ | PROT_WRITE);
      return at;
    }
    const auto [at, size] = *gap;
    gaps.erase(gap);
    if (size > room) gaps[at + room] = size - room;
    return at;
  }
  void GiveRoom(size_t at, size_t room) {
    auto gap = gaps.emplace(at, room).first;
    const auto next = std::next(gap);
    if (next != gaps.end() && gap->first + gap->second == next->first) {
      gap->second += next->second;
      gaps.erase(next);
    }
    if (gap != gaps.begin()) {
      const auto before = std::prev(gap);
      if (before->first + before->second == gap->first) {
        before->second += gap->second;
        gaps.erase(gap);
        gap = before;
      }
    }
    if (gap->first + gap->second == top) Lower(gap->first);
  }
  // Gives back the pages from there on.
  void Lower(size_t to) {
    const size_t begin = Pages(to), bytes = Pages(top) - begin;
    if (bytes > 0 && (mprotect(base + begin, bytes, PROT_NONE) != 0 ||
                      madvise(base + begin, bytes, MADV_DONTNEED) != 0))
      Fault("memory cannot be given back");
    top = to;
    gaps.erase(to);
  }
};

Memory& Get() {
  static auto* const memory = new Memory;
  return *memory;
}

}  // namespace

MemoryOpen::MemoryOpen() {
  if (Get().open++ == 0) Get().Protect(PROT_READ | PROT_WRITE);
}

MemoryOpen::~MemoryOpen() {
  if (--Get().open == 0) Get().Protect(PROT_NONE);
}

cudaError_t AllocateDevice(void** result, size_t bytes) {
  State& state = GetState();
  Memory& memory = Get();
  const size_t room = (bytes + kAlignment - 1) / kAlignment * kAlignment + kFence;
  if (bytes > kReserved ||
      state.counters.bytes + static_cast<int64_t>(room) > state.settings.memory)
    return Remember(cudaErrorMemoryAllocation);
  if (memory.top + room > kReserved) return Remember(cudaErrorMemoryAllocation);
  const size_t at = memory.TakeRoom(room);
  const MemoryOpen open;
  std::memset(memory.base + at, kPoison, bytes);
  std::memset(memory.base + at + bytes, kFenceByte, room - bytes);
  memory.live[at] = {bytes, room};
  state.counters.bytes += static_cast<int64_t>(room);
  state.counters.peak_bytes = std::max(state.counters.peak_bytes, state.counters.bytes);
  *result = memory.base + at;
  return cudaSuccess;
}

cudaError_t FreeDevice(void* pointer) {
  Memory& memory = Get();
  if (!IsDeviceAddress(pointer)) return Remember(cudaErrorInvalidValue);
  const auto at = static_cast<size_t>(static_cast<std::byte*>(pointer) - memory.base);
  const auto found = memory.live.find(at);
  if (found == memory.live.end()) return Remember(cudaErrorInvalidValue);
  FinishAll();  // as cudaFree does in fact
  const MemoryOpen open;
  std::memset(pointer, kPoison, found->second.bytes);
  const size_t room = found->second.room;
  GetState().counters.bytes -= static_cast<int64_t>(room);
  memory.live.erase(found);
  memory.GiveRoom(at, room);
  return cudaSuccess;
}

bool IsDeviceAddress(const void* pointer) {
  const auto* address = static_cast<const std::byte*>(pointer);
  return address >= Get().base && address < Get().base + kReserved;
}

bool IsAllocated(const void* pointer, size_t bytes) {
  if (!IsDeviceAddress(pointer)) return false;
  const Memory& memory = Get();
  const auto at = static_cast<size_t>(static_cast<const std::byte*>(pointer) - memory.base);
  const auto next = memory.live.upper_bound(at);
  if (next == memory.live.begin()) return false;
  const auto& [begin, block] = *std::prev(next);
  return at + bytes <= begin + block.bytes;
}

void CheckFences(const char* after) {
  const Memory& memory = Get();
  for (const auto& [at, block] : memory.live) {
    const auto* fence = reinterpret_cast<const unsigned char*>(memory.base + at + block.bytes);
    const auto* end = fence + (block.room - block.bytes);
    const auto* wrong = end;  // behind the last byte that is
    while (wrong != fence && wrong[-1] == kFenceByte) --wrong;
    if (wrong != fence) {
      Fault(std::string(after) + " wrote " + std::to_string(wrong - fence) +
            " bytes behind the end of an allocation of " + std::to_string(block.bytes));
    }
  }
}

}  // namespace onward::emulated_cuda

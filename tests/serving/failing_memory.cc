#include "tests/serving/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Allocations until one fails; negative: none does.
std::atomic<int> left = -1;
std::atomic<bool> fails_on = false;  // all that follow fail, too
std::atomic<bool> failed = false;
std::atomic<int> granted = 0;    // allocations that succeed all the same
std::atomic<bool> here = false;  // of the thread that asked, else of all others
thread_local bool asked = false;

bool Fails() {
  if (left.load(std::memory_order_relaxed) < 0 || asked != here) return false;
  if (granted > 0 && granted.fetch_sub(1) > 0) return false;
  int before = left;
  const auto after = [&] { return before == 0 && fails_on ? 0 : before - 1; };
  // StopFailing may come in between.
  while (before >= 0 && !left.compare_exchange_weak(before, after())) continue;
  if (before != 0) return false;
  failed = true;
  return true;
}

void Fail(bool is_here, int number, bool all) {
  left = -1;
  asked = true;
  here = is_here;
  failed = false;
  granted = 0;
  fails_on = all;
  left = number;
}

}  // namespace

void* operator new(size_t size) {
  while (Fails()) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    granted = 20000;
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// A sanitizer has this one of its own, whose memory must not be freed below.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// A list of Protobuf that cannot grow loses what it was to hold.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "leak:google::protobuf::Arena::CreateMaybeMessage\nleak:RepeatedPtrField";
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace onward::testing {

void FailHere(int number, bool all) { Fail(true, number, all); }
void FailElsewhere(int number, bool all) { Fail(false, number, all); }
bool HasFailed() { return failed; }
bool StopFailing() {
  left = -1;
  asked = false;
  return failed;
}

}  // namespace onward::testing

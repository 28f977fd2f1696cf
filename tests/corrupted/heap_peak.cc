#include "tests/corrupted/heap_peak.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "tests/support/sanitized.h"

namespace {

std::atomic<int64_t> taken{0}, peak{0};

void Take(int64_t bytes) {
  const int64_t now = taken.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

void GiveBack(int64_t bytes) { taken.fetch_sub(bytes, std::memory_order_relaxed); }

}  // namespace

#ifdef ONWARD_SANITIZED
// As <sanitizer/allocator_interface.h> declares them, which GCC's package leaves out.
extern "C" {
size_t __sanitizer_get_allocated_size(const volatile void* memory);
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, size_t),
                                              void (*free_hook)(const volatile void*));
}

namespace {
void Counted(const volatile void*, size_t bytes) { Take(static_cast<int64_t>(bytes)); }
void Freed(const volatile void* memory) {
  if (memory == nullptr) return;
  GiveBack(static_cast<int64_t>(__sanitizer_get_allocated_size(memory)));
}
const int installed = __sanitizer_install_malloc_and_free_hooks(Counted, Freed);
}  // namespace
#else
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace {
void* Counted(void* memory) {
  if (memory != nullptr) Take(static_cast<int64_t>(malloc_usable_size(memory)));
  return memory;
}
}  // namespace

extern "C" {
void* malloc(size_t bytes) { return Counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return Counted(__libc_calloc(count, bytes)); }
void* realloc(void* memory, size_t bytes) {
  const auto before = static_cast<int64_t>(malloc_usable_size(memory));
  void* moved = __libc_realloc(memory, bytes);
  if (moved != nullptr || bytes == 0) GiveBack(before);
  return Counted(moved);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return Counted(__libc_memalign(alignment, bytes));
}
void* memalign(size_t alignment, size_t bytes) {
  return Counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = Counted(__libc_memalign(alignment, bytes));
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  GiveBack(static_cast<int64_t>(malloc_usable_size(memory)));
  __libc_free(memory);
}
}
#endif

namespace onward::fuzz {
namespace {
int64_t at_start = 0;
}

void StartHeapPeak() {
#ifdef ONWARD_SANITIZED
  (void)installed;
#endif
  at_start = taken.load();
  peak.store(at_start);
}

int64_t HeapPeak() { return peak.load() - at_start; }

}  // namespace onward::fuzz

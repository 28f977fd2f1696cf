#include "tests/emulated_cuda/fiber.h"

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONWARD_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ONWARD_ADDRESS_SANITIZER
#endif
#if defined(ONWARD_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(ONWARD_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace onward::emulated_cuda {
namespace {

namespace context = boost::context;

constexpr size_t kStackBytes = size_t{256} << 10;  // of which sanitizers need much

Fiber::Stack*& RunningStack() {
  thread_local Fiber::Stack* running = nullptr;
  return running;
}

// Stacks that have ended are kept for the next fibers, under the device's lock: sanitizers take
// long to make one.
class KeptStacks {
 public:
  static context::stack_context allocate() {
    if (Kept().empty()) return context::fixedsize_stack(kStackBytes).allocate();
    char* const bottom = Kept().back();
    Kept().pop_back();
#if defined(ONWARD_ADDRESS_SANITIZER)
    __asan_unpoison_memory_region(bottom, kStackBytes);
#endif
    context::stack_context stack;
    stack.size = kStackBytes;
    stack.sp = bottom + kStackBytes;
    return stack;
  }
  static void deallocate(context::stack_context& stack) {
    Kept().push_back(static_cast<char*>(stack.sp) - stack.size);
  }

 private:
  // Their lowest addresses: one that lies behind a stack would not count as holding it.
  static std::vector<char*>& Kept() {
    static auto* const kept = new std::vector<char*>;
    return *kept;
  }
};

// One side of a change between two stacks, as AddressSanitizer knows it.
struct Side {
  const void* bottom = nullptr;
  size_t size = 0;
  void* fake = nullptr;  // frames, while the side waits
};

// Called on `from` before the change; `ends`: `from` is left for good.
void BeginSwitch([[maybe_unused]] Side& from, [[maybe_unused]] const Side& to,
                 [[maybe_unused]] bool ends) {
#if defined(ONWARD_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake, to.bottom, to.size);
#endif
}

// Called on `to` after it; learns where `from` lies.
void EndSwitch([[maybe_unused]] const Side& to, [[maybe_unused]] Side& from) {
#if defined(ONWARD_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(to.fake, &from.bottom, &from.size);
#endif
}

#if defined(ONWARD_THREAD_SANITIZER)
// ThreadSanitizer's, kept as the stacks are.
std::vector<void*>& EndedThreads() {
  static auto* const ended = new std::vector<void*>;
  return *ended;
}

void* TakeThread() {
  if (EndedThreads().empty()) return __tsan_create_fiber(0);
  void* const thread = EndedThreads().back();
  EndedThreads().pop_back();
  return thread;
}
#endif

}  // namespace

struct Fiber::Stack {
  explicit Stack(std::function<void()> function) : run(std::move(function)) {
    const context::stack_context memory = KeptStacks::allocate();
    own.size = memory.size;
    own.bottom = static_cast<char*>(memory.sp) - memory.size;
#if defined(ONWARD_THREAD_SANITIZER)
    thread = TakeThread();
#endif
    rest = context::fiber(std::allocator_arg, context::preallocated(memory.sp, memory.size, memory),
                          KeptStacks(), [this](context::fiber&& from) {
                            EndSwitch(own, caller);
                            back = std::move(from);
                            run();
                            BeginSwitch(own, caller, /*ends=*/true);
                            return std::move(back);
                          });
  }
  ~Stack() {
#if defined(ONWARD_THREAD_SANITIZER)
    EndedThreads().push_back(thread);
#endif
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  const std::function<void()> run;
  context::fiber rest, back;  // where the fiber waits, and who resumed it
  Side own, caller;
  void* thread = nullptr;  // ThreadSanitizer's
};

Fiber::Fiber() = default;
Fiber::Fiber(std::function<void()> run) : stack_(std::make_unique<Stack>(std::move(run))) {}
Fiber::Fiber(Fiber&&) noexcept = default;
Fiber& Fiber::operator=(Fiber&&) noexcept = default;
Fiber::~Fiber() = default;

// ThreadSanitizer keeps the calls of each fiber that have not returned. It changes here in both
// directions, and does not see this file's own calls and Boost's (see CMakeLists.txt), which begin
// on one stack and return on another or never: each would be kept for good.
bool Fiber::Resume() {
  Stack& stack = *stack_;
  Stack* const before = std::exchange(RunningStack(), &stack);
  BeginSwitch(stack.caller, stack.own, /*ends=*/false);
#if defined(ONWARD_THREAD_SANITIZER)
  void* const caller = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(stack.thread, 0);
#endif
  stack.rest = std::move(stack.rest).resume();
#if defined(ONWARD_THREAD_SANITIZER)
  __tsan_switch_to_fiber(caller, 0);
#endif
  EndSwitch(stack.caller, stack.own);
  RunningStack() = before;
  return static_cast<bool>(stack.rest);
}

void Fiber::Suspend() {
  Stack& stack = *RunningStack();
  BeginSwitch(stack.own, stack.caller, /*ends=*/false);
  stack.back = std::move(stack.back).resume();
  EndSwitch(stack.own, stack.caller);
}

}  // namespace onward::emulated_cuda

#include "tests/emulated_cuda/fiber.h"

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONWARD_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define ONWARD_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ONWARD_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define ONWARD_THREAD_SANITIZER
#endif
#if defined(ONWARD_ADDRESS_SANITIZER)
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

// One side of a change between two stacks, as sanitizers know it.
struct Side {
  const void* bottom = nullptr;
  size_t size = 0;
  void* fake = nullptr;    // AddressSanitizer's frames, while the side waits
  void* thread = nullptr;  // ThreadSanitizer's
};

// Called on `from` before the change; `ends`: `from` is left for good.
void BeginSwitch([[maybe_unused]] Side& from, [[maybe_unused]] const Side& to,
                 [[maybe_unused]] bool ends) {
#if defined(ONWARD_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake, to.bottom, to.size);
#elif defined(ONWARD_THREAD_SANITIZER)
  __tsan_switch_to_fiber(to.thread, 0);
#endif
}

// Called on `to` after it; learns where `from` lies.
void EndSwitch([[maybe_unused]] const Side& to, [[maybe_unused]] Side& from) {
#if defined(ONWARD_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(to.fake, &from.bottom, &from.size);
#endif
}

}  // namespace

struct Fiber::Stack {
  explicit Stack(std::function<void()> function) : run(std::move(function)) {
    context::stack_context memory = allocator.allocate();
    own.size = memory.size;
    own.bottom = static_cast<char*>(memory.sp) - memory.size;
#if defined(ONWARD_THREAD_SANITIZER)
    own.thread = __tsan_create_fiber(0);
#endif
    rest = context::fiber(std::allocator_arg, context::preallocated(memory.sp, memory.size, memory),
                          allocator, [this](context::fiber&& from) {
                            EndSwitch(own, caller);
                            back = std::move(from);
                            run();
                            BeginSwitch(own, caller, /*ends=*/true);
                            return std::move(back);
                          });
  }
  ~Stack() {
#if defined(ONWARD_THREAD_SANITIZER)
    __tsan_destroy_fiber(own.thread);
#endif
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  const std::function<void()> run;
  context::fixedsize_stack allocator = context::fixedsize_stack(kStackBytes);
  context::fiber rest, back;  // where the fiber waits, and who resumed it
  Side own, caller;
};

Fiber::Fiber() = default;
Fiber::Fiber(std::function<void()> run) : stack_(std::make_unique<Stack>(std::move(run))) {}
Fiber::Fiber(Fiber&&) noexcept = default;
Fiber& Fiber::operator=(Fiber&&) noexcept = default;
Fiber::~Fiber() = default;

bool Fiber::Resume() {
  Stack& stack = *stack_;
  Stack* const before = std::exchange(RunningStack(), &stack);
#if defined(ONWARD_THREAD_SANITIZER)
  stack.caller.thread = __tsan_get_current_fiber();
#endif
  BeginSwitch(stack.caller, stack.own, /*ends=*/false);
  stack.rest = std::move(stack.rest).resume();
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

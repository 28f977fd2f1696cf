// A thread of the emulated device: a function on a stack of its own, which may wait in the middle.
// Sanitizers are told of each change of the stack.
#pragma once

#include <functional>
#include <memory>

namespace onward::emulated_cuda {

class Fiber {
 public:
  struct Stack;

  Fiber();
  explicit Fiber(std::function<void()> run);
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) noexcept;
  ~Fiber();

  // Begins the function, or lets it go on; returns at its end or when it suspends itself. Returns
  // whether it waits.
  bool Resume();
  // Goes back to who resumed the fiber that runs.
  static void Suspend();

 private:
  std::unique_ptr<Stack> stack_;
};

}  // namespace onward::emulated_cuda

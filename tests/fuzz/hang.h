// Ends a test program that hangs, and says on what: a slow machine is not a fault, so nothing here
// measures time.
#pragma once

#include <string>

namespace onward::fuzz {

// While it lives, the program aborts after two minutes and prints `what`. One at a time.
class HangGuard {
 public:
  explicit HangGuard(const std::string& what);
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;
};

}  // namespace onward::fuzz

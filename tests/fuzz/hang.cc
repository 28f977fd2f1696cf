#include "tests/fuzz/hang.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace onward::fuzz {
namespace {

constexpr unsigned kSeconds = 120;

// A handler may neither allocate nor lock.
char message[512];

void Abort(int) {
  const ssize_t written = write(STDERR_FILENO, message, std::strlen(message));
  static_cast<void>(written);
  std::abort();
}

}  // namespace

HangGuard::HangGuard(const std::string& what) {
  const std::string text = "hangs: " + what + "\n";
  message[text.copy(message, sizeof(message) - 1)] = '\0';
  std::signal(SIGALRM, Abort);
  alarm(kSeconds);
}

HangGuard::~HangGuard() { alarm(0); }

}  // namespace onward::fuzz

#include "cli/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "cli/exit_code.h"
#include "files/write_file.h"

namespace onward::cli {
namespace {

volatile std::sig_atomic_t notes = 0;
volatile std::sig_atomic_t noted = 0;
volatile std::sig_atomic_t announces = 0;

constexpr char kNotice[] =
    "\ninterrupted: the training ends as soon as its work is saved; another signal ends it at "
    "once\n";

// Calls nothing that is not async-signal-safe.
void Handle(int number) {
  const int saved = errno;
  if (notes != 0 && noted == 0) {
    noted = number;
    if (announces != 0 && write(STDERR_FILENO, kNotice, sizeof(kNotice) - 1) < 0) errno = saved;
    errno = saved;
    return;
  }
  files::RemoveUnfinishedFiles();
  _exit(kInterrupted + number);
}

void Install() {
  struct sigaction action = {};
  action.sa_handler = Handle;
  // Reads and writes under way continue.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&action.sa_mask, number);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(number, nullptr, &before);
    if (number == SIGHUP && before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

void EndOnInterrupts() { Install(); }

void NoteInterrupts(bool announce) {
  announces = announce ? 1 : 0;
  notes = 1;
}

void IgnoreBrokenPipes() { std::signal(SIGPIPE, SIG_IGN); }

int Interrupted() { return noted; }

}  // namespace onward::cli

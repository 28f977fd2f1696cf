// onward launch: a command as several processes that work together.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupts.h"
#include "cli/ranks.h"
#include "collectives/gloo.h"
#include "collectives/rank_variables.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostRanks = 1024;
// Ranks end by themselves within this time once one of them has failed: they notice it at once.
constexpr auto kGrace = std::chrono::seconds(5);

// A port of this host that nobody listens at.
absl::StatusOr<int> FreePort() {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool found = listening >= 0 &&
                     bind(listening, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (listening >= 0) close(listening);
  if (!found)
    return absl::UnavailableError(
        absl::StrCat("cannot find a free port of 127.0.0.1: ", std::strerror(errno)));
  return ntohs(address.sin_port);
}

struct Rank {
  pid_t pid = -1;
  bool ended = false;
};

class Launch {
 public:
  explicit Launch(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}

  absl::Status Run(int size) {
    if (arguments_[0] != "train") {
      return ErrorWithExitCode(
          absl::StrCat("`onward ", arguments_[0],
                       "` is the work of one process; launch takes `train`, as in `onward launch "
                       "--nproc 2 -- train CONFIG`"),
          kWrongUsage);
    }
    if (!collectives::HasGloo() && size > 1) return collectives::JoinGloo({}).status();
    ONWARD_ASSIGN_OR_RETURN(const int port, FreePort());
    NoteInterrupts(/*announce=*/false);
    for (int rank = 0; rank < size; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) Become(rank, size, port);
      if (pid < 0) {
        const std::string why = std::strerror(errno);
        Signal(SIGKILL);
        return absl::ResourceExhaustedError(absl::StrCat("cannot start rank ", rank, ": ", why));
      }
      ranks_.push_back({pid});
    }
    Wait();
    return code_ == 0 ? absl::OkStatus() : ErrorWithExitCode("", code_);
  }

 private:
  // In a new process. Ctrl-C comes to the launcher alone, whose end ends its ranks.
  [[noreturn]] void Become(int rank, int size, int port) const {
    const pid_t launcher = getppid();
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launcher) _exit(kFailed);
    const auto set = [](const char* name, const std::string& value) {
      setenv(name, value.c_str(), 1);
    };
    set(collectives::kRankVariable, absl::StrCat(rank));
    set(collectives::kLocalRankVariable, absl::StrCat(rank));
    set(collectives::kWorldSizeVariable, absl::StrCat(size));
    set(collectives::kLocalWorldSizeVariable, absl::StrCat(size));
    set(collectives::kMasterAddressVariable, "127.0.0.1");
    set(collectives::kMasterPortVariable, absl::StrCat(port));
    set(collectives::kPortVariable, absl::StrCat(port));
    std::vector<std::string> arguments = arguments_;
    arguments.insert(arguments.begin(), "onward");
    std::vector<char*> argv;
    for (std::string& each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    std::fprintf(stderr, "error: cannot start onward again: %s\n", std::strerror(errno));
    _exit(kFailed);
  }

  void Signal(int number) const {
    for (const Rank& rank : ranks_)
      if (!rank.ended) kill(rank.pid, number);
  }

  // Until the last rank has ended.
  void Wait() {
    size_t running = ranks_.size();
    bool forwarded = false;
    std::optional<Clock::time_point> failed;
    while (running > 0) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid > 0) {
        running -= Note(pid, status);
        if (code_ > 0 && code_ < kInterrupted && !failed) failed = Clock::now();
        continue;
      }
      if (Interrupted() != 0 && !forwarded) {
        forwarded = true;
        Signal(Interrupted());
      }
      if (failed && Clock::now() > *failed + kGrace) Signal(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  // Returns the number of these ranks; the first failure is the launcher's.
  size_t Note(pid_t pid, int status) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].pid != pid) continue;
      ranks_[rank].ended = true;
      if (WIFSIGNALED(status))
        std::fprintf(stderr, "rank %zu (pid %d) was ended by signal %d (%s)\n", rank,
                     static_cast<int>(pid), WTERMSIG(status), strsignal(WTERMSIG(status)));
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
      if (code_ == 0) code_ = code;
      return 1;
    }
    return 0;
  }

  const std::vector<std::string> arguments_;
  std::vector<Rank> ranks_;
  int code_ = 0;
};

}  // namespace

void AddLaunch(CommandLine& line, CommonOptions& common) {
  auto size = std::make_shared<int>(2);
  auto arguments = std::make_shared<std::vector<std::string>>();
  Command command = NewCommand(
      line, common, "launch",
      "Runs `onward train` as several processes, each with its share of a batch",
      "onward launch --nproc 2 -- train examples/mnist/train.textproto --output-dir out");
  command.Option("--nproc", *size, "how many processes",
                 {.required = true, .range = {1, kMostRanks}});
  command.Option("command", *arguments, "after --: the command and its options",
                 {.required = true});
  command.Do([=] { return Launch(*arguments).Run(*size); });
}

}  // namespace onward::cli

#include "tests/support/command_output.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

namespace onward::testing {

CommandOutput OutputOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {"", -1};
  CommandOutput output;
  char part[4096];
  while (const size_t count = std::fread(part, 1, sizeof(part), pipe))
    output.text.append(part, count);
  const int status = pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

std::string Setting(const char* name, const char* otherwise) {
  const char* const set = std::getenv(name);
  return set == nullptr ? otherwise : set;
}

}  // namespace onward::testing

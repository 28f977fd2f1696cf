// The output of a program, for tests that ask another one.
#pragma once

#include <string>

namespace onward::testing {

struct CommandOutput {
  std::string text;   // of its standard output
  int exit_code = 0;  // -1: a signal ended it, or it did not start
};

// Runs a line of sh to its end.
CommandOutput OutputOf(const std::string& command);

// An environment variable, or what holds where it is not set.
std::string Setting(const char* name, const char* otherwise);

}  // namespace onward::testing

// Paths of test data that is not in the repository.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace onward::testing {

// The directory that an environment variable names, "" when it is not set.
inline std::string DirectoryFrom(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace onward::testing

// Skips the test where the data is absent, unless ONWARD_REQUIRE_DATA says that it must be there.
#define ONWARD_NEEDS_DATA(directory, variable)                                          \
  do {                                                                                  \
    if ((directory).empty()) {                                                          \
      ASSERT_EQ(std::getenv("ONWARD_REQUIRE_DATA"), nullptr) << variable " is not set"; \
      GTEST_SKIP() << variable " is not set";                                           \
    }                                                                                   \
  } while (false)

// The part of a batch that one of several ranks has.
#pragma once

#include <cstdint>

namespace onward {

// The rows of a batch that a run has, where several ranks share the batch. Random ops draw for each
// of them what they draw in a run that has the whole batch.
struct BatchSlice {
  int64_t begin = 0;  // the first row
  int64_t rows = 0;   // of the run
  int64_t whole = 0;  // rows of the batch; 0: the run has them all
};

}  // namespace onward

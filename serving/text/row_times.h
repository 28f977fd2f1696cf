// For how long texts keep their rows of a batch, measured.
#pragma once

#include <memory>
#include <mutex>

#include "onward/generation/batch_generator.h"

namespace onward::serving {

// Thread-safe.
class RowTimes {
 public:
  // Lets the functions of a request note when it gets a row and when it ends. `times` is kept until
  // the end.
  static void Measure(const std::shared_ptr<RowTimes>& times, generation::TextRequest& request);
  // In seconds, of texts that came to their ends; the last ones count most. 0: none has ended.
  double mean() const;

 private:
  void Add(double seconds);

  mutable std::mutex mutex_;
  double mean_ = 0;  // guarded by mutex_
};

}  // namespace onward::serving

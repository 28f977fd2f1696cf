// A pool of threads for data-parallel loops. The caller takes part; workers spin briefly after
// work, then sleep, so an idle pool uses no CPU. Work is cut into chunks by the caller's grain,
// never by the number of threads, so a result that depends only on chunk boundaries is the same for
// any number of threads.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"

namespace onward {

class ThreadPool {
 public:
  // `num_threads` >= 1 counts the caller: 1 starts no thread.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Calls body(worker, begin, end) for the chunks [0, grain), [grain, 2 grain), ... of [0, count),
  // each once, and returns when all are done. `worker` in [0, num_threads()) is unique among
  // concurrent calls of one loop: an index for scratch memory. Safe to call from many threads: a
  // loop that finds the pool busy runs in its caller alone. Allocates nothing.
  void ParallelFor(int64_t count, int64_t grain,
                   absl::FunctionRef<void(int worker, int64_t begin, int64_t end)> body);

 private:
  struct State;
  int num_threads_;
  std::unique_ptr<State> state_;
};

// Physical cores this process may run on.
int PhysicalCores();

}  // namespace onward

#include "onward/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace onward {
namespace {

using LoopBody = absl::FunctionRef<void(int, int64_t, int64_t)>;

// About 50 us on current processors: shorter than a wake-up, so back-to-back loops find the workers
// awake.
constexpr int kSpins = 2000;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct ThreadPool::State {
  std::atomic<bool> busy{false};  // set by the caller whose loop the workers serve

  // The current loop. Written by the caller before `epoch` moves, read by workers that joined it.
  const LoopBody* body = nullptr;
  int64_t grain = 1;
  // A thread begins with its own part of the range, which in the next loop over a tensor is likely
  // to be in its cache, and helps others with theirs afterwards.
  struct alignas(64) Part {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  std::vector<Part> parts;
  alignas(64) std::atomic<uint64_t> epoch{0};  // odd while a loop is open to workers
  alignas(64) std::atomic<int> active{0};      // workers inside the current loop

  std::mutex sleep_mutex;
  std::condition_variable wake;
  std::atomic<int> sleeping{0};
  bool stop = false;
  std::vector<std::thread> threads;

  void Cut(int64_t count) {
    const int64_t chunks = (count + grain - 1) / grain, size = static_cast<int64_t>(parts.size());
    int64_t begin = 0;
    for (int64_t i = 0; i < size; ++i) {
      parts[static_cast<size_t>(i)].next.store(begin, std::memory_order_relaxed);
      begin = std::min(count, (chunks / size * (i + 1) + chunks % size * (i + 1) / size) * grain);
      parts[static_cast<size_t>(i)].end = begin;
    }
  }

  void RunChunks(int worker) {
    for (size_t i = 0; i < parts.size(); ++i) {
      Part& part = parts[(static_cast<size_t>(worker) + i) % parts.size()];
      for (;;) {
        const int64_t begin = part.next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= part.end) break;
        (*body)(worker, begin, std::min(part.end, begin + grain));
      }
    }
  }

  void WorkerLoop(int worker) {
    uint64_t seen = 0;
    for (;;) {
      uint64_t now = epoch.load(std::memory_order_acquire);
      for (int spin = 0; spin < kSpins && (now == seen || now % 2 == 0); ++spin) {
        Pause();
        now = epoch.load(std::memory_order_acquire);
      }
      if (now == seen || now % 2 == 0) {
        std::unique_lock lock(sleep_mutex);
        sleeping.fetch_add(1);
        wake.wait(lock, [&] {
          now = epoch.load(std::memory_order_seq_cst);
          return stop || (now != seen && now % 2 == 1);
        });
        sleeping.fetch_sub(1);
        if (stop) return;
      }
      // Join only if the loop is still open: the caller closes it before it waits for `active` to
      // fall to zero.
      active.fetch_add(1, std::memory_order_seq_cst);
      if (epoch.load(std::memory_order_seq_cst) == now) RunChunks(worker);
      active.fetch_sub(1, std::memory_order_release);
      seen = now;
    }
  }
};

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(std::max(1, num_threads)), state_(std::make_unique<State>()) {
  state_->parts = std::vector<State::Part>(static_cast<size_t>(num_threads_));
  for (int i = 1; i < num_threads_; ++i) {
    state_->threads.emplace_back([state = state_.get(), i] { state->WorkerLoop(i); });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->sleep_mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

void ThreadPool::ParallelFor(int64_t count, int64_t grain, LoopBody body) {
  if (count <= 0) return;
  State& state = *state_;
  if (num_threads_ == 1 || count <= grain || state.busy.exchange(true, std::memory_order_acquire)) {
    for (int64_t begin = 0; begin < count; begin += grain)
      body(0, begin, std::min(count, begin + grain));
    return;
  }
  state.body = &body;
  state.grain = grain;
  state.Cut(count);
  state.epoch.fetch_add(1, std::memory_order_seq_cst);  // opens
  if (state.sleeping.load(std::memory_order_seq_cst) > 0) {
    { std::lock_guard lock(state.sleep_mutex); }
    state.wake.notify_all();
  }
  state.RunChunks(0);
  state.epoch.fetch_add(1, std::memory_order_seq_cst);  // closes
  while (state.active.load(std::memory_order_acquire) > 0) Pause();
  state.busy.store(false, std::memory_order_release);
}

int PhysicalCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::set<std::string> cores;
  int logical = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    ++logical;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (std::getline(file, siblings)) cores.insert(siblings);
  }
  return cores.empty() ? std::max(1, logical) : static_cast<int>(cores.size());
}

}  // namespace onward

#include "tests/emulated_cuda/block.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "tests/emulated_cuda/device_code.h"
#include "tests/emulated_cuda/state.h"

namespace onward::emulated_cuda {

Block::Block(dim3 size, const std::function<void()>& thread)
    : thread_(thread), threads_(size_t{size.x} * size.y * size.z) {
  for (size_t i = 0; i < threads_.size(); ++i) {
    const auto number = static_cast<unsigned>(i);
    threads_[i].index = {number % size.x, number / size.x % size.y, number / (size.x * size.y)};
  }
  start_ = Shuffled(0, static_cast<int>(threads_.size()));
  warps_ = (static_cast<int>(threads_.size()) + kWarp - 1) / kWarp;
}

std::vector<int> Block::Shuffled(int first, int end) const {
  std::vector<int> order(static_cast<size_t>(end - first));
  std::iota(order.begin(), order.end(), first);
  State& state = GetState();
  if (state.settings.order == Order::kLate) std::reverse(order.begin(), order.end());
  if (state.settings.order == Order::kRandom)
    std::shuffle(order.begin(), order.end(), state.random);
  return order;
}

void Block::Run() {
  StartAll();
  while (true) {
    if (ResumeWarps()) continue;
    const auto at_barrier = [](const Thread& thread) { return thread.waits == Waits::kForBlock; };
    if (std::all_of(threads_.begin(), threads_.end(),
                    [](const Thread& thread) { return thread.waits == Waits::kDone; }))
      break;
    if (!std::all_of(threads_.begin(), threads_.end(), [&](const Thread& thread) {
          return at_barrier(thread) || thread.waits == Waits::kDone;
        }))
      Fault("threads of a block wait for each other at different places");
    ReleaseBarrier();
  }
  CheckEnds();
}

// A thread that waits for nobody leaves its fiber to the next one: a fiber is made for those alone
// that wait.
void Block::StartAll() {
  const auto run = [this] {
    while (next_ < start_.size()) {
      current_ = start_[next_++];
      threadIdx = threads_[static_cast<size_t>(current_)].index;
      thread_();
      threads_[static_cast<size_t>(current_)].waits = Waits::kDone;
    }
  };
  while (next_ < start_.size()) {
    Fiber rest(run);
    if (rest.Resume()) threads_[static_cast<size_t>(current_)].rest = std::move(rest);
  }
}

void Block::Suspend() {
  Fiber::Suspend();
  threadIdx = threads_[static_cast<size_t>(current_)].index;
}

void Block::WaitForBlock() {
  Thread& thread = threads_[static_cast<size_t>(current_)];
  thread.waits = Waits::kForBlock;
  ++thread.barriers;
  Suspend();
}

void Block::WaitForWarp(unsigned mask) {
  Thread& thread = threads_[static_cast<size_t>(current_)];
  if ((mask >> lane() & 1) == 0) Fault("a lane waits with a mask that it is not in");
  thread.waits = Waits::kForWarp;
  thread.mask = mask;
  Suspend();
}

bool Block::HasLane(int lane) const {
  const int thread = current_ / kWarp * kWarp + lane;
  return lane >= 0 && lane < kWarp && thread < static_cast<int>(threads_.size());
}

uint64_t Block::ValueOf(int lane) const {
  if (!HasLane(lane))
    Fault("a shuffle reads lane " + std::to_string(lane) + ", which is not there");
  return threads_[static_cast<size_t>(current_ / kWarp * kWarp + lane)].value;
}

unsigned Block::ReadyLanes(int warp) const {
  unsigned waiting = 0, there = 0;
  const int first = warp * kWarp;
  const int lanes = std::min(kWarp, static_cast<int>(threads_.size()) - first);
  for (int i = 0; i < lanes; ++i) {
    const Thread& thread = threads_[static_cast<size_t>(first + i)];
    waiting |= static_cast<unsigned>(thread.waits == Waits::kForWarp) << i;
    there |= static_cast<unsigned>(thread.waits != Waits::kDone) << i;
  }
  unsigned ready = 0;
  for (int i = 0; i < lanes; ++i) {
    const Thread& thread = threads_[static_cast<size_t>(first + i)];
    if (thread.waits == Waits::kForWarp && (thread.mask & there & ~waiting) == 0) ready |= 1u << i;
  }
  return ready;
}

// Lets one warp run on; in late order the one that ran last, as far as it gets.
bool Block::ResumeWarps() {
  std::vector<int> order = Shuffled(0, warps_);
  if (GetState().settings.order == Order::kLate && last_warp_ >= 0) {
    const auto last = std::find(order.begin(), order.end(), last_warp_);
    std::rotate(order.begin(), last, std::next(last));
  }
  for (const int warp : order) {
    const unsigned ready = ReadyLanes(warp);
    if (ready == 0) continue;
    last_warp_ = warp;
    const int first = warp * kWarp;
    for (const int thread : Shuffled(first, first + kWarp))
      if (ready >> (thread - first) & 1) Resume(thread);
    return true;
  }
  return false;
}

void Block::Resume(int number) {
  Thread& thread = threads_[static_cast<size_t>(number)];
  thread.waits = Waits::kNo;
  current_ = number;
  Fiber rest = std::move(thread.rest);
  if (rest.Resume()) threads_[static_cast<size_t>(current_)].rest = std::move(rest);
}

void Block::ReleaseBarrier() {
  for (const int thread : Shuffled(0, static_cast<int>(threads_.size())))
    if (threads_[static_cast<size_t>(thread)].waits == Waits::kForBlock) Resume(thread);
}

void Block::CheckEnds() const {
  for (const Thread& thread : threads_) {
    if (thread.barriers != threads_[0].barriers)
      Fault("a thread of a block ended before a barrier that others waited at");
  }
}

}  // namespace onward::emulated_cuda

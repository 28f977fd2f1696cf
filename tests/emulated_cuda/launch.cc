// Grids of blocks, one block at a time.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/emulated_cuda/block.h"
#include "tests/emulated_cuda/device_code.h"
#include "tests/emulated_cuda/state.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace onward::emulated_cuda {
namespace {

Block* running = nullptr;
std::vector<uint64_t> shared_memory;

// Of all architectures that the provider is built for.
bool IsPossible(const cudaLaunchConfig_t& config) {
  const dim3 grid = config.gridDim, block = config.blockDim;
  return grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && block.x >= 1 && block.y >= 1 &&
         block.z >= 1 && grid.x <= 0x7FFFFFFFu && grid.y <= 65535 && grid.z <= 65535 &&
         block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
         uint64_t{block.x} * block.y * block.z <= 1024 &&
         config.dynamicSmemBytes <= size_t{48} << 10;
}

void RunGrid(dim3 grid, dim3 block, size_t shared, const std::function<void()>& thread) {
  ++GetState().counters.launches;
  gridDim = grid;
  blockDim = block;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  std::vector<uint64_t> order(blocks);
  for (uint64_t i = 0; i < blocks; ++i) order[i] = i;
  State& state = GetState();
  if (state.settings.order == Order::kLate) std::reverse(order.begin(), order.end());
  if (state.settings.order == Order::kRandom)
    std::shuffle(order.begin(), order.end(), state.random);
  for (const uint64_t number : order) {
    blockIdx = {static_cast<unsigned>(number % grid.x),
                static_cast<unsigned>(number / grid.x % grid.y),
                static_cast<unsigned>(number / grid.x / grid.y)};
    shared_memory.assign(shared / sizeof(uint64_t) + 1, ~uint64_t{0});  // NaN
    Block run(block, thread);
    running = &run;
    run.Run();
    running = nullptr;
  }
}

}  // namespace

cudaError_t LaunchGrid(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  const Entry entry("cudaLaunchKernelExC");
  if (entry.error() != cudaSuccess) return entry.error();
  if (!IsPossible(config)) return Remember(cudaErrorInvalidConfiguration);
  return Enqueue(config.stream, "a kernel",
                 [grid = config.gridDim, block = config.blockDim, shared = config.dynamicSmemBytes,
                  thread = std::move(thread)] { RunGrid(grid, block, shared, thread); });
}

void* DynamicShared() { return shared_memory.data(); }
void SyncBlock() { running->WaitForBlock(); }
void SyncWarp(unsigned mask) { running->WaitForWarp(mask); }
int Lane() { return running->lane(); }

uint64_t Exchange(unsigned mask, uint64_t value, int source) {
  running->SetValue(value);
  running->WaitForWarp(mask);
  const uint64_t found = running->ValueOf(source);
  running->WaitForWarp(mask);  // nobody sets his value again before all have read
  return found;
}

unsigned Ballot(unsigned mask, bool value) {
  running->SetValue(value ? 1 : 0);
  running->WaitForWarp(mask);
  unsigned ballot = 0;
  for (int lane = 0; lane < warpSize; ++lane)
    if ((mask >> lane & 1) != 0 && running->HasLane(lane))
      ballot |= static_cast<unsigned>(running->ValueOf(lane) != 0) << lane;
  running->WaitForWarp(mask);
  return ballot;
}

}  // namespace onward::emulated_cuda

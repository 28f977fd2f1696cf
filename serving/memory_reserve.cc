#include "serving/memory_reserve.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

namespace onward::serving {
namespace {

// Pieces that malloc takes from its heap and hands out again, not from the machine each.
constexpr size_t kPieceBytes = 16 << 10;
std::array<std::atomic<void*>, 64> pieces;
std::atomic<bool> keeps = false;

void Fill() {
  for (std::atomic<void*>& piece : pieces) {
    if (piece != nullptr) continue;
    void* const fresh = std::malloc(kPieceBytes);
    void* none = nullptr;
    if (fresh != nullptr && !piece.compare_exchange_strong(none, fresh)) std::free(fresh);
  }
}

void GiveBack() {
  bool any = false;
  for (std::atomic<void*>& piece : pieces) {
    void* const kept = piece.exchange(nullptr);
    any |= kept != nullptr;
    std::free(kept);
  }
  if (!any) throw std::bad_alloc();
}

}  // namespace

void KeepMemoryReserve() {
  Fill();
  keeps = true;
  std::set_new_handler(GiveBack);
}

void RefillMemoryReserve() {
  if (keeps) Fill();
}

}  // namespace onward::serving

#include "tests/emulated_cuda/nccl/rendezvous.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace onward::emulated_cuda {

Rendezvous* Rendezvous::Join(const std::string& name, int rank, int size) {
  if (rank < 0 || rank >= size || size > kMostRanks) return nullptr;
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0) return nullptr;
  const size_t bytes = 4096 + static_cast<size_t>(size) * kPiece;
  void* memory = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return nullptr;
  auto* made = new Rendezvous;
  made->shared_ = static_cast<Shared*>(memory);  // new files are zeros
  made->parts_ = static_cast<std::byte*>(memory) + 4096;
  made->bytes_ = bytes;
  made->rank_ = rank;
  made->size_ = size;
  // The memory lives on while somebody has it.
  if (made->shared_->joined.fetch_add(1) + 1 == size) shm_unlink(name.c_str());
  return made;
}

void Rendezvous::Leave() {
  munmap(shared_, bytes_);
  delete this;
}

bool Rendezvous::MayBeginStage() const {
  const uint64_t ended = shared_->stages[rank_].load();
  for (int rank = 0; rank < size_; ++rank)
    if (shared_->stages[rank].load() < ended) return false;
  return true;
}

}  // namespace onward::emulated_cuda

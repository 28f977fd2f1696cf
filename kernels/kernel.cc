#include "onward/kernel.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "onward/memory_limit.h"

namespace onward {
namespace {

// Bytes in one piece: rounding up does not overflow.
constexpr int64_t kMost = INT64_MAX - 4096;

const Type& UnknownType() {
  static const Type type;
  return type;
}

}  // namespace

const Type& NodeSpec::input_type(int i) const {
  return has_input(i) ? graph_.type(node().inputs[static_cast<size_t>(i)]) : UnknownType();
}

const Type& NodeSpec::output_type(int i) const {
  return has_output(i) ? graph_.type(node().outputs[static_cast<size_t>(i)]) : UnknownType();
}

const Tensor* NodeSpec::constant(int i) const {
  if (!has_input(i)) return nullptr;
  // A graph input's constant is only its default.
  const ValueId id = node().inputs[static_cast<size_t>(i)];
  return graph_.is_input(id) ? nullptr : graph_.constant(id);
}

std::shared_ptr<const Body> NodeSpec::body(std::string_view attribute) const {
  for (const auto& [name, body] : bodies_) {
    if (name == attribute) return body;
  }
  return nullptr;
}

void* StateArena::Allocate(int64_t count, size_t size) {
  int64_t needed = 0;
  if (__builtin_mul_overflow(count, size, &needed) || needed > kMost)
    throw OutOfMemory(absl::StrCat("out of memory: ", count, " times ", size, " bytes are needed"));
  const auto bytes = static_cast<size_t>((needed + 15) / 16 * 16);
  while (block_ < blocks_.size() && used_ + bytes > sizes_[block_]) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const size_t block = std::max(kBlock, bytes);
    absl::StatusOr<std::shared_ptr<void>> memory = AllocateMemory(static_cast<int64_t>(block));
    if (!memory.ok()) throw OutOfMemory(std::string(memory.status().message()));
    sizes_.push_back(block);
    blocks_.push_back(*std::move(memory));
  }
  void* result = static_cast<std::byte*>(blocks_[block_].get()) + used_;
  used_ += bytes;
  return result;
}

int64_t* BindContext::SetOutputValue(int i, DimsView dims) {
  SetOutput(i, dims);
  outputs_[static_cast<size_t>(i)].has_value = true;
  int64_t* value = NewArray<int64_t>(std::max<int64_t>(1, NumElements(dims)));
  values_[i] = value;
  return value;
}

absl::Status BindKernel(const Kernel& kernel, BindContext& context) {
  try {
    return kernel.Bind(context);
  } catch (const std::bad_alloc& error) {
    return absl::ResourceExhaustedError(error.what());
  }
}

}  // namespace onward

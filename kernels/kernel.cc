#include "kernels/kernel.h"

#include <algorithm>

namespace onward {
namespace {

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

void* StateArena::Allocate(size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  while (block_ < blocks_.size() && used_ + bytes > sizes_[block_]) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    sizes_.push_back(std::max(kBlock, bytes));
    blocks_.push_back(std::make_unique<std::byte[]>(sizes_.back()));
  }
  void* result = blocks_[block_].get() + used_;
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

}  // namespace onward

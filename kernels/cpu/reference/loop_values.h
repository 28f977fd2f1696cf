// The values that Loop and Scan keep between iterations: those carried to the next, and outputs
// stacked over all of them.
#pragma once

#include <string>
#include <vector>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

// Gives a body's result out as an output of the node.
absl::Status EmitOutput(RunContext& context, int output, const SlotValue& value);

// A value that the next iteration reads. The body's results live only until it runs again, so they
// are copied into one of two buffers in turn: a result may lie in the buffer that is current, of
// this value or of another. Buffers grow and are not freed before the kernel's end, so iterations
// of stable shapes allocate nothing.
class CarriedValue {
 public:
  void Start(const SlotValue& initial) { current_ = initial; }
  absl::Status Advance(RunContext& context, const SlotValue& result);
  const SlotValue& current() const { return current_; }

 private:
  SlotValue current_;
  void* buffers_[2] = {};
  int64_t capacities_[2] = {};
  int buffer_ = 0;
  Dims dims_[2];
  int dims_at_ = 0;
  Value objects_[2];  // sequences, optionals and tensors of strings
  int object_ = 0;
};

// An output that stacks one tensor per iteration along a new first axis.
class StackedOutput {
 public:
  // `expected` iterations will come, or are likely to; 0: unknown.
  StackedOutput(int output, int64_t expected) : output_(output), expected_(expected) {}
  // InvalidArgument when the shape differs from the first iteration's.
  absl::Status Append(RunContext& context, const SlotValue& slot);
  // Gives the output out. `type` is that of one iteration, for the case that there was none.
  // `axis` is where the new axis stands in the result; reversed: the last iteration comes first.
  absl::Status Finish(RunContext& context, const Type& type, int64_t axis = 0,
                      bool reversed = false);

 private:
  absl::Status Begin(RunContext& context, const TensorView& element);
  absl::Status Grow(RunContext& context);
  absl::Status CopyOut(RunContext& context, int64_t axis, bool reversed);

  int output_;
  int64_t expected_;
  int64_t count_ = 0;  // iterations appended
  DType dtype_ = DType::kUndefined;
  Dims dims_;             // of one iteration
  int64_t elements_ = 0;  // of one iteration
  int64_t stride_ = 0;    // bytes of one iteration; packed types are kept unpacked
  char* data_ = nullptr;
  int64_t capacity_ = 0;   // iterations
  bool in_place_ = false;  // data_ is the output's memory
  std::vector<std::string> strings_;
};

}  // namespace onward::kernels::cpu

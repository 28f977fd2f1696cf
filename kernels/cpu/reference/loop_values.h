// The values that Loop and Scan keep between iterations: those carried to the next, and outputs
// stacked over all of them. They lie where the body has them; strings and packed types on the host.
#pragma once

#include <string>
#include <vector>

#include "kernels/body_memory.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// The memory of every value of a body that the host runs.
const BodyMemories& HostMemories();

absl::Status CopyOnHost(const RowsOfBytes& rows);

// Gives a body's result, which lies in `memory`, out as an output of the node.
absl::Status EmitOutput(RunContext& context, const BodyMemory& memory, int output,
                        const SlotValue& value);

// A value that the next iteration reads. The body's results live only until it runs again, so they
// are copied into one of two buffers in turn: a result may lie in the buffer that is current, of
// this value or of another. Buffers grow and are not freed before the kernel's end, so iterations
// of stable shapes allocate nothing.
class CarriedValue {
 public:
  CarriedValue(const Body& body, const BodyMemory& memory) : body_(&body), memory_(&memory) {}
  void Start(const SlotValue& initial) { current_ = initial; }
  absl::Status Advance(RunContext& context, const SlotValue& result);
  const SlotValue& current() const { return current_; }

 private:
  const Body* body_;
  const BodyMemory* memory_;
  SlotValue current_;
  void* buffers_[2] = {};
  int64_t capacities_[2] = {};
  int buffer_ = 0;
  Dims dims_[2];
  int dims_at_ = 0;
  Value objects_[2];  // sequences, optionals and tensors of strings
  int object_ = 0;
};

// Where the iterations stand in a stacked output.
struct StackAxis {
  int64_t axis = 0;       // the new axis in the result
  bool reversed = false;  // the last iteration comes first
};

// An output that stacks one tensor per iteration along a new axis.
class StackedOutput {
 public:
  // `expected` iterations will come, or for an axis of 0 are likely to; 0: unknown.
  StackedOutput(const Body& body, const BodyMemory& memory, int output, int64_t expected,
                StackAxis axis = {})
      : body_(&body), memory_(&memory), output_(output), expected_(expected), axis_(axis) {}
  // InvalidArgument when the shape differs from the first iteration's.
  absl::Status Append(RunContext& context, const SlotValue& slot);
  // Gives the output out. `type` is that of one iteration, for the case that there was none.
  absl::Status Finish(RunContext& context, const Type& type);

 private:
  absl::Status Begin(RunContext& context, const TensorView& element);
  absl::Status Grow(RunContext& context);
  absl::Status CopyOut(RunContext& context);
  // Copies an iteration to where it stands in an output of `iterations` at `to`.
  absl::Status Put(RunContext& context, const void* from, char* to, int64_t at,
                   int64_t iterations) const;

  const Body* body_;
  const BodyMemory* memory_;
  int output_;
  int64_t expected_;
  StackAxis axis_;
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

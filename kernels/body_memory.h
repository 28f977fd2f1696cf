// Memory of the values that pass between control flow and its bodies, which may lie on a device.
#pragma once

#include <cstdint>

#include "onward/kernel.h"

namespace onward::kernels {

// A body of a node that a device runs: its values lie on either side. The host's kernels do not
// ask.
class PlacedBody : public Body {
 public:
  // `input`: an input of the body, or behind them a capture.
  virtual bool is_input_on_device(int input) const = 0;
  virtual bool is_result_on_device(int output) const = 0;
  // The host's memory, valid until the Run of the node's kernel returns.
  virtual absl::StatusOr<void*> AllocateOnHost(RunContext& context, int64_t bytes) const = 0;
};

// Rows of bytes, which begin `to_pitch` and `from_pitch` bytes apart.
struct RowsOfBytes {
  void* to;
  const void* from;
  int64_t rows, bytes;
  int64_t to_pitch = 0, from_pitch = 0;
};

class BodyMemory {
 public:
  virtual ~BodyMemory() = default;
  // Valid until the Run of the node's kernel returns.
  virtual absl::StatusOr<void*> Allocate(RunContext& context, const Body& body,
                                         int64_t bytes) const = 0;
  virtual absl::Status Copy(const RunContext& context, const RowsOfBytes& rows) const = 0;
  // Returns whether kernels take tensors at any address, and those of a body at another in each
  // turn cost nothing.
  virtual bool takes_any_address() const = 0;
};

// The memory of the body's inputs and results, by number.
struct BodyMemories {
  const BodyMemory& (*of_input)(const Body& body, int input);
  const BodyMemory& (*of_result)(const Body& body, int output);
};

}  // namespace onward::kernels

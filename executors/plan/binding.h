// A program bound to concrete input shapes: output dims, arena offsets, scratch, and the values
// that shapes alone decide. Built in a few hundred nanoseconds per node, immutable, shared by
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "executors/plan/program.h"

namespace onward::executors {

struct SlotPlan {
  enum class Place : uint8_t {
    kUnknown,   // decided while running
    kConstant,  // a constant, or a value computed while binding: `value.tensor.data` points at it
    kInput,     // the caller's memory (or a default value)
    kOutput,    // the caller's memory for a graph output
    kArena,     // `offset` bytes into the arena of the slot's device
  };
  Place place = Place::kUnknown;
  Place own = Place::kUnknown;  // where it would be if it shared no memory
  int32_t root = -1;            // the slot whose memory this one shares; itself when it shares none
  int32_t external = -1;        // index among the inputs or outputs, for kInput and kOutput
  int64_t offset = 0;
  // The aliasing that the kernel allows for an output: see OutputPlan.
  int8_t alias = -1;
  uint32_t in_place = 0;
};

struct StepPlan {
  enum class Mode : uint8_t {
    kRun,
    kSkip,     // its values were computed while binding
    kDynamic,  // bound when its inputs are there
  };
  Mode mode = Mode::kDynamic;
  void* state = nullptr;
  int64_t scratch_bytes = 0;
  int64_t scratch = -1;  // offset in the arena, -1: none
};

struct Binding {
  std::vector<int64_t> key;  // ranks and dims of the inputs
  std::vector<SlotPlan> slots;
  std::vector<SlotValue>
      values;  // per slot: dtype, dims, data of constants; the dims' storage is `arena`
  std::vector<StepPlan> steps;
  std::vector<int32_t> last;         // per slot: the last step that reads its memory by any alias
  std::vector<int64_t> arena_bytes;  // per device
  std::vector<int32_t> copied_outputs;  // outputs whose value is an input, a constant or another
                                        // output: copied at the end
  std::vector<int32_t> over_input;  // per output: the input whose memory it may be written to, -1:
                                    // none; see FindUpdatesInPlace
  StateArena arena;
  std::vector<std::shared_ptr<void>> sent;  // memory of known values on a device
  // Steps that see the same dims and values as in this binding took their state from it. It has no
  // base itself.
  std::shared_ptr<const Binding> base;

  // A copy of `dims` that lives as long as the binding.
  DimsView arena_dims(DimsView dims) {
    auto* copy = static_cast<int64_t*>(arena.Allocate(std::ssize(dims), sizeof(int64_t)));
    std::copy(dims.begin(), dims.end(), copy);
    return {copy, dims.size()};
  }
};

}  // namespace onward::executors

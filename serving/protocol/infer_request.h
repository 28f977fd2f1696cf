// An inference request (Open Inference Protocol v2, section "Inference", with the extensions
// binary_tensor_data, classification and parameters).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "onward/session.h"

namespace onward::serving {

struct RequestedOutput {
  std::string name;
  bool binary = false;   // as bytes behind the reply's JSON
  uint64_t classes = 0;  // so many best classes as text, instead of the tensor; 0: the tensor
};

struct Sequence {
  std::variant<std::monostate, uint64_t, std::string> id;  // monostate: of no sequence
  bool start = false, end = false;
};

struct InferRequest {
  std::optional<std::string> id;         // echoed in the reply
  Session::Inputs inputs;                // not yet compared with the model's
  std::vector<RequestedOutput> outputs;  // those asked for, in their order; none: all
  bool binary_output = false;            // for all, where none is asked for by name
  uint64_t priority = 0;                 // 1: the highest; 0: the default
  std::optional<std::chrono::microseconds> timeout;
  Sequence sequence;
};

}  // namespace onward::serving

// Text generation: tokens that follow a prompt, one by one or by beams.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/generation/beam_search.h"
#include "onward/generation/decoder.h"
#include "onward/generation/sampling.h"

namespace onward::generation {

struct GenerateOptions {
  int64_t max_new_tokens = 20;
  std::vector<int64_t> stop_tokens = {};  // the first of them ends the text, and belongs to it
  SamplingOptions sampling = {};
  uint64_t seed = 0;  // of the draws: step i takes number i of its stream
  // Sees each token as it is chosen; false ends the text.
  std::function<bool(int64_t token)> on_token = nullptr;
};

enum class Finish : uint8_t { kLength, kStop, kContext, kCaller };
std::string_view FinishName(Finish finish);  // "length", "stop", "context", "caller"

struct Generated {
  std::vector<int64_t> tokens;  // without the prompt
  Finish finish = Finish::kLength;
};

// InvalidArgument: options out of range, a prompt that the model cannot read; others as the model.
absl::StatusOr<Generated> Generate(Decoder& decoder, absl::Span<const int64_t> prompt,
                                   const GenerateOptions& options);

}  // namespace onward::generation

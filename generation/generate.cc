#include "onward/generation/generate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::generation {

std::string_view FinishName(Finish finish) {
  switch (finish) {
    case Finish::kStop:
      return "stop";
    case Finish::kContext:
      return "context";
    case Finish::kCaller:
      return "caller";
    default:
      return "length";
  }
}

absl::StatusOr<Generated> Generate(Decoder& decoder, absl::Span<const int64_t> prompt,
                                   const GenerateOptions& options) {
  ONWARD_RETURN_IF_ERROR(CheckSampling(options.sampling));
  if (options.max_new_tokens < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("max_new_tokens is ", options.max_new_tokens, ", must be at least 1"));
  ONWARD_ASSIGN_OR_RETURN(Scores scores, decoder.Begin(prompt));
  Generated made;
  for (uint64_t step = 0;; ++step) {
    const int64_t token = ChooseToken(absl::MakeSpan(scores[0]), decoder.row(0), options.sampling,
                                      options.seed, step);
    made.tokens.push_back(token);
    const bool goes_on = !options.on_token || options.on_token(token);
    const auto& stops = options.stop_tokens;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
      made.finish = Finish::kStop;
    } else if (!goes_on) {
      made.finish = Finish::kCaller;
    } else if (static_cast<int64_t>(made.tokens.size()) < options.max_new_tokens) {
      if (!decoder.full()) {
        ONWARD_ASSIGN_OR_RETURN(scores, decoder.Next({token}, {0}));
        continue;
      }
      made.finish = Finish::kContext;
    }
    return made;
  }
}

}  // namespace onward::generation

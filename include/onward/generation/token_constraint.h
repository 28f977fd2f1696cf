// Narrows the choice of a text's next token: to a grammar, for instance.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace onward::generation {

// Belongs to one text. Not thread-safe.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;

  // Sets the scores of the tokens that may not come next to -infinity, before anything else is done
  // with them. Tokens that end the text stay possible only where the text may end.
  virtual void Mask(absl::Span<float> scores) = 0;
  // `token` was chosen, and is not one that ends the text.
  virtual void Take(int64_t token) = 0;
  // Asked behind Take: nothing may follow, so that the text ends without a token that says so.
  virtual bool Ends() const { return false; }
  // Asked behind Mask: an error where no token may come, with which the text ends.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

}  // namespace onward::generation

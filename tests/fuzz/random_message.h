// Protobuf messages that a fuzzer's bytes change, mostly into well-formed ones.
#pragma once

#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace onward::fuzz {

// Sets, adds to or clears one field somewhere in the message. Strings are drawn from `words`.
void ChangeField(FuzzBytes& bytes, absl::Span<const char* const> words,
                 google::protobuf::Message& message);

}  // namespace onward::fuzz

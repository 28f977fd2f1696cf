// GPT-2's letters for the 256 bytes: visible characters, so that bytes can stand in a vocabulary.
#pragma once

#include <string>
#include <string_view>

namespace onward::tokenizer {

std::string ToByteAlphabet(std::string_view bytes);
// Returns text that is not wholly of the alphabet as it is.
std::string FromByteAlphabet(std::string_view text);

}  // namespace onward::tokenizer

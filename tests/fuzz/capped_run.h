// Compiles and runs a model with caps, as a server of strangers' models would.
#pragma once

#include <string_view>

#include "onward/graph.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace onward::fuzz {

// The inputs' elements, and the dims that their types leave open, come from `bytes`.
void CappedRun(Model model, FuzzBytes& bytes);
void CappedImportAndRun(std::string_view model, FuzzBytes& bytes);

}  // namespace onward::fuzz

// Names that exporters make up.
#pragma once

#include <string>

namespace onward::training {

// Returns whether a name is one that PyTorch's exporters give to constants of formulas: "val_12",
// "/norm/Constant_1_output_0".
bool IsGeneratedName(const std::string& name);

}  // namespace onward::training

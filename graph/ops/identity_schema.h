// Schemas of ops that return what they are given.
#pragma once

#include <string>
#include <vector>

#include "onnx/defs/schema.h"

namespace onward {

// The schema of an op of the domain `onward` that returns its first input X, of a type of `types`,
// as Y. Others of its attributes and inputs are the caller's to add.
onnx::OpSchema IdentitySchema(const char* op, const char* doc,
                              const std::vector<std::string>& types);

}  // namespace onward

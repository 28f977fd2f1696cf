// Schemas as one line of text, for ops that the standard's C++ does not declare.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onnx {
class OpSchema;
}

namespace onward {

// Reads
//
//   Name <axis: int = -1, mode: string?, scale: float> (X: T, bias: T?, rest: T...) -> (Y: T)
//     where T = float16|float|double, M = int32
//
// Kinds of attributes: int, float, string, tensor, ints, floats, strings. `?` marks what may be
// omitted, `= value` gives an attribute's default (a number, "text" or [1, 2]), `...` marks a last
// parameter that takes any number of values, at least one (`...?`: or none). A parameter's type is
// a letter of `where` or the name of one. Types are named as in the standard, tensors by their
// element alone: `float16`, `seq(tensor(float))`. InvalidArgument says where the text is wrong.
absl::StatusOr<onnx::OpSchema> SchemaFromSignature(const std::string& domain,
                                                   std::string_view signature);

}  // namespace onward

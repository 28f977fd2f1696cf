// RequireShape: input 0 if it has the shape that input 1 lists, or an error.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct RequireShapeAttributes {
  std::string message;      // of the error; {got}, {expected} and {of}, input 2, stand for shapes
  bool broadcasts = false;  // a shape that broadcasts to the expected one will do

  static RequireShapeAttributes Parse(const NodeSpec& spec);
};

// Sets the output to input 0 itself. InvalidArgument: another shape.
absl::Status BindRequireShape(BindContext& context, const RequireShapeAttributes& attributes);

}  // namespace onward::kernels

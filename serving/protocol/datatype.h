// Names of element types in the Open Inference Protocol v2.
#pragma once

#include <optional>
#include <string_view>

#include "onward/dtype.h"

namespace onward::serving {

// "FP32", "BYTES", ...; "" for a type that cannot cross the protocol.
std::string_view DatatypeName(DType dtype);
std::optional<DType> DTypeOfDatatype(std::string_view name);

}  // namespace onward::serving

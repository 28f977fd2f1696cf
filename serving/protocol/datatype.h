// Element types and shapes as the Open Inference Protocol v2 writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "onward/dtype.h"
#include "onward/type.h"

namespace onward::serving {

// "FP32", "BYTES", ...; "" for a type that cannot cross the protocol.
std::string_view DatatypeName(DType dtype);
std::optional<DType> DTypeOfDatatype(std::string_view name);

// With `varying` for dims that vary; an unknown rank counts as one of them.
std::vector<int64_t> ShapeOf(const Type& type, int64_t varying);

}  // namespace onward::serving

// NumPy's .npy and .npz files (format 1.0-3.0; numpy.lib.format).
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward::files {

// Little- and native-endian C- and Fortran-order arrays of numbers, bool, complex and fixed-width
// strings. Arrays of raw bytes ("|V2") take `expected` when its size fits (one byte for each
// element of a packed type): so ml_dtypes' bfloat16, float8 and narrower arrays are read.
// InvalidArgument names the file and what is wrong; the data's size is checked against the header
// before memory is taken.
absl::StatusOr<Tensor> ReadNpy(const std::string& path, DType expected = DType::kUndefined);

// Every array of an archive by name, without ".npy".
absl::StatusOr<std::map<std::string, Tensor>> ReadNpz(const std::string& path);

// bfloat16, float8 and the floats of 6 and 4 bits are written as raw bytes, as ml_dtypes does; 4-
// and 2-bit integers as int8 or uint8.
absl::Status WriteNpy(const Tensor& tensor, const std::string& path);

}  // namespace onward::files

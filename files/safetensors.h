// Files of named tensors: the safetensors format (huggingface/safetensors: 8 bytes of header
// length, a JSON header, the tensors' bytes without holes).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward::files {

struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Maps the file. Tensors whose bytes lie at a multiple of kTensorAlignment are read in place, and
// writing to one does not change the file; others are copies. InvalidArgument names the file, the
// tensor and what is wrong: everything is checked before memory is taken. Refused: names that
// appear twice, dtypes that the format does not have, ranges that overlap, leave holes or do not
// fit the shape, bytes after the last tensor, headers of more than 100 MB.
absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path);

// The same bytes as the reference implementation writes: wider types first, then by name.
// InvalidArgument: a dtype that the format lacks (string, complex128, integers of 2 and 4 bits), a
// packed tensor that ends within a byte, or a name that is not UTF-8. The file appears whole or
// not at all.
absl::Status WriteSafetensors(const Safetensors& file, const std::string& path);

// The same, piece by piece.
absl::Status WriteSafetensors(const Safetensors& file,
                              absl::FunctionRef<absl::Status(std::string_view)> append);

}  // namespace onward::files

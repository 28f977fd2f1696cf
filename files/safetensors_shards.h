// Weights in several safetensors files, as Hugging Face's save_pretrained writes large models.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "files/safetensors.h"

namespace onward::files {

// One file, or those that an index names: a path that ends in ".index.json" is of a JSON object
// whose "weight_map" says in which file beside it each tensor lies. Tensors are read as
// ReadSafetensors says. InvalidArgument also where the index is wrong, a tensor is not in its file,
// or a file has a tensor that the index has elsewhere; NotFound names a missing file.
absl::StatusOr<Safetensors> ReadWeights(const std::string& path);

}  // namespace onward::files

// The tensors of a body: inputs of a request, outputs of a reply. They are described by JSON, and
// their elements are there too, or bytes behind it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/tensor.h"
#include "serving/http/message.h"
#include "serving/protocol/json_members.h"

namespace onward::serving {

class BodyTensors {
 public:
  // `json_length`: where the JSON ends; nullopt: all of the body is JSON. `tail`: what follows the
  // body, which then is the JSON alone.
  BodyTensors(std::string_view body, std::optional<size_t> json_length, const BodyPart& tail = {});

  // The tensors of an array, in their order; `what`: "input" or "output", for errors, which are
  // InvalidArgument and name the member. Takes no more memory than in proportion to the body.
  absl::StatusOr<std::vector<std::pair<std::string, Tensor>>> Read(JsonElement array,
                                                                   const std::string& what);
  // InvalidArgument: bytes behind the JSON are left that no tensor has taken.
  absl::Status CheckEnd() const;

 private:
  absl::StatusOr<Tensor> ReadTensor(JsonObject object, const std::string& where,
                                    const std::string& name);
  absl::StatusOr<Tensor> TakeBinary(DType dtype, const Dims& dims, uint64_t size,
                                    const std::string& where, const std::string& name);

  std::string_view binary_;                  // what no tensor has taken yet
  const std::shared_ptr<const void> owner_;  // of it; null: it is copied
  const size_t body_size_;
  const bool has_length_;
};

}  // namespace onward::serving

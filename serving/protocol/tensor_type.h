// Datatypes and shapes of tensors that clients send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "onward/dtype.h"
#include "onward/shape.h"

namespace onward::serving {

// InvalidArgument, with `where`: it is not a datatype of the protocol.
absl::StatusOr<DType> DTypeNamed(std::string_view name, const std::string& where);

// Takes dims one by one, so that no list of them is made that is longer than shapes are.
class ShapeReader {
 public:
  static constexpr size_t kMostDims = 64;

  // `room`: the most elements that there can be, by what the client sent.
  ShapeReader(std::string where, size_t room) : where_(std::move(where)), room_(room) {}

  // InvalidArgument, with `where`: a negative dim, more dims than shapes have, more elements than
  // there is room for.
  absl::Status Add(int64_t dim);
  const Dims& dims() const { return dims_; }
  int64_t count() const { return count_; }  // of elements

 private:
  const std::string where_;
  const size_t room_;
  Dims dims_;
  int64_t count_ = 1;
};

}  // namespace onward::serving

// InferTensorContents: a tensor's elements in the field of their datatype.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "onward/tensor.h"
#include "serving/grpc/messages/inference.pb.h"

namespace onward::serving {

// InvalidArgument, with `where` in front: FP16 and BF16, which have no field; elements in another
// field; more or fewer of them than `dims` ask for; one that the datatype cannot hold.
absl::StatusOr<Tensor> ReadTypedContents(DType dtype, DimsView dims,
                                         const inference::InferTensorContents& contents,
                                         const std::string& where);

bool HasTypedContents(DType dtype);
// HasTypedContents holds.
void WriteTypedContents(const Tensor& tensor, inference::InferTensorContents& contents);

}  // namespace onward::serving

// Sparse tensors become dense ones.
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

// A few bytes of sparse proto may claim any dense size; real ones store at least about 1 %.
constexpr int64_t kDenseBytesFree = int64_t{64} << 20;
constexpr int64_t kDenseBytesPerStored = 256;

// Row-major positions of the elements in the dense tensor, checked to ascend within it.
absl::StatusOr<std::vector<int64_t>> Positions(const Tensor& indices, DimsView dims,
                                               int64_t count) {
  const auto rank = static_cast<int64_t>(dims.size());
  const bool linear = indices.rank() == 1;
  if (indices.dtype() != DType::kInt64 || indices.rank() < 1 || indices.rank() > 2 ||
      indices.dims()[0] != count || (!linear && indices.dims()[1] != rank)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sparse indices are ", std::string(DTypeName(indices.dtype())), DimsString(indices.dims()),
        ", expected int64[", count, "] or int64[", count, ",", rank, "]"));
  }
  const int64_t elements = NumElements(dims);
  std::vector<int64_t> positions(static_cast<size_t>(count));
  const int64_t* index = indices.data<int64_t>();
  int64_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    if (linear) {
      position = index[i];
      if (position < 0 || position >= elements) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sparse index ", position, " is out of range for shape ", DimsString(dims)));
      }
    }
    for (int64_t axis = 0; !linear && axis < rank; ++axis) {
      const int64_t coordinate = index[i * rank + axis];
      const int64_t dim = dims[static_cast<size_t>(axis)];
      if (coordinate < 0 || coordinate >= dim) {
        return absl::InvalidArgumentError(absl::StrCat("sparse index ", coordinate,
                                                       " is out of range for axis ", axis,
                                                       " of shape ", DimsString(dims)));
      }
      position = position * dim + coordinate;
    }
    if (position <= last) {
      return absl::InvalidArgumentError(
          absl::StrCat("sparse indices do not ascend at element ", i));
    }
    positions[static_cast<size_t>(i)] = last = position;
  }
  return positions;
}

void ScatterPacked(const Tensor& values, const std::vector<int64_t>& positions, Tensor& dense) {
  std::vector<int8_t> from(positions.size());
  std::vector<int8_t> to(static_cast<size_t>(dense.num_elements()));
  UnpackSubByte(values.dtype(), values.raw_data(), values.num_elements(), from.data());
  for (size_t i = 0; i < positions.size(); ++i) to[static_cast<size_t>(positions[i])] = from[i];
  PackSubByte(dense.dtype(), to.data(), dense.num_elements(), dense.raw_mutable_data());
}

}  // namespace

absl::StatusOr<Tensor> TensorFromSparseProto(const onnx::SparseTensorProto& proto,
                                             const TensorSource& source) {
  ONWARD_ASSIGN_OR_RETURN(const Tensor values, TensorFromProto(proto.values(), source));
  ONWARD_ASSIGN_OR_RETURN(const Tensor indices, TensorFromProto(proto.indices(), source));
  const DType dtype = values.dtype();
  if (values.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("sparse values have shape ", DimsString(values.dims()), ", expected rank 1"));
  }
  const DimsView dims(proto.dims().data(), static_cast<size_t>(proto.dims_size()));
  if (proto.dims_size() > source.max_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", dims.size(), " is above the limit of ", source.max_rank));
  }
  ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(dtype, dims));
  const int64_t stored = values.byte_size() + indices.byte_size();
  if (bytes > kDenseBytesFree && bytes / kDenseBytesPerStored > stored) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sparse tensor of shape ", DimsString(dims), " needs ", bytes,
                     " bytes when dense, out of proportion to the ", stored, " that are stored"));
  }
  if (values.raw_data() == nullptr || indices.raw_data() == nullptr) {
    return Tensor::Wrap(dtype, dims, nullptr, nullptr);  // missing files are allowed
  }
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                          Positions(indices, dims, values.num_elements()));
  ONWARD_ASSIGN_OR_RETURN(Tensor dense, Tensor::Create(dtype, dims));
  if (dtype == DType::kString) {
    for (size_t i = 0; i < positions.size(); ++i) {
      dense.mutable_data<std::string>()[positions[i]] = values.data<std::string>()[i];
    }
    return dense;
  }
  if (IsSubByte(dtype)) {
    ScatterPacked(values, positions, dense);
    return dense;
  }
  const auto size = static_cast<size_t>(BitSize(dtype) / 8);
  auto* to = static_cast<char*>(dense.raw_mutable_data());
  const auto* from = static_cast<const char*>(values.raw_data());
  if (bytes > 0) std::memset(to, 0, static_cast<size_t>(bytes));
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(to + static_cast<size_t>(positions[i]) * size, from + i * size, size);
  }
  return dense;
}

}  // namespace onward::onnx_io

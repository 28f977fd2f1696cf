#include "training/data/collate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::training {
namespace {

absl::StatusOr<Dims> LargestDims(const std::vector<Tensor>& tensors, bool pad) {
  const Tensor& first = tensors[0];
  Dims largest(first.dims().begin(), first.dims().end());
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() != first.dtype() || tensor.rank() != first.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("examples of ", std::string(DTypeName(first.dtype())),
                       DimsString(first.dims()), " and ", std::string(DTypeName(tensor.dtype())),
                       DimsString(tensor.dims()), " cannot form a batch"));
    }
    if (!pad && tensor.dims() != first.dims()) {
      return absl::InvalidArgumentError(
          absl::StrCat("examples of ", DimsString(first.dims()), " and ", DimsString(tensor.dims()),
                       " cannot form a batch: data.pad pads them, and a step of "
                       "images (resize, center_crop) gives them one "
                       "size"));
    }
    for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], tensor.dims()[i]);
  }
  return largest;
}

template <typename T>
T PadValue(double pad) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto low = static_cast<double>(std::numeric_limits<T>::lowest());
    const auto high = static_cast<double>(std::numeric_limits<T>::max());
    if (!(pad > low)) return std::numeric_limits<T>::lowest();
    return pad >= high ? std::numeric_limits<T>::max() : static_cast<T>(std::nearbyint(pad));
  } else if constexpr (std::is_same_v<T, bool>) {
    return pad != 0;
  } else {
    return T(static_cast<float>(pad));
  }
}

template <>
double PadValue<double>(double pad) {
  return pad;
}

using PaddedTypes = Concat<NumericTypes, TypeList<bool>>;

void Fill(const Tensor& tensor, double pad) {
  DispatchDType(PaddedTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* data = static_cast<T*>(tensor.view().data);
    std::fill(data, data + tensor.num_elements(), PadValue<T>(pad));
  });
}

// Copies `from` into the corner of a row of dims `to`, row by row of the last axis.
void CopyCorner(const Tensor& from, DimsView to, char* out) {
  const int64_t width = BitSize(from.dtype()) / 8;
  const int64_t last = from.rank() == 0 ? 1 : from.dims().back();
  if (from.num_elements() == 0) return;
  const Dims strides = Strides(to);
  const int64_t rows = from.num_elements() / last;
  const auto* in = static_cast<const char*>(from.raw_data());
  Dims index(from.dims().size(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (size_t axis = 0; axis + 1 < index.size(); ++axis) offset += index[axis] * strides[axis];
    std::memcpy(out + offset * width, in + row * last * width, static_cast<size_t>(last * width));
    for (size_t axis = index.size() - 1; axis-- > 0;) {
      if (++index[axis] < from.dims()[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<Tensor> Stack(const std::vector<Tensor>& tensors, const double* pad) {
  const DType dtype = tensors[0].dtype();
  if (IsSubByte(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("examples of ", std::string(DTypeName(dtype)), " cannot form a batch"));
  }
  ONWARD_ASSIGN_OR_RETURN(const Dims row, LargestDims(tensors, pad != nullptr));
  Dims dims{static_cast<int64_t>(tensors.size())};
  dims.insert(dims.end(), row.begin(), row.end());
  ONWARD_ASSIGN_OR_RETURN(Tensor batch, Tensor::Create(dtype, dims));
  const bool equal = std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
    return tensor.dims() == DimsView(row);
  });
  if (!equal && !DispatchDType(PaddedTypes(), dtype, [](auto) {})) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(DTypeName(dtype)), " cannot be padded"));
  }
  if (!equal) Fill(batch, *pad);
  const int64_t stride = ByteSize(dtype, NumElements(row));
  for (size_t i = 0; i < tensors.size(); ++i) {
    char* out = static_cast<char*>(batch.raw_mutable_data()) + static_cast<int64_t>(i) * stride;
    if (equal) {
      CopyElements(tensors[i].view(), {dtype, Device(), out, row});
    } else {
      CopyCorner(tensors[i], row, out);
    }
  }
  return batch;
}

Tensor RowsOf(const Tensor& batch, int64_t begin, int64_t rows) {
  Dims dims(batch.dims().begin(), batch.dims().end());
  const int64_t row = dims[0] == 0 ? 0 : batch.num_elements() / dims[0];
  dims[0] = rows;
  Tensor made(batch.dtype(), dims);
  if (batch.dtype() == DType::kString) {
    for (int64_t i = 0; i < rows * row; ++i)
      made.mutable_data<std::string>()[i] = batch.data<std::string>()[begin * row + i];
    return made;
  }
  const auto bytes = static_cast<size_t>(ByteSize(batch.dtype(), row));
  std::memcpy(made.raw_mutable_data(),
              static_cast<const std::byte*>(batch.raw_data()) + static_cast<size_t>(begin) * bytes,
              static_cast<size_t>(rows) * bytes);
  return made;
}

}  // namespace onward::training

// Tensors: dense row-major arrays. A Tensor shares its buffer between copies; a TensorView points
// at memory it does not own. The memory may lie on a device (device_tensor.h); functions that read
// or write elements are for the host's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/device.h"
#include "onward/dtype.h"
#include "onward/shape.h"

namespace onward {

inline constexpr size_t kTensorAlignment = 64;

// A tensor of someone else's memory. Cheap to copy; `dims` points at storage that must outlive the
// view.
struct TensorView {
  DType dtype = DType::kUndefined;
  Device device;  // in whose memory `data` lies
  void* data = nullptr;
  DimsView dims;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t dim(int64_t axis) const { return dims[static_cast<size_t>(axis)]; }
  int64_t num_elements() const { return NumElements(dims); }
  int64_t byte_size() const { return ByteSize(dtype, num_elements()); }
  // The elements as T; T must be the storage type of `dtype` (packed types: uint8_t).
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <typename T>
  absl::Span<T> span() const {
    return absl::Span<T>(static_cast<T*>(data), static_cast<size_t>(num_elements()));
  }
};

class Tensor {
 public:
  Tensor() = default;
  // Uninitialised storage (strings are empty), aligned to kTensorAlignment. `dims` must be
  // validated: see Create.
  Tensor(DType dtype, DimsView dims);
  // Validates dims (negative, overflow) and that the allocation succeeds: InvalidArgument,
  // ResourceExhausted.
  static absl::StatusOr<Tensor> Create(DType dtype, DimsView dims);
  // A tensor on memory of `device` that `owner` keeps alive; `data` may be unaligned only if no
  // kernel reads it in place.
  static Tensor Wrap(DType dtype, DimsView dims, void* data, std::shared_ptr<void> owner,
                     Device device = {});

  template <typename T>
  static Tensor Of(DimsView dims, absl::Span<const T> values) {
    Tensor tensor(kDTypeOf<T>, dims);
    for (size_t i = 0; i < values.size(); ++i) tensor.mutable_data<T>()[i] = values[i];
    return tensor;
  }
  template <typename T>
  static Tensor Of(DimsView dims, std::initializer_list<T> values) {
    return Of<T>(dims, absl::Span<const T>(values.begin(), values.size()));
  }
  template <typename T>
  static Tensor Scalar(T value) {
    return Of<T>({}, {value});
  }
  static Tensor Zeros(DType dtype, DimsView dims);  // strings are empty
  template <typename T>
  static Tensor Full(DimsView dims, const T& value) {
    Tensor tensor(kDTypeOf<T>, dims);
    std::fill_n(tensor.mutable_data<T>(), tensor.num_elements(), value);
    return tensor;
  }
  // begin, begin + step, ... before `end`, as numpy.arange gives it; empty where `end` is not in
  // the direction of `step`, which is not 0.
  template <typename T>
  static Tensor Range(T begin, T end, T step = 1) {
    const double count = std::ceil((static_cast<double>(end) - static_cast<double>(begin)) /
                                   static_cast<double>(step));
    Tensor tensor(kDTypeOf<T>, {count > 0 ? static_cast<int64_t>(count) : 0});
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      tensor.mutable_data<T>()[i] = static_cast<T>(begin + static_cast<T>(i) * step);
    return tensor;
  }

  bool empty() const { return dtype_ == DType::kUndefined; }  // holds no tensor at all
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  DimsView dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t num_elements() const { return NumElements(dims_); }
  int64_t byte_size() const { return ByteSize(dtype_, num_elements()); }
  const void* raw_data() const { return data_; }
  void* raw_mutable_data() { return data_; }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* mutable_data() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  absl::Span<const T> span() const {
    return absl::Span<const T>(static_cast<const T*>(data_), static_cast<size_t>(num_elements()));
  }
  // The view's data is mutable by type; whether it may be written is the caller's knowledge.
  TensorView view() const { return {dtype_, device_, data_, dims_}; }
  // Same buffer, other dims; the number of elements must be equal.
  Tensor Reshaped(DimsView dims) const;
  Tensor Clone() const;
  // Returns whether no other Tensor shares the buffer.
  bool unique() const { return buffer_.use_count() == 1; }
  const std::shared_ptr<void>& buffer() const { return buffer_; }

 private:
  DType dtype_ = DType::kUndefined;
  Device device_;
  Dims dims_;
  void* data_ = nullptr;
  std::shared_ptr<void> buffer_;
};

// Copies elements of a view into a new tensor.
Tensor CopyOf(const TensorView& view);
// Copies `from` to `to`; equal dtype and number of elements. Handles strings.
void CopyElements(const TensorView& from, const TensorView& to);
// The elements of an integer tensor (any integer dtype or bool) as int64.
std::vector<int64_t> ToInt64(const TensorView& view);
// Same dtype, dims and elements; floats compare by bits, so NaN equals itself and 0 differs from
// -0.
bool SameBits(const Tensor& a, const Tensor& b);
// Writes TensorText (tensor_text.h).
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace onward

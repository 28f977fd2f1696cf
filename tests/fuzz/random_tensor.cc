#include "tests/fuzz/random_tensor.h"

#include <algorithm>

namespace onward::fuzz {
namespace {

using Numbers = Concat<Concat<NumericTypes, Float8Types>, ComplexTypes>;

template <typename T>
T RandomNumber(FuzzBytes& bytes) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bytes.Integer());
  } else {
    return T(bytes.Real());
  }
}

}  // namespace

DType RandomDType(FuzzBytes& bytes) {
  static constexpr DType kUsual[] = {DType::kFloat32, DType::kInt64, DType::kFloat32,
                                     DType::kBool,    DType::kInt32, DType::kFloat16,
                                     DType::kUint8,   DType::kInt8,  DType::kFloat64};
  if (!bytes.OneIn(8)) return bytes.Pick(kUsual);
  return static_cast<DType>(bytes.Between(1, kNumDTypes - 1));
}

Dims RandomDims(FuzzBytes& bytes) {
  static constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 0, 8, 2, 3, 17};
  Dims dims(bytes.Below(6));
  for (int64_t& dim : dims) dim = bytes.Pick(kSizes);
  return dims;
}

void ChangeElements(FuzzBytes& bytes, int64_t count, Tensor& tensor) {
  const int64_t elements = tensor.num_elements();
  if (elements == 0) return;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<int64_t>(bytes.Below(static_cast<size_t>(elements)));
    if (tensor.dtype() == DType::kString) {
      static const std::string kTexts[] = {"",         "a", "3.5", "-9223372036854775809",
                                           "\xff\xfe", "ab"};
      tensor.mutable_data<std::string>()[at] = bytes.Pick(kTexts);
    } else if (tensor.dtype() == DType::kBool) {
      tensor.mutable_data<bool>()[at] = bytes.Byte() & 1;
    } else if (IsSubByte(tensor.dtype())) {
      tensor.mutable_data<uint8_t>()[at % tensor.byte_size()] = bytes.Byte();
    } else {
      DispatchDType(Numbers(), tensor.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        tensor.mutable_data<T>()[at] = RandomNumber<T>(bytes);
      });
    }
  }
}

Tensor RandomTensor(FuzzBytes& bytes, DType dtype, DimsView dims) {
  Tensor tensor(dtype, dims);
  const int64_t elements = tensor.num_elements();
  if (dtype != DType::kString && elements > 0) {
    std::fill_n(tensor.mutable_data<char>(), tensor.byte_size(), 0);
  }
  if (elements <= 64) {
    ChangeElements(bytes, 2 * elements, tensor);
  } else {
    ChangeElements(bytes, 64, tensor);
  }
  return tensor;
}

}  // namespace onward::fuzz

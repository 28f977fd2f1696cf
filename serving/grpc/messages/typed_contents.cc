#include "serving/grpc/messages/typed_contents.h"

#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

using Contents = inference::InferTensorContents;
using Types = TypeList<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                       uint64_t, float, double, std::string>;

// The field of elements of type T.
template <typename T>
const auto& FieldOf(const Contents& contents) {
  if constexpr (std::is_same_v<T, bool>) {
    return contents.bool_contents();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return contents.int64_contents();
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return contents.uint64_contents();
  } else if constexpr (std::is_same_v<T, float>) {
    return contents.fp32_contents();
  } else if constexpr (std::is_same_v<T, double>) {
    return contents.fp64_contents();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return contents.bytes_contents();
  } else if constexpr (std::is_signed_v<T>) {
    return contents.int_contents();
  } else {
    return contents.uint_contents();
  }
}

template <typename T>
auto& MutableFieldOf(Contents& contents) {
  if constexpr (std::is_same_v<T, bool>) {
    return *contents.mutable_bool_contents();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return *contents.mutable_int64_contents();
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return *contents.mutable_uint64_contents();
  } else if constexpr (std::is_same_v<T, float>) {
    return *contents.mutable_fp32_contents();
  } else if constexpr (std::is_same_v<T, double>) {
    return *contents.mutable_fp64_contents();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return *contents.mutable_bytes_contents();
  } else if constexpr (std::is_signed_v<T>) {
    return *contents.mutable_int_contents();
  } else {
    return *contents.mutable_uint_contents();
  }
}

int64_t CountOfAll(const Contents& contents) {
  return int64_t{0} + contents.bool_contents_size() + contents.int_contents_size() +
         contents.int64_contents_size() + contents.uint_contents_size() +
         contents.uint64_contents_size() + contents.fp32_contents_size() +
         contents.fp64_contents_size() + contents.bytes_contents_size();
}

template <typename T, typename Element>
bool Holds(const Element& element) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(Element)) {
    return element >= std::numeric_limits<T>::min() && element <= std::numeric_limits<T>::max();
  }
  return true;
}

// InvalidArgument: an element that T cannot hold.
template <typename T>
absl::StatusOr<Tensor> TensorOf(DType dtype, DimsView dims, const Contents& contents,
                                const std::string& where) {
  const std::string datatype(DatatypeName(dtype));
  const auto& field = FieldOf<T>(contents);
  ONWARD_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(dims));
  if (CountOfAll(contents) != field.size())
    return absl::InvalidArgumentError(
        absl::StrCat(where, " elements are in another field than that of ", datatype));
  if (field.size() != count)
    return absl::InvalidArgumentError(absl::StrCat(where, " expected ", count, " elements for ",
                                                   datatype, " ", DimsString(dims), ", got ",
                                                   field.size()));
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
  T* to = tensor.mutable_data<T>();
  for (const auto& element : field) {
    if (!Holds<T>(element)) {
      const int64_t index = to - tensor.mutable_data<T>();
      if constexpr (std::is_integral_v<T>)
        return absl::InvalidArgumentError(absl::StrCat(where, " element ", index, " is ", element,
                                                       ", which ", datatype, " cannot hold"));
    }
    *to++ = static_cast<T>(element);
  }
  return tensor;
}

}  // namespace

absl::StatusOr<Tensor> ReadTypedContents(DType dtype, DimsView dims, const Contents& contents,
                                         const std::string& where) {
  absl::StatusOr<Tensor> tensor =
      absl::InvalidArgumentError(absl::StrCat(where, " ", std::string(DatatypeName(dtype)),
                                              " has no field of its own: send raw_input_contents"));
  DispatchDType(Types(), dtype, [&](auto tag) {
    tensor = TensorOf<typename decltype(tag)::type>(dtype, dims, contents, where);
  });
  return tensor;
}

bool HasTypedContents(DType dtype) {
  return DispatchDType(Types(), dtype, [](auto) {});
}

void WriteTypedContents(const Tensor& tensor, Contents& contents) {
  DispatchDType(Types(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto& field = MutableFieldOf<T>(contents);
    field.Reserve(static_cast<int>(tensor.num_elements()));
    for (const T& element : tensor.span<T>()) *field.Add() = element;
  });
}

}  // namespace onward::serving

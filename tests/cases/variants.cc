#include "tests/cases/variants.h"

#include "absl/strings/str_cat.h"

namespace onward::cases {
namespace {

Tensor Converted(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() != DType::kFloat32) return tensor;
  Tensor result(dtype, tensor.dims());
  DispatchDType(NumericTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      result.mutable_data<T>()[i] = static_cast<T>(tensor.data<float>()[i]);
  });
  return result;
}

}  // namespace

OpCase WithDType(const OpCase& c, DType dtype) {
  OpCase result = c;
  absl::StrAppend(&result.name, "_", std::string(DTypeName(dtype)));
  for (Tensor& tensor : result.inputs) tensor = Converted(tensor, dtype);
  for (Tensor& tensor : result.expected) tensor = Converted(tensor, dtype);
  return result;
}

void AddVariants(std::initializer_list<std::string_view> names, std::initializer_list<DType> dtypes,
                 std::vector<OpCase>& cases) {
  const size_t count = cases.size();
  for (size_t i = 0; i < count; ++i) {
    for (std::string_view name : names) {
      if (cases[i].name != name) continue;
      for (DType dtype : dtypes) cases.push_back(WithDType(cases[i], dtype));
    }
  }
}

}  // namespace onward::cases

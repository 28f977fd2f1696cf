#include "tests/cases/cases.h"

namespace onward::cases {

std::vector<OpCase> IdentityCases() {
  return {
      {"float32",
       "Identity",
       "",
       {},
       {Tensor::Of<float>({2, 2}, {1, -2, 3, 4})},
       {Tensor::Of<float>({2, 2}, {1, -2, 3, 4})}},
      {"scalar_string",
       "Identity",
       "",
       {},
       {Tensor::Scalar<std::string>("a")},
       {Tensor::Scalar<std::string>("a")}},
      {"empty",
       "Identity",
       "",
       {},
       {Tensor(DType::kInt64, {0, 3})},
       {Tensor(DType::kInt64, {0, 3})}},
  };
}

}  // namespace onward::cases

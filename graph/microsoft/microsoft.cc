#include "graph/microsoft/microsoft.h"

#include <cstdio>
#include <cstdlib>

#include "graph/ops/onward_schemas.h"

namespace onward {

std::vector<onnx::OpSchema> MicrosoftSchemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const auto& family :
       {microsoft::ActivationOps, microsoft::GatherBlockQuantizedOps, microsoft::MatMulNBitsOps,
        microsoft::NhwcOps, microsoft::QLinearOps, microsoft::QuantizeOps}) {
    for (const FormulaOp& op : family()) {
      absl::StatusOr<onnx::OpSchema> schema = FormulaSchema(kMicrosoftDomain, op);
      // A wrong row of our own table; every test of an op would meet it.
      if (!schema.ok()) {
        std::fprintf(stderr, "%s\n", std::string(schema.status().message()).c_str());
        std::abort();
      }
      schemas.push_back(*std::move(schema));
    }
  }
  return schemas;
}

}  // namespace onward

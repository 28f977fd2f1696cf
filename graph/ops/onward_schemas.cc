#include "graph/ops/onward_schemas.h"

#include <mutex>

#include "onnx/defs/schema.h"

namespace onward {

void RegisterOnwardSchemas() {
  static std::once_flag once;
  std::call_once(once, [] {
    onnx::OpSchemaRegistry::DomainToVersionRange::Instance().AddDomainToVersion(kOnwardDomain, 1,
                                                                                1);
    onnx::OpSchemaRegistry::DomainToVersionRange::Instance().AddDomainToVersion(kMicrosoftDomain, 1,
                                                                                1);
    for (const auto& family :
         {AllReduceSchemas, CopySchemas, FusedSchemas, GradientSchemas, RequireSchemas,
          StopGradientSchemas, OptimizerSchemas, MicrosoftSchemas}) {
      for (onnx::OpSchema& schema : family()) onnx::RegisterSchema(std::move(schema));
    }
  });
}

const onnx::OpSchema* FindSchema(const std::string& op, const std::string& domain) {
  RegisterOnwardSchemas();
  return onnx::OpSchemaRegistry::Schema(op, domain);
}

}  // namespace onward

#include "onward/custom_ops.h"

#include <dlfcn.h>

#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "graph/builder/formula_schema.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/signature.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward {
namespace {

bool IsReserved(const std::string& domain) {
  return domain.empty() || domain.rfind("ai.onnx", 0) == 0 || domain == kOnwardDomain ||
         domain == kMicrosoftDomain;
}

absl::StatusOr<onnx::OpSchema> SchemaOf(const CustomOp& op) {
  if (op.formula != nullptr) return FormulaSchema(op.domain, {op.signature, op.formula});
  ONWARD_ASSIGN_OR_RETURN(onnx::OpSchema schema, SchemaFromSignature(op.domain, op.signature));
  if (op.infer == nullptr || op.kernels.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the custom op ", op.domain, ".", schema.Name(),
                     " needs a formula, or an inference function and a kernel"));
  }
  schema.TypeAndShapeInferenceFunction(op.infer);
  return schema;
}

void AddDomain(const std::string& domain) {
  auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance();
  if (domains.Map().count(domain) == 0) domains.AddDomainToVersion(domain, 1, INT_MAX);
}

}  // namespace

absl::Status RegisterCustomOp(const CustomOp& op) {
  if (IsReserved(op.domain)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the domain '", op.domain, "' is not yours; custom ops need one of their own"));
  }
  RegisterOnwardSchemas();
  ONWARD_ASSIGN_OR_RETURN(onnx::OpSchema schema, SchemaOf(op));
  const std::string name = schema.Name();
  if (FindSchema(name, op.domain) != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("there is a custom op ", op.domain, ".", name));
  }
  AddDomain(op.domain);
  onnx::RegisterSchema(std::move(schema));
  for (const CustomKernel& kernel : op.kernels) {
    executors::AddKernel(kernel.provider, op.domain, name, kernel.name, kernel.make);
  }
  return absl::OkStatus();
}

absl::Status LoadCustomOps(const std::string& path) {
  // With a slash, dlopen looks nowhere else.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("the library of custom ops cannot be loaded: ", dlerror()));
  }
  using Version = const char* (*)();
  using Register = void (*)(absl::Status*);
  const auto version = reinterpret_cast<Version>(dlsym(library, "onward_custom_ops_version"));
  const auto add = reinterpret_cast<Register>(dlsym(library, "onward_register_custom_ops"));
  if (version == nullptr || add == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", path, "' is not a library of custom ops: it has no ",
        version == nullptr ? "onward_custom_ops_version" : "onward_register_custom_ops"));
  }
  if (std::string_view(version()) != kCustomOpsVersion) {
    return absl::FailedPreconditionError(absl::StrCat("'", path, "' was built for version ",
                                                      version(), " of the interface, this is ",
                                                      kCustomOpsVersion, "; build it again"));
  }
  absl::Status status;
  add(&status);
  return status.ok() ? status : Annotate(status, absl::StrCat("'", path, "':"));
}

}  // namespace onward

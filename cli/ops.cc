// onward ops: which operators this build runs and differentiates.
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "graph/builder/formula_schema.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "kernels/cpu/kernels.h"
#include "onward/gradient.h"
#include "onward/import.h"
#include "training/gradient/expand_gradient.h"
#include "training/gradient/rules.h"

namespace onward::cli {
namespace {

std::vector<std::string> CpuKernelNames(const std::string& domain, const std::string& op) {
  std::vector<std::string> names;
  for (const KernelEntry& entry : kernels::CpuKernels()) {
    if (entry.op == op && entry.domain == domain) names.emplace_back(entry.name);
  }
  return names;
}

std::string GradientOf(const std::string& domain, const std::string& op) {
  for (const training::GradientEntry& entry : training::GradientRules()) {
    if (entry.domain == domain && entry.op == op)
      return entry.rule == nullptr ? "none by nature" : "rule";
  }
  return "";
}

nlohmann::json Document() {
  RegisterOnwardSchemas();
  std::map<std::pair<std::string, std::string>, const onnx::OpSchema*> schemas;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (schema.deprecated()) continue;
    schemas[{schema.domain(), schema.Name()}] =
        onnx::OpSchemaRegistry::Schema(schema.Name(), static_cast<int>(kOpset), schema.domain());
  }
  nlohmann::json ops = nlohmann::json::array();
  for (const auto& [key, schema] : schemas) {
    if (schema == nullptr || schema->deprecated()) continue;
    ops.push_back({{"domain", key.first},
                   {"op", key.second},
                   {"since", schema->SinceVersion()},
                   {"body", schema->HasFunction() || schema->HasContextDependentFunction() ||
                                HasFormula(*schema) || training::IsGradient(key.first, key.second)},
                   {"cpu", CpuKernelNames(key.first, key.second)},
                   {"gradient", GradientOf(key.first, key.second)}});
  }
  return {{"ops", ops}};
}

absl::Status Ops(const CommonOptions& common) {
  const nlohmann::json document = Document();
  if (common.json) {
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  for (const auto& op : document["ops"]) {
    const auto kernels = op["cpu"].get<std::vector<std::string>>();
    const std::string domain = op["domain"].get<std::string>();
    std::printf("%s%s%s: %s\n", domain.c_str(), domain.empty() ? "" : ".",
                op["op"].get<std::string>().c_str(),
                !kernels.empty()         ? absl::StrJoin(kernels, ", ").c_str()
                : op["body"].get<bool>() ? "through its body"
                                         : "not there");
  }
  return absl::OkStatus();
}

}  // namespace

void AddOps(CommandLine& line, CommonOptions& common) {
  Command command =
      NewCommand(line, common, "ops", "Lists the operators this build runs", "onward ops --json");
  command.Do([&common] { return Ops(common); });
}

}  // namespace onward::cli

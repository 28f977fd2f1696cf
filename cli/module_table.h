// The modules of an exported model with what they hold and cost, for onward inspect --modules.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/infer/cost.h"
#include "onward/graph.h"

namespace onward::cli {

// With all modules inside of it.
struct ModuleRow {
  std::string path;        // "layer1.0.conv1"; "" is the whole model
  std::string class_name;  // "" where the file does not say
  int nodes = 0;
  int64_t parameters = 0;  // elements of constants, each counted where it is read first
  double flops = 0;
  std::string output;  // the type of what its last node makes
};

// A module goes before those inside of it; otherwise in the order of execution. Where no node says
// its module, as in models of other exporters, the names of the constants that it reads do.
// InvalidArgument: the graph has a cycle.
absl::StatusOr<std::vector<ModuleRow>> ModulesOf(const Graph& graph, const SymbolSizes& sizes);

std::string ModuleTableText(const std::vector<ModuleRow>& rows);
// [{"path","class","nodes","parameters","flops","output"}].
nlohmann::json ModuleTableJson(const std::vector<ModuleRow>& rows);

}  // namespace onward::cli

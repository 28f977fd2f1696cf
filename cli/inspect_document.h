// The report of `onward inspect` as one JSON document, from which its text is made too.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_memory.h"
#include "graph/infer/cost.h"
#include "onward/graph.h"

namespace onward::cli {

// The facts about the file, beside the model in it.
struct Inspected {
  Model model;
  std::map<std::string, int64_t> opsets;  // of the file
  SymbolSizes sizes;                      // that --shape gives
  PlannedRun plan;                        // as `explain` has it
};

nlohmann::json InspectionDocument(const Inspected& inspected);

// Makes the document of the upper ends of ranges that of the ranges: `flops_range`,
// `memory_range` and the like hold both ends, `sizes` those of the symbols. `model` is the file's,
// without sizes.
void AddRanges(const Model& model, const Inspected& low, const Inspected& high,
               nlohmann::json& document);

}  // namespace onward::cli

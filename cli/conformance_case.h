// One standard ONNX test case: a directory with model.onnx and test_data_set_*/{input,output}_K.pb.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onward/session.h"

namespace onward::cli {

struct CaseResult {
  std::string name;    // the directory, relative to where the search began
  std::string status;  // "passed", "failed", "skipped"
  std::string reason;
  std::set<std::string> ops;     // of the imported model, "Softmax", "ai.onnx.ml.Scaler"
  std::set<std::string> dtypes;  // of its inputs and outputs
};

// Directories at any depth below `root` that hold a case, sorted.
std::vector<std::string> FindCases(const std::string& root);

// Runs every data set. Skipped: the model needs what this build lacks (the reason names the ops).
// Dtypes, shapes, integers, bools, strings and absent optionals compare exactly; floats within rtol
// 1e-3 and atol 1e-7, or what tolerances.json says.
CaseResult RunCase(const std::string& root, const std::string& directory,
                   const SessionOptions& options);

}  // namespace onward::cli

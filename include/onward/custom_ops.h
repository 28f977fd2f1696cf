// Operators of the user's own: a schema, kernels and, with onward/gradient.h, a
// gradient, added without touching Onward's files.
//
//   onward::RegisterCustomOp({.domain = "my.ops",
//                             .signature = "Softcap <cap: float> (X: T) -> (Y: T) where T = float",
//                             .formula = Softcap,
//                             .kernels = {{"cpu", "softcap", MakeSoftcap}}});
//
// Register before models are loaded. examples/custom_ops is a whole library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/formula.h"
#include "onward/kernel.h"

namespace onnx {
struct InferenceContext;
}

namespace onward {

struct CustomKernel {
  std::string provider;  // "cpu", "cuda"
  std::string name;      // as `onward explain` shows it
  MakeKernel make;
};

struct CustomOp {
  std::string domain;     // of your own: not ai.onnx, com.microsoft or onward
  std::string signature;  // see graph/ops/signature.h
  // The op written in other ops: gives the types of its outputs and runs where no kernel takes a
  // node. May be null where there are `infer` and kernels.
  Formula formula = nullptr;
  // The types of its outputs, where there is no formula: an inference function of ONNX's kind.
  std::function<void(onnx::InferenceContext&)> infer = nullptr;
  // In the order in which they are tried; the last one is the portable one.
  std::vector<CustomKernel> kernels = {};
};

// InvalidArgument: a domain that is not the user's, a signature that cannot be read, or an op that
// nothing computes; AlreadyExists. Thread-safe, but not beside the loading of models.
absl::Status RegisterCustomOp(const CustomOp& op);

// Loads a shared library and calls what it registers: the C functions
//
//   const char* onward_custom_ops_version();             // { return onward::kCustomOpsVersion; }
//   void onward_register_custom_ops(absl::Status* status);
//
// It links nothing of Onward: its symbols are the program's. The library is code and runs with the
// program's rights; a model never names one. NotFound, or FailedPrecondition where it was built for
// another version or its registration fails.
absl::Status LoadCustomOps(const std::string& path);

inline constexpr char kCustomOpsVersion[] = "0.1";

}  // namespace onward

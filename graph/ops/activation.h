// Activations of fused ops, one row each: read by the passes that fuse them, by the ops' formulas
// and by kernels (kernels/cpu/simd/activation_inl.h has their arithmetic).
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "graph/ops/activation_kind.h"
#include "onward/attribute.h"

namespace onward {

struct ActivationRow {
  // An attribute of `op` that becomes the fused op's activation_alpha or activation_beta.
  struct Parameter {
    std::string_view attribute = "";  // "": none
    float otherwise = 0;              // its default
  };

  Activation kind;
  std::string_view name;  // the value of the fused op's attribute `activation`
  std::string_view op;    // of ai.onnx
  Parameter alpha = {};
  Parameter beta = {};
  // An attribute that makes a node of `op` this activation.
  struct Choice {
    std::string_view attribute = "";  // "": none
    std::string_view value = "";
  };
  Choice choice = {};
  // True if a node of `op` with these attributes is this activation; null: every one is.
  bool (*is)(const Attributes& attributes) = nullptr;
};

// Every activation but kNone. Clip's parameters are its inputs 1 and 2.
absl::Span<const ActivationRow> Activations();

// Finds a row by the value of the attribute `activation`; null where there is none.
const ActivationRow* FindActivation(std::string_view name);

// The activation that a node of ai.onnx is, or null.
const ActivationRow* ActivationOf(std::string_view op, const Attributes& attributes);

}  // namespace onward

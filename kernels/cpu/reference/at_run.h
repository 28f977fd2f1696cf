// Kernels whose one output is known at run time alone.
#pragma once

#include <memory>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

class AtRun : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }
};

template <typename K>
absl::StatusOr<std::unique_ptr<Kernel>> MakeAtRun(const NodeSpec&) {
  return std::make_unique<K>();
}

}  // namespace onward::kernels::cpu

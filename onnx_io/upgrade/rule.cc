#include "onnx_io/upgrade/rule.h"

namespace onward::onnx_io {

absl::Status DropConsumedInputs(NodeUpgrade& upgrade) {
  upgrade.attributes().Erase("consumed_inputs");
  return absl::OkStatus();
}

}  // namespace onward::onnx_io

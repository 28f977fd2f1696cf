#include "quantization/observe.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/create_session.h"
#include "onnx_io/expand_functions.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::quantization {

absl::Status ObserveSamples(
    const Model& model, const CalibrationSet& set, const SessionOptions& options,
    const std::function<absl::Status(std::string_view name, const TensorView& value)>& see) {
  SessionOptions observed = options;
  observed.provider = "cpu";  // values on a device are not seen
  observed.optimize = false;
  observed.watch = see;
  ONWARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      executors::CreateSession(model, observed, {.expand_ops = onnx_io::ExpandFunctions}));
  for (size_t i = 0; i < set.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs inputs, set.Read(i));
    for (const auto& [name, value] : inputs)
      if (value.is_tensor()) ONWARD_RETURN_IF_ERROR(see(name, value.tensor().view()));
    const auto outputs = session->Run(inputs);
    if (!outputs.ok())
      return Annotate(outputs.status(), absl::StrCat("sample '", set.path(i), "':"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, ValueRange>> ObserveRanges(const Model& model,
                                                                const CalibrationSet& set,
                                                                const SessionOptions& options) {
  std::map<std::string, ValueRange> ranges;
  ONWARD_RETURN_IF_ERROR(
      ObserveSamples(model, set, options, [&](std::string_view name, const TensorView& value) {
        if (value.dtype != DType::kFloat32) return absl::OkStatus();
        ValueRange& range = ranges[std::string(name)];
        for (const float element : value.span<float>()) {
          if (!std::isfinite(element)) {
            range.finite = false;
            continue;
          }
          range.low = std::min(range.low, element);
          range.high = std::max(range.high, element);
        }
        return absl::OkStatus();
      }));
  return ranges;
}

}  // namespace onward::quantization

// Models as the commands run them.
#pragma once

#include <memory>
#include <string>

#include "onward/session.h"

namespace onward::cli {

// Session::Create and Session::Load, with Gradient nodes of ai.onnx.preview.training expanded.
absl::StatusOr<std::unique_ptr<Session>> CreateSession(Model model, const SessionOptions& options);
// `metadata`: gets that of the model.
absl::StatusOr<std::unique_ptr<Session>> LoadSession(const std::string& path,
                                                     const SessionOptions& options,
                                                     Metadata* metadata = nullptr);

}  // namespace onward::cli

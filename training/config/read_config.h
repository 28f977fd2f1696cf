// Configurations of training from files: text format (.textproto) or JSON of onward.TrainConfig.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "training/config/train_config.pb.h"

namespace onward {

// Reads the file, applies the overrides ("optimizer.options.lr=0.1", see SetField) and checks what
// every field may be. InvalidArgument names the file with line and column (an override: itself)
// and the field.
absl::StatusOr<TrainConfig> ReadTrainConfig(const std::string& path,
                                            const std::vector<std::string>& overrides = {});

// Sets one field: names joined by dots, an element of a repeated field by its index
// ("optimizer.group.0.options.lr"), an entry of a map by its key; `value` as in the text format,
// strings without quotes; nothing: the field is unset. A repeated field that is named without index
// gets one more element.
absl::Status SetField(google::protobuf::Message& message, std::string_view path,
                      const std::string& value);

}  // namespace onward

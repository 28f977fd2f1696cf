// The differences between two configurations, field by field.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace onward::training {

// The fields that are set to something else than their default, by their path as SetField takes it
// ("optimizer.adamw.lr", "data.npz.path.0"), each with its value as in the text format.
std::map<std::string, std::string> FieldsOf(const google::protobuf::Message& message);

// "optimizer.adamw.lr: 0.1 -> 0.01", "clip.value: nothing -> 1": sorted by path.
std::vector<std::string> DifferencesOf(const std::map<std::string, std::string>& before,
                                       const std::map<std::string, std::string>& now);

}  // namespace onward::training

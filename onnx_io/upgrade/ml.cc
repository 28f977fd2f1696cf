#include <numeric>
#include <string>
#include <vector>

#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

// Version 1 mapped between strings and their places in one list, in the direction that the input's
// dtype asks for.
absl::Status ClassesToKeysAndValues(NodeUpgrade& u) {
  const std::vector<std::string> classes = u.attributes().Strings("classes_strings");
  u.attributes().Erase("classes_strings");
  std::vector<int64_t> places(classes.size());
  std::iota(places.begin(), places.end(), int64_t{0});
  const DType in = u.dtype(u.input(0));
  const DType out = u.dtype(u.output(0));
  if (in == DType::kString || out == DType::kInt64) {
    u.attributes().Set("keys_strings", classes);
    u.attributes().Set("values_int64s", places);
    u.attributes().Erase("default_string");
  } else if (in == DType::kInt64 || out == DType::kString) {
    u.attributes().Set("keys_int64s", places);
    u.attributes().Set("values_strings", classes);
    u.attributes().Erase("default_int64");
  } else {
    return absl::InvalidArgumentError(
        "the element type of the input is unknown, which says what the labels are mapped to; "
        "declare it in the model");
  }
  return absl::OkStatus();
}

}  // namespace

UpgradeRules MlUpgrades() { return {{"ai.onnx.ml", "LabelEncoder", 2, ClassesToKeysAndValues}}; }

}  // namespace onward::onnx_io

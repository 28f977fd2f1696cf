#include "training/source/generated_name.h"

#include "absl/strings/match.h"

namespace onward::training {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool IsGeneratedName(const std::string& name) {
  if (absl::StartsWith(name, "/")) return absl::StrContains(name, "Constant");
  return absl::StartsWith(name, "val_") && name.size() > 4 && IsDigit(name[4]);
}

}  // namespace onward::training

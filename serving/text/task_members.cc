#include "serving/text/task_members.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/closest_name.h"

namespace onward::serving {
namespace {

std::string KindOf(const TaskMembers::Json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return value.dump();
}

}  // namespace

void TaskMembers::Fail(const std::string& name, const std::string& what) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(where_, name, ": ", what));
}

const TaskMembers::Json* TaskMembers::Find(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> TaskMembers::Number(const std::string& name, double least, double most) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : NAN;
  if (number >= least && number <= most) return number;
  Fail(name, absl::StrCat("is ", KindOf(*value), ", expected a number from ", least, " to ", most));
  return std::nullopt;
}

std::optional<int64_t> TaskMembers::Count(const std::string& name, int64_t least, int64_t most) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_unsigned()
                        ? value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                        : value->is_number_integer();
  const int64_t count = fits ? value->get<int64_t>() : 0;
  if (fits && count >= least && count <= most) return count;
  Fail(name, absl::StrCat("is ", KindOf(*value), ", expected a whole number from ", least,
                          most == INT64_MAX ? " on" : absl::StrCat(" to ", most)));
  return std::nullopt;
}

bool TaskMembers::Flag(const std::string& name) {
  const Json* value = Find(name);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  Fail(name, absl::StrCat("is ", KindOf(*value), ", expected true or false"));
  return false;
}

std::string TaskMembers::Text(const std::string& name) {
  const Json* value = Find(name);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  Fail(name, absl::StrCat("is ", KindOf(*value), ", expected a string"));
  return "";
}

std::vector<std::string> TaskMembers::Texts(const std::string& name) {
  const Json* value = Find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  std::vector<std::string> texts;
  if (value->is_array()) {
    for (const Json& each : *value)
      if (each.is_string()) texts.push_back(each.get<std::string>());
    if (texts.size() == value->size()) return texts;
  }
  Fail(name, "expected a string or an array of strings");
  return {};
}

void TaskMembers::Ignore(const std::vector<std::string>& names) {
  known_.insert(names.begin(), names.end());
}

void TaskMembers::Refuse(const std::string& name, const std::string& why) {
  const Json* value = Find(name);
  if (value == nullptr || value->empty() || *value == 0 || *value == false || *value == "") return;
  Fail(name, why);
}

absl::Status TaskMembers::Finish() {
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    Fail(name, absl::StrCat("is not a member of this request", DidYouMean(name, known)));
  }
  return status_;
}

}  // namespace onward::serving

// The members of a request for text, with errors that name them: "top_p: is 2, expected a number
// above 0 and at most 1".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace onward::serving {

// Takes members one by one and keeps the first error. Null counts as absent.
class TaskMembers {
 public:
  using Json = nlohmann::ordered_json;

  // `object` outlives this. `where` is put before the names: "parameters.".
  explicit TaskMembers(const Json& object, std::string where = "")
      : object_(object), where_(std::move(where)) {}

  // Null where it is absent; it counts as known from now on.
  const Json* Find(const std::string& name);
  std::optional<double> Number(const std::string& name, double least, double most);
  std::optional<int64_t> Count(const std::string& name, int64_t least, int64_t most);
  bool Flag(const std::string& name);  // false where it is absent
  std::string Text(const std::string& name);
  // A string, or an array of them.
  std::vector<std::string> Texts(const std::string& name);
  // Members that change nothing here.
  void Ignore(const std::vector<std::string>& names);
  // Members that may only say that nothing is wanted: 0, false, "", [], {} or null.
  void Refuse(const std::string& name, const std::string& why);

  void Fail(const std::string& name, const std::string& what);
  // An error that names its member; OK changes nothing.
  void Fail(const absl::Status& status) { status_.Update(status); }
  const absl::Status& status() const { return status_; }
  // The first error; of members that nobody asked for, too.
  absl::Status Finish();

 private:
  const Json& object_;
  const std::string where_;
  std::set<std::string> known_;
  absl::Status status_;
};

}  // namespace onward::serving

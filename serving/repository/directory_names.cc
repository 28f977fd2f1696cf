#include "serving/repository/directory_names.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

absl::Status CannotRead(const std::string& directory, int error) {
  if (error == ENOMEM) throw std::bad_alloc();
  return absl::NotFoundError(absl::StrCat("cannot read the directory '", directory,
                                          "': ", std::generic_category().message(error)));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& directory) {
  struct Close {
    void operator()(DIR* open) const { closedir(open); }
  };
  const std::unique_ptr<DIR, Close> open(opendir(directory.c_str()));
  if (open == nullptr) return CannotRead(directory, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(open.get());
    if (entry == nullptr && errno != 0) return CannotRead(directory, errno);
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace onward::serving

#include "training/data/image_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "files/gzip.h"
#include "files/mapped_file.h"
#include "files/tar.h"
#include "onward/memory_limit.h"
#include "onward/status.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxArchive = int64_t{1} << 38;

bool IsImage(const fs::path& path) {
  static constexpr std::string_view kEndings[] = {".jpg", ".jpeg", ".png",  ".bmp", ".ppm", ".pgm",
                                                  ".pbm", ".webp", ".tiff", ".tif", ".jp2"};
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
}

absl::StatusOr<std::vector<fs::path>> Entries(const fs::path& directory, bool recursive) {
  std::error_code error;
  std::vector<fs::path> paths;
  const auto follow = fs::directory_options::follow_directory_symlink;
  if (recursive) {
    for (auto it = fs::recursive_directory_iterator(directory, follow, error);
         !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      if (IsImage(it->path()) && it->is_regular_file(error)) paths.push_back(it->path());
      if (it.depth() > 32) error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    }
  } else {
    for (auto it = fs::directory_iterator(directory, error);
         !error && it != fs::directory_iterator(); it.increment(error)) {
      if (it->is_directory(error)) paths.push_back(it->path());
    }
  }
  if (error) {
    const std::string message =
        absl::StrCat("cannot read the folder '", directory.string(), "': ", error.message());
    return error == std::errc::no_such_file_or_directory ? absl::NotFoundError(message)
                                                         : absl::InvalidArgumentError(message);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Names and numbers of the classes: given ones, or every one that comes.
using Classes = std::map<std::string, int64_t>;

absl::StatusOr<Classes> GivenClasses(const ImageData& config) {
  Classes classes;
  for (const std::string& name : config.class_()) {
    if (!classes.emplace(name, classes.size()).second)
      return absl::InvalidArgumentError(absl::StrCat("class '", name, "' appears twice"));
  }
  return classes;
}

std::vector<std::string> NamesOf(const Classes& classes) {
  std::vector<std::string> names(classes.size());
  for (const auto& [name, label] : classes) names[static_cast<size_t>(label)] = name;
  return names;
}

// One line: a path, a separator, a class.
absl::StatusOr<std::pair<std::string, int64_t>> ParseLine(std::string_view line,
                                                          const Classes& classes) {
  const size_t separator = line.find_last_of(",\t ");
  if (separator == line.npos || separator == 0)
    return absl::InvalidArgumentError("needs a path and a class");
  const std::string path(line.substr(0, separator)), name(line.substr(separator + 1));
  const auto known = classes.find(name);
  if (known != classes.end()) return std::pair(path, known->second);
  int64_t label;
  const bool number = absl::SimpleAtoi(name, &label) && label >= 0 &&
                      (classes.empty() || label < static_cast<int64_t>(classes.size()));
  if (!number) return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not a class"));
  return std::pair(path, label);
}

}  // namespace

absl::Status ImageFiles::FromFolders(const ImageData& config, const std::string& directory) {
  const std::string root = PathBelow(directory, config.directory());
  ONWARD_ASSIGN_OR_RETURN(const std::vector<fs::path> folders, Entries(root, false));
  ONWARD_ASSIGN_OR_RETURN(Classes classes, GivenClasses(config));
  const bool given = !classes.empty();
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (!given) classes.emplace(name, classes.size());
    const auto label = classes.find(name);
    if (label == classes.end()) continue;
    ONWARD_ASSIGN_OR_RETURN(const std::vector<fs::path> paths, Entries(folder, true));
    for (const fs::path& path : paths) files_.push_back({path.string(), label->second});
  }
  classes_ = NamesOf(classes);
  if (!files_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", root, "' has no folder with images of a class"));
}

// As FromFolders, of the paths below config.directory() inside.
absl::Status ImageFiles::FromArchive(const ImageData& config) {
  ONWARD_ASSIGN_OR_RETURN(std::vector<files::TarEntry> entries, files::ListTar(archive_.bytes));
  ONWARD_ASSIGN_OR_RETURN(Classes classes, GivenClasses(config));
  const bool given = !classes.empty();
  const std::string root = config.directory().empty() ? "" : config.directory() + "/";
  std::sort(entries.begin(), entries.end(),
            [](const files::TarEntry& a, const files::TarEntry& b) { return a.path < b.path; });
  // Numbers go by the folders' names alone, which sort otherwise than paths: "a b/" < "a/".
  for (const files::TarEntry& entry : entries) {
    if (given || !absl::StartsWith(entry.path, root) || !IsImage(entry.path)) continue;
    const size_t slash = entry.path.find('/', root.size());
    if (slash != entry.path.npos)
      classes.emplace(entry.path.substr(root.size(), slash - root.size()), 0);
  }
  if (!given) {
    int64_t number = 0;
    for (auto& [name, label] : classes) label = number++;
  }
  for (const files::TarEntry& entry : entries) {
    if (!absl::StartsWith(entry.path, root) || !IsImage(entry.path)) continue;
    const size_t slash = entry.path.find('/', root.size());
    if (slash == entry.path.npos) continue;
    const auto label = classes.find(entry.path.substr(root.size(), slash - root.size()));
    if (label == classes.end()) continue;
    files_.push_back(
        {absl::StrCat(archive_path_, ":", entry.path), label->second, entry.offset, entry.size});
  }
  classes_ = NamesOf(classes);
  std::stable_sort(files_.begin(), files_.end(),
                   [](const File& a, const File& b) { return a.label < b.label; });
  if (!files_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", config.directory(), "' in it has no folder with images of a class"));
}

absl::Status ImageFiles::FromList(const ImageData& config, const std::string& directory) {
  const std::string list = PathBelow(directory, config.list());
  ONWARD_ASSIGN_OR_RETURN(const Classes classes, GivenClasses(config));
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<files::MappedFile> file,
                          files::MappedFile::Open(list));
  classes_ = NamesOf(classes);
  const bool archived = !archive_path_.empty();
  const std::string root = archived ? config.directory() : PathBelow(directory, config.directory());
  std::map<std::string, files::TarEntry> inside;
  if (archived) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<files::TarEntry> entries,
                            files::ListTar(archive_.bytes));
    for (const files::TarEntry& entry : entries) inside[entry.path] = entry;
  }
  std::string_view rest = file->bytes();
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto parsed = ParseLine(line, classes);
    const auto at_line = [&] { return absl::StrCat("'", list, "' line ", number, ":"); };
    if (!parsed.ok()) return Annotate(parsed.status(), at_line());
    File image{PathBelow(root, parsed->first), parsed->second};
    if (archived) {
      const auto entry = inside.find(image.path);
      if (entry == inside.end())
        return absl::InvalidArgumentError(
            absl::StrCat(at_line(), " '", archive_path_, "' has no '", image.path, "'"));
      image.path = absl::StrCat(archive_path_, ":", image.path);
      image.offset = entry->second.offset;
      image.size = entry->second.size;
    }
    files_.push_back(std::move(image));
  }
  if (!files_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", list, "' has no images"));
}

absl::StatusOr<ImageFiles> ImageFiles::Find(const ImageData& config, const std::string& directory) {
  ImageFiles found;
  if (config.has_archive()) {
    found.archive_path_ = PathBelow(directory, config.archive());
    ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<files::MappedFile> file,
                            files::MappedFile::Open(found.archive_path_));
    found.archive_ = {file->bytes(), file};
    if (file->bytes().substr(0, 2) == "\x1f\x8b") {
      ONWARD_ASSIGN_OR_RETURN(std::string bytes,
                              files::ReadMaybeGzip(found.archive_path_, kMaxArchive));
      auto kept = std::make_shared<std::string>(std::move(bytes));
      ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<void> owner,
                              CountMemory(static_cast<int64_t>(kept->size()), kept));
      found.archive_ = {*kept, std::move(owner)};
    }
  }
  const absl::Status status = config.has_list()      ? found.FromList(config, directory)
                              : config.has_archive() ? found.FromArchive(config)
                                                     : found.FromFolders(config, directory);
  if (!status.ok() && config.has_archive() && !config.has_list())
    return Annotate(status, absl::StrCat("'", found.archive_path_, "':"));
  if (!status.ok()) return status;
  return found;
}

absl::StatusOr<ImageFiles::Bytes> ImageFiles::Read(size_t index) const {
  const File& file = files_[index];
  if (!archive_path_.empty())
    return Bytes{archive_.bytes.substr(file.offset, file.size), archive_.owner};
  const auto mapped = files::MappedFile::Open(file.path);
  if (!mapped.ok()) return absl::DataLossError(mapped.status().message());
  return Bytes{(*mapped)->bytes(), *mapped};
}

}  // namespace onward::training

// Image files with classes: a folder per class, or a list of files.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "kernels/image/codec.h"
#include "onnx_io/mapped_file.h"
#include "training/data/image_steps.h"
#include "training/data/pixels.h"
#include "training/data/sources.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

struct ImageFile {
  std::string path;
  int64_t label;
};

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

using Classes = std::map<std::string, int64_t>;

absl::StatusOr<Classes> GivenClasses(const ImageData& config) {
  Classes classes;
  for (const std::string& name : config.class_()) {
    if (!classes.emplace(name, classes.size()).second)
      return absl::InvalidArgumentError(
          absl::StrCat("data.images: class '", name, "' comes twice"));
  }
  return classes;
}

absl::StatusOr<std::vector<ImageFile>> FromFolders(const ImageData& config,
                                                   const std::string& directory) {
  const std::string root = PathBelow(directory, config.directory());
  ONWARD_ASSIGN_OR_RETURN(const std::vector<fs::path> folders, Entries(root, false));
  ONWARD_ASSIGN_OR_RETURN(Classes classes, GivenClasses(config));
  const bool given = !classes.empty();
  std::vector<ImageFile> files;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (!given) classes.emplace(name, classes.size());
    const auto label = classes.find(name);
    if (label == classes.end()) continue;
    ONWARD_ASSIGN_OR_RETURN(const std::vector<fs::path> paths, Entries(folder, true));
    for (const fs::path& path : paths) files.push_back({path.string(), label->second});
  }
  if (files.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("'", root, "' has no folder with images of a class"));
  return files;
}

// One line: a path, a separator, a class.
absl::StatusOr<ImageFile> ParseLine(std::string_view line, const Classes& classes,
                                    const std::string& root) {
  const size_t comma = line.find_last_of(",\t ");
  if (comma == line.npos || comma == 0)
    return absl::InvalidArgumentError("needs a path and a class");
  const std::string path(line.substr(0, comma)), name(line.substr(comma + 1));
  const auto known = classes.find(name);
  if (known != classes.end()) return ImageFile{PathBelow(root, path), known->second};
  int64_t label;
  const bool number = absl::SimpleAtoi(name, &label) && label >= 0 &&
                      (classes.empty() || label < static_cast<int64_t>(classes.size()));
  if (!number) return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no class"));
  return ImageFile{PathBelow(root, path), label};
}

absl::StatusOr<std::vector<ImageFile>> FromList(const ImageData& config,
                                                const std::string& directory) {
  const std::string list = PathBelow(directory, config.list());
  ONWARD_ASSIGN_OR_RETURN(const Classes classes, GivenClasses(config));
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> file, MappedFile::Open(list));
  const std::string root = PathBelow(directory, config.directory());
  std::vector<ImageFile> files;
  std::string_view rest = file->bytes();
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    absl::StatusOr<ImageFile> image = ParseLine(line, classes, root);
    if (!image.ok())
      return Annotate(image.status(), absl::StrCat("'", list, "' line ", number, ":"));
    files.push_back(*std::move(image));
  }
  if (files.empty()) return absl::InvalidArgumentError(absl::StrCat("'", list, "' has no images"));
  return files;
}

class Images : public Dataset {
 public:
  Images(std::vector<ImageFile> files, ImageData config)
      : files_(std::move(files)),
        config_(std::move(config)),
        table_(NormalizedChannels(
            {config_.mean().data(), static_cast<size_t>(config_.mean_size())},
            {config_.deviation().data(), static_cast<size_t>(config_.deviation_size())})) {
    SymbolicDims dims = {config_.gray() ? 1 : 3, Dim::Symbol("height"), Dim::Symbol("width")};
    if (const auto size = SizeAfter(config_.step())) {
      dims[1] = size->first;
      dims[2] = size->second;
    }
    fields_ = {{"image", Type::Tensor(DType::kFloat32, std::move(dims))},
               {"label", Type::Tensor(DType::kInt64, Dims{})}};
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const override {
    const ImageFile& file = files_[static_cast<size_t>(index)];
    absl::StatusOr<Tensor> image = ReadImage(file.path, random);
    if (!image.ok()) return image.status();
    return std::vector<Tensor>{*std::move(image), Tensor::Scalar<int64_t>(file.label)};
  }
  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    if (field == 1) return Tensor::Scalar<int64_t>(files_[static_cast<size_t>(index)].label);
    return Dataset::ReadField(index, field);
  }

 private:
  absl::StatusOr<Tensor> ReadImage(const std::string& path, uint64_t random) const {
    const auto file = MappedFile::Open(path);
    if (!file.ok()) return absl::DataLossError(file.status().message());
    absl::StatusOr<Pixels> pixels = image::DecodeImage((*file)->bytes());
    if (pixels.ok()) pixels = Apply(config_.step(), *std::move(pixels), random);
    if (!pixels.ok())
      return absl::DataLossError(absl::StrCat("'", path, "': ", pixels.status().message()));
    return ToTensor(*pixels, config_.gray(), table_);
  }

  std::vector<ImageFile> files_;
  ImageData config_;
  ChannelTable table_;
  std::vector<Field> fields_;
};

absl::Status CheckConfig(const ImageData& config) {
  for (const int count : {config.mean_size(), config.deviation_size()}) {
    if (count > 1 && count != (config.gray() ? 1 : 3))
      return absl::InvalidArgumentError("data.images: mean and deviation: one, or one per channel");
  }
  for (const float mean : config.mean())
    if (!std::isfinite(mean)) return absl::InvalidArgumentError("data.images: mean is not finite");
  for (const float deviation : config.deviation())
    if (!(deviation > 0))
      return absl::InvalidArgumentError("data.images: deviation must be positive");
  return Annotate(CheckSteps(config.step()), "data.images:");
}

}  // namespace

OpenedDataset OpenImages(const ImageData& config, const std::string& directory) {
  ONWARD_RETURN_IF_ERROR(CheckConfig(config));
  if (!config.has_directory() && !config.has_list())
    return absl::InvalidArgumentError("data.images: needs a directory or a list");
  ONWARD_ASSIGN_OR_RETURN(std::vector<ImageFile> files, config.has_list()
                                                            ? FromList(config, directory)
                                                            : FromFolders(config, directory));
  return std::make_shared<Images>(std::move(files), config);
}

}  // namespace onward

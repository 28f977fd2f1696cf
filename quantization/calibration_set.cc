#include "quantization/calibration_set.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/npy.h"
#include "files/write_file.h"
#include "onnx_io/tensor_proto.h"
#include "onward/status.h"

namespace onward::quantization {
namespace {

namespace fs = std::filesystem;

bool IsProtoOfInput(const fs::path& path) {
  return path.extension() == ".pb" && path.filename().string().rfind("input_", 0) == 0;
}

// Returns whether a directory's files are one sample's.
bool IsSample(const fs::path& directory, const std::vector<std::string>& names) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (IsProtoOfInput(entry.path())) return true;
    if (entry.path().extension() != ".npy") continue;
    const std::string stem = entry.path().stem();
    if (std::find(names.begin(), names.end(), stem) != names.end()) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<CalibrationSet> CalibrationSet::Open(const std::string& directory,
                                                    const Graph& graph) {
  CalibrationSet set;
  std::vector<std::string> names;
  int required = 0;
  for (const ValueId id : graph.inputs()) {
    const ValueData& value = graph.value(id);
    set.inputs_.push_back({value.name, value.type, value.constant.has_value()});
    names.push_back(files::SafeFileName(value.name));
    required += value.constant ? 0 : 1;
  }
  std::error_code error;
  if (!fs::is_directory(directory, error))
    return absl::NotFoundError(absl::StrCat("'", directory, "' is not a directory of samples"));
  if (IsSample(directory, names)) {
    set.samples_.push_back(directory);
    return set;
  }
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const fs::path& path = entry.path();
    const bool sample =
        entry.is_directory(error)
            ? IsSample(path, names)
            : path.extension() == ".npz" || (required == 1 && path.extension() == ".npy");
    if (sample) set.samples_.push_back(path);
  }
  std::sort(set.samples_.begin(), set.samples_.end());
  if (!set.samples_.empty()) return set;
  return absl::NotFoundError(absl::StrCat(
      "'", directory, "' has no samples for the inputs ", absl::StrJoin(names, ", "),
      ": needs .npz files with arrays of these names, or directories with NAME.npy or input_K.pb"));
}

CalibrationSet CalibrationSet::Of(Session::Inputs inputs) {
  CalibrationSet set;
  set.samples_.push_back("drawn inputs");
  set.given_ = std::move(inputs);
  return set;
}

absl::StatusOr<Session::Inputs> CalibrationSet::ReadAny(const std::string& path) const {
  Session::Inputs values;
  std::map<std::string, Tensor> arrays;
  const bool is_directory = fs::is_directory(path);
  if (!is_directory && fs::path(path).extension() == ".npz") {
    ONWARD_ASSIGN_OR_RETURN(arrays, files::ReadNpz(path));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    const std::string proto = absl::StrCat(path, "/input_", i, ".pb");
    const std::string npy = absl::StrCat(path, "/", files::SafeFileName(input.name), ".npy");
    if (const auto it = arrays.find(input.name); it != arrays.end()) {
      values[input.name] = Value(it->second);
    } else if (is_directory && fs::exists(npy)) {
      ONWARD_ASSIGN_OR_RETURN(Tensor tensor, files::ReadNpy(npy, input.type.dtype));
      values[input.name] = Value(std::move(tensor));
    } else if (is_directory && fs::exists(proto)) {
      ONWARD_ASSIGN_OR_RETURN(values[input.name], onnx_io::ReadValueFile(proto, input.type));
    } else if (!is_directory && arrays.empty() && !input.optional) {
      ONWARD_ASSIGN_OR_RETURN(Tensor tensor, files::ReadNpy(path, input.type.dtype));
      values[input.name] = Value(std::move(tensor));
    } else if (!input.optional) {
      std::vector<std::string> given;
      for (const auto& [name, array] : arrays) given.push_back(name);
      return absl::InvalidArgumentError(
          absl::StrCat("has nothing for the model's input '", input.name, "'",
                       given.empty() ? "" : "; its arrays are ", absl::StrJoin(given, ", ")));
    }
  }
  return values;
}

absl::StatusOr<Session::Inputs> CalibrationSet::Read(size_t i) const {
  if (given_) return *given_;
  absl::StatusOr<Session::Inputs> values = ReadAny(samples_[i]);
  if (values.ok()) return values;
  return Annotate(values.status(), absl::StrCat("sample '", samples_[i], "'"));
}

}  // namespace onward::quantization

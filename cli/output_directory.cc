#include "cli/output_directory.h"

#include <google/protobuf/message.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/exit_code.h"
#include "onward/status.h"
#include "training/checkpoint/checkpoint.h"
#include "training/checkpoint/checkpoint_writer.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;
namespace proto = google::protobuf;

constexpr char kCheckpoints[] = "checkpoints";
// Everything else that a training writes.
constexpr const char* kFiles[] = {"metrics.jsonl",
                                  "model.onnx",
                                  "model.onnx.data",
                                  "model.onnx.2.data",
                                  "training_step.onnx",
                                  "training_step.onnx.data",
                                  "training_step.onnx.2.data",
                                  "vocabulary.txt",
                                  "loss.svg",
                                  "tensorboard"};

bool IsThere(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return !fs::is_empty(path, error) && !error;
  return fs::exists(path, error) && fs::file_size(path, error) > 0 && !error;
}

// Calls f for every string of a message, of messages in it too.
void ForEachString(const proto::Message& message,
                   const std::function<void(const std::string&)>& f) {
  const proto::Reflection& reflection = *message.GetReflection();
  std::vector<const proto::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const proto::FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == proto::FieldDescriptor::CPPTYPE_STRING) {
        f(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                               : reflection.GetString(message, field));
      } else if (field->cpp_type() == proto::FieldDescriptor::CPPTYPE_MESSAGE) {
        ForEachString(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                           : reflection.GetMessage(message, field),
                      f);
      }
    }
  }
}

// The first file that the config reads and a training into `output` would replace; "": none.
std::string ReadAndReplaced(const fs::path& output, const TrainConfig& config,
                            const OutputOptions& options) {
  std::error_code error;
  const fs::path root = fs::weakly_canonical(output, error);
  const fs::path own = fs::path(options.config_path).parent_path();
  const fs::path data = options.data_directory.empty() ? own : fs::path(options.data_directory);
  TrainConfig inputs = config;
  inputs.clear_output_dir();
  std::string found;
  ForEachString(inputs, [&](const std::string& text) {
    for (const fs::path& base : {own, data}) {
      const fs::path read = fs::weakly_canonical(base / text, error);
      if (text.empty() || error || !fs::is_regular_file(read, error)) continue;
      const std::string below = read.lexically_relative(root).generic_string();
      bool replaced = absl::StartsWith(below, absl::StrCat(kCheckpoints, "/"));
      for (const char* file : kFiles)
        replaced |= below == file || absl::StartsWith(below, absl::StrCat(file, "/"));
      if (replaced && found.empty()) found = below;
    }
  });
  return found;
}

}  // namespace

absl::StatusOr<fs::path> OutputDirectoryOf(const TrainConfig& config,
                                           const OutputOptions& options) {
  if (!options.output_dir.empty()) return fs::path(options.output_dir);
  if (!config.output_dir().empty())
    return fs::path(options.config_path).parent_path() / config.output_dir();
  return ErrorWithExitCode(
      "where do metrics, checkpoints and the trained model go? Name a directory by --output-dir, "
      "or by output_dir in the config (relative to the config's directory)",
      kWrongUsage);
}

std::vector<std::string> TrainingFilesIn(const fs::path& output) {
  std::vector<std::string> names;
  const auto checkpoints = training::ListCheckpoints(output / kCheckpoints);
  if (checkpoints.ok() && !checkpoints->empty()) {
    names.push_back(absl::StrCat(checkpoints->size(), " checkpoint",
                                 checkpoints->size() == 1 ? "" : "s", " up to step ",
                                 checkpoints->front().step));
  }
  for (const char* file : kFiles)
    if (IsThere(output / file)) names.emplace_back(file);
  return names;
}

absl::Status CheckOutputDirectory(const fs::path& output, const TrainConfig& config,
                                  const OutputOptions& options) {
  std::error_code error;
  if (fs::exists(output, error) && !fs::is_directory(output, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the output directory '", output.string(), "' is a file"));
  }
  ONWARD_RETURN_IF_ERROR(training::CheckNotInUse(output / kCheckpoints));
  const std::string input = ReadAndReplaced(output, config, options);
  if (!input.empty() && !options.resume) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the training reads '", (output / input).string(),
        "', and would write over it: name another output directory, or move that file"));
  }
  const std::vector<std::string> names = TrainingFilesIn(output);
  if (names.empty() || options.overwrite) return absl::OkStatus();
  if (!options.resume) {
    return absl::AlreadyExistsError(absl::StrCat(
        "the output directory '", output.string(), "' holds a training (",
        absl::StrJoin(names, ", "),
        "): --resume continues it, --overwrite replaces it, --output-dir names another directory"));
  }
  const auto checkpoints = training::ListCheckpoints(output / kCheckpoints);
  if (!checkpoints.ok()) return checkpoints.status();
  if (checkpoints->empty() && IsThere(output / "model.onnx")) {
    return absl::NotFoundError(absl::StrCat("--resume: the output directory '", output.string(),
                                            "' has a trained model.onnx but no checkpoint to "
                                            "continue from: --overwrite begins anew and "
                                            "replaces it, --output-dir names another directory"));
  }
  return absl::OkStatus();
}

absl::Status CheckSecondDirectory(const fs::path& second, const OutputOptions& options) {
  ONWARD_RETURN_IF_ERROR(training::CheckNotInUse(second / kCheckpoints));
  const std::vector<std::string> names = TrainingFilesIn(second);
  if (names.empty() || options.overwrite || options.resume) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("the second directory '", second.string(),
                                               "' holds a training (", absl::StrJoin(names, ", "),
                                               "): --overwrite replaces it, or name another one"));
}

absl::Status MakeOutputDirectory(const fs::path& output) {
  std::error_code error;
  fs::create_directories(output, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot make the output directory '",
                                               output.string(), "': ", error.message()));
  }
  if (access(output.c_str(), W_OK) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot write to the output directory '", output.string(), "'"));
  }
  return absl::OkStatus();
}

void RemoveUnfinished(const fs::path& output) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(output, error)) {
    const std::string name = entry.path().filename();
    for (const char* file : kFiles) {
      if (absl::StartsWith(name, absl::StrCat(file, ".")) && absl::EndsWith(name, ".tmp"))
        found.push_back(entry.path());
    }
  }
  for (const fs::path& path : found) fs::remove(path, error);
}

absl::Status RemoveTraining(const fs::path& output) {
  std::error_code error, failed;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(output / kCheckpoints, error))
    if (entry.path().filename() != ".lock") paths.push_back(entry.path());
  for (const char* file : kFiles) paths.push_back(output / file);
  for (const fs::path& path : paths) {
    fs::remove_all(path, error);
    if (error) failed = error;
  }
  if (!failed) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot remove the earlier training in '",
                                             output.string(), "': ", failed.message()));
}

}  // namespace onward::cli

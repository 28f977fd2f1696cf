#include "cli/data_notes.h"

#include <cstdio>
#include <optional>

#include "onward/status.h"

namespace onward::cli {
namespace {

// Images as the model was trained on them, where `data` says nothing of its own.
absl::Status ApplyImageNote(const training::Notes& metadata, DataConfig& data) {
  ONWARD_ASSIGN_OR_RETURN(const std::optional<training::ImageNote> note,
                          training::ReadImageNote(metadata));
  if (!note) return absl::OkStatus();
  ImageData& images = *data.mutable_images();
  const bool own = images.step_size() > 0 || images.mean_size() > 0 || images.deviation_size() > 0;
  if (!own) {
    *images.mutable_step() = note->image.step();
    *images.mutable_mean() = note->image.mean();
    *images.mutable_deviation() = note->image.deviation();
    images.set_gray(note->image.gray());
  }
  std::fprintf(stderr,
               own ? "note: images are prepared as --data says; the model was trained on: %s\n"
                   : "note: images are prepared as the model says: %s\n",
               training::DescribeImage(note->image).c_str());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ApplyNotes(const training::Notes& metadata,
                                                    DataConfig& data) {
  ONWARD_ASSIGN_OR_RETURN(const std::optional<onnx_io::ClassesNote> classes,
                          onnx_io::ReadClassesNote(metadata));
  if (data.has_images()) {
    ONWARD_RETURN_IF_ERROR(ApplyImageNote(metadata, data));
    // Folders are numbered by the model's classes, not among themselves.
    if (classes && data.images().class__size() == 0)
      *data.mutable_images()->mutable_class_() = {classes->names.begin(), classes->names.end()};
  }
  return classes ? classes->names : std::vector<std::string>();
}

}  // namespace onward::cli

#include "training/data/model_notes.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/image/codec.h"
#include "files/utf8.h"
#include "onward/status.h"
#include "training/config/make_loss.h"
#include "training/data/image_steps.h"
#include "training/data/pixels.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

using nlohmann::json;

// A longer vocabulary stays in its file.
constexpr size_t kMaxVocabulary = 1 << 20;

// --- of a training

// Steps that draw nothing, and a last one to the size that the training saw.
ImageSteps InferenceSteps(const ImageSteps& steps, const Type& type) {
  ImageSteps kept;
  for (const ImageStep& step : steps) {
    if (step.has_resize() || step.has_center_crop()) *kept.Add() = step;
  }
  if (!type.shape || type.shape->size() != 3) return kept;
  const Dim &height = (*type.shape)[1], &width = (*type.shape)[2];
  if (!height.known() || !width.known()) return kept;
  if (SizeAfter(kept) != std::pair(height.value(), width.value())) {
    ResizeStep& resize = *kept.Add()->mutable_resize();
    resize.set_height(height.value());
    resize.set_width(width.value());
  }
  return kept;
}

const Field* FindByName(absl::Span<const Field> fields, std::string_view name) {
  for (const Field& field : fields)
    if (field.name == name) return &field;
  return nullptr;
}

// The steps that the images of the data go through; nullopt: it has none.
std::optional<ImageData> ImagesOf(const TrainConfig& config, const Type& type) {
  const DataConfig& data = config.evaluation().data().source_case() == DataConfig::kImages
                               ? config.evaluation().data()
                               : config.data();
  ImageData image;
  if (data.has_images()) {
    *image.mutable_step() = InferenceSteps(data.images().step(), type);
    *image.mutable_mean() = data.images().mean();
    *image.mutable_deviation() = data.images().deviation();
    image.set_gray(data.images().gray());
  } else if (data.has_mnist()) {
    *image.mutable_step() = InferenceSteps({}, type);
    image.add_mean(data.mnist().mean());
    image.add_deviation(data.mnist().deviation());
    image.set_gray(true);
  } else {
    return std::nullopt;
  }
  return image;
}

json ImageJson(const ImageNote& note) {
  json steps = json::array();
  for (const ImageStep& step : note.image.step()) {
    if (step.has_resize() && step.resize().has_shorter()) {
      steps.push_back({{"resize", {{"shorter", step.resize().shorter()}}}});
    } else if (step.has_resize()) {
      steps.push_back(
          {{"resize", {{"height", step.resize().height()}, {"width", step.resize().width()}}}});
    } else if (step.has_center_crop()) {
      steps.push_back(
          {{"center_crop",
            {{"height", step.center_crop().height()}, {"width", step.center_crop().width()}}}});
    }
  }
  const auto numbers = [](const auto& values, float otherwise) {
    std::vector<float> list(values.begin(), values.end());
    return list.empty() ? std::vector<float>{otherwise} : list;
  };
  return {{"inputs", note.inputs},
          {"steps", steps},
          {"channels", note.image.gray() ? 1 : 3},
          {"scale", 1.0 / 255},
          {"mean", numbers(note.image.mean(), 0)},
          {"deviation", numbers(note.image.deviation(), 1)},
          {"layout", "CHW"}};
}

// --- of a model

// The JSON of a note. Whoever writes a model can write anything.
absl::StatusOr<json> NoteJson(const Notes& metadata, const char* key) {
  json found = json::parse(metadata.at(key), nullptr, /*allow_exceptions=*/false);
  if (found.is_object()) return found;
  return absl::InvalidArgumentError(
      absl::StrCat("the model's metadata '", key, "' is not a JSON object"));
}

absl::Status BadNote(const char* key, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the model's metadata '", key, "': ", std::string(what)));
}

// With a scale other than 1/255, mean and deviation of pixels in [0, 1] that do the same.
absl::Status ReadNormalization(const json& note, ImageData& image) {
  const double scale = note.value("scale", 1.0 / 255);
  if (!(scale > 0) || !std::isfinite(scale)) return BadNote(kImageNote, "scale must be above 0");
  const double unit = 255 * scale;
  for (const double mean : note.value("mean", std::vector<double>{0}))
    image.add_mean(static_cast<float>(mean / unit));
  for (const double deviation : note.value("deviation", std::vector<double>{1})) {
    if (!(deviation > 0)) return BadNote(kImageNote, "deviation must be above 0");
    image.add_deviation(static_cast<float>(deviation / unit));
  }
  const int channels = image.gray() ? 1 : 3;
  for (const int count : {image.mean_size(), image.deviation_size()}) {
    if (count != 1 && count != channels)
      return BadNote(kImageNote, "mean and deviation need one number, or one per channel");
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageNote> ParseImageNote(const json& note) {
  ImageNote made;
  made.inputs = note.value("inputs", std::vector<std::string>());
  made.image.set_gray(note.value("channels", 3) == 1);
  for (const json& step : note.value("steps", json::array())) {
    const auto status =
        google::protobuf::util::JsonStringToMessage(step.dump(), made.image.add_step());
    if (!status.ok()) return BadNote(kImageNote, status.message().as_string());
  }
  ONWARD_RETURN_IF_ERROR(
      Annotate(CheckSteps(made.image.step()), absl::StrCat("the model's '", kImageNote, "':")));
  ONWARD_RETURN_IF_ERROR(ReadNormalization(note, made.image));
  return made;
}

}  // namespace

absl::StatusOr<Notes> NotesOf(const TrainConfig& config, absl::Span<const Field> fields,
                              const std::string& directory, absl::Span<const std::string> inputs,
                              const std::string& output) {
  Notes notes;
  if (const Field* field = FindByName(fields, "image")) {
    ImageNote note;
    for (const std::string& input : inputs) {
      const auto named = config.data().inputs().find(input);
      if ((named == config.data().inputs().end() ? input : named->second) == field->name)
        note.inputs.push_back(input);
    }
    const std::optional<ImageData> image = ImagesOf(config, field->type);
    if (image && !note.inputs.empty()) {
      note.image = *image;
      notes[kImageNote] = ImageJson(note).dump();
    }
  }
  const Field* target = FindByName(fields, config.loss().target());
  if (HasClasses(config.loss()) && target != nullptr && !target->classes.empty() &&
      std::all_of(target->classes.begin(), target->classes.end(),
                  [](const std::string& name) { return files::IsUtf8(name); })) {
    notes[onnx_io::kClassesNote] = json{{"output", output}, {"names", target->classes}}.dump();
  }
  if (HasVocabulary(config.data())) {
    ONWARD_ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                            VocabularyOf(config.data().text(), directory));
    std::string text =
        config.data().text().tokens() == TextData::BYTES ? "bytes" : vocabulary.Text();
    if (text.size() <= kMaxVocabulary && files::IsUtf8(text))
      notes[kVocabularyNote] = std::move(text);
  }
  return notes;
}

absl::StatusOr<std::optional<ImageNote>> ReadImageNote(const Notes& metadata) {
  if (!metadata.contains(kImageNote)) return std::optional<ImageNote>();
  ONWARD_ASSIGN_OR_RETURN(const json note, NoteJson(metadata, kImageNote));
  try {
    ONWARD_ASSIGN_OR_RETURN(ImageNote made, ParseImageNote(note));
    return std::optional<ImageNote>(std::move(made));
  } catch (const json::exception& error) {
    return BadNote(kImageNote, error.what());
  }
}

absl::StatusOr<Tensor> PrepareImage(std::string_view bytes, const ImageData& config) {
  ONWARD_ASSIGN_OR_RETURN(Pixels pixels, image::DecodeImage(bytes));
  ONWARD_ASSIGN_OR_RETURN(pixels, Apply(config.step(), std::move(pixels), 0));
  return ToTensor(pixels, config.gray(),
                  NormalizedChannels(
                      {config.mean().data(), static_cast<size_t>(config.mean_size())},
                      {config.deviation().data(), static_cast<size_t>(config.deviation_size())}));
}

std::string DescribeImage(const ImageData& image) {
  std::string text;
  for (const ImageStep& step : image.step()) {
    if (step.has_resize() && step.resize().has_shorter()) {
      absl::StrAppend(&text, "shorter side ", step.resize().shorter(), ", ");
    } else if (step.has_resize()) {
      absl::StrAppend(&text, "resized to ", step.resize().height(), " x ", step.resize().width(),
                      ", ");
    } else if (step.has_center_crop()) {
      absl::StrAppend(&text, "center ", step.center_crop().height(), " x ",
                      step.center_crop().width(), ", ");
    }
  }
  return absl::StrCat(text, image.gray() ? "gray, " : "", "(pixel / 255 - [",
                      absl::StrJoin(image.mean(), ", "), "]) / [",
                      absl::StrJoin(image.deviation(), ", "), "]");
}

}  // namespace onward::training

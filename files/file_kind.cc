#include "files/file_kind.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onward::files {
namespace {

enum class Format {
  kUnknown,
  kTorch,
  kPickle,
  kNpz,
  kNpy,
  kKeras,
  kHdf5,
  kGguf,
  kTfLite,
  kSafetensors,
  kShardIndex,
  kZip,
  kGzip,
  kImage,
  kLfsPointer,
  kHtml,
  kOnnx,
};

bool Begins(std::string_view bytes, std::string_view with) {
  return bytes.substr(0, with.size()) == with;
}

bool Has(std::string_view bytes, std::string_view what) {
  return bytes.find(what) != std::string_view::npos;
}

// The names of the members stand in a zip file as they are.
Format ZipFormat(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  if (Has(head, "data.pkl") || Has(head, ".data/serialization_id") || Has(head, "constants.pkl"))
    return Format::kTorch;
  if (Has(head, "model.weights.h5") || Has(head, "metadata.json")) return Format::kKeras;
  if (Has(head, ".npy")) return Format::kNpz;
  return Format::kZip;
}

// A length of eight bytes, then a JSON object.
bool LooksLikeSafetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(bytes[i]);
  return length <= bytes.size() - 8;
}

// A ModelProto that begins with its IR version, as all writers write it.
bool LooksLikeOnnx(std::string_view bytes) {
  return bytes.size() > 8 && bytes[0] == '\x08' && bytes[1] > 0 && bytes[1] < 32 &&
         std::find(bytes.begin(), bytes.begin() + std::min<size_t>(bytes.size(), 4096), '\0') !=
             bytes.begin() + std::min<size_t>(bytes.size(), 4096);
}

Format FormatOf(std::string_view bytes) {
  constexpr char kTorchLegacy[] = "\x80\x02\x8a\x0al\xfc\x9c";
  if (Begins(bytes, "PK\x03\x04")) return ZipFormat(bytes);
  if (Begins(bytes, kTorchLegacy)) return Format::kTorch;
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    return Format::kPickle;
  if (Begins(bytes, "\x93NUMPY")) return Format::kNpy;
  if (Begins(bytes, "\x89HDF\r\n")) return Format::kHdf5;
  if (Begins(bytes, "GGUF")) return Format::kGguf;
  if (bytes.substr(0, 8).substr(std::min<size_t>(4, bytes.size())) == "TFL3")
    return Format::kTfLite;
  if (Begins(bytes, "\x1f\x8b")) return Format::kGzip;
  if (Begins(bytes, "\x89PNG") || Begins(bytes, "\xff\xd8\xff")) return Format::kImage;
  if (Begins(bytes, "version https://git-lfs")) return Format::kLfsPointer;
  if (Begins(bytes, "<!DOCTYPE html") || Begins(bytes, "<!doctype html") || Begins(bytes, "<html"))
    return Format::kHtml;
  if (Begins(bytes, "{") && Has(bytes.substr(0, 1 << 16), "\"weight_map\""))
    return Format::kShardIndex;
  if (LooksLikeSafetensors(bytes)) return Format::kSafetensors;
  return LooksLikeOnnx(bytes) ? Format::kOnnx : Format::kUnknown;
}

constexpr char kSaveWeights[] =
    "load it in PyTorch and write its weights with "
    "safetensors.torch.save_file(model.state_dict(), \"model.safetensors\")";
constexpr char kExportModel[] =
    "load it in PyTorch and write the model with torch.onnx.export(model, inputs, \"model.onnx\")";

std::string TorchAdvice(WantedFile wanted) {
  switch (wanted) {
    case WantedFile::kModel:
      return kExportModel;
    case WantedFile::kWeights:
      return kSaveWeights;
    case WantedFile::kConfig:
      return absl::StrCat("a config names a model (an .onnx file) and perhaps `weights`; ",
                          kSaveWeights);
    case WantedFile::kArrays:
      return "write its tensors with safetensors.torch.save_file or numpy.savez";
  }
  return "";
}

// A file's kind and advice about it; both empty: the file is the wanted kind, or unknown.
struct Finding {
  std::string what, advice;
};

Finding ArraysFinding(WantedFile wanted) {
  if (wanted == WantedFile::kArrays) return {};
  return {"a file of NumPy arrays", wanted == WantedFile::kModel
                                        ? "it has no graph: name an .onnx file"
                                        : "safetensors.numpy.save_file writes them as safetensors"};
}

Finding SafetensorsFinding(WantedFile wanted) {
  if (wanted == WantedFile::kModel)
    return {"a safetensors file, which has weights and no graph",
            "name an .onnx file, and the weights as `weights { path: ... }` of a config"};
  if (wanted == WantedFile::kConfig)
    return {"a safetensors file", "a config names it as `weights { path: ... }`"};
  return {};
}

Finding OnnxFinding(WantedFile wanted) {
  if (wanted == WantedFile::kConfig)
    return {"an ONNX model", "a config names it as `model: \"...\"`; docs/training.md has one"};
  if (wanted == WantedFile::kWeights)
    return {"an ONNX model", "it brings its weights itself: name it as `model`, without `weights`"};
  return {};
}

Finding FindingOf(Format format, WantedFile wanted) {
  switch (format) {
    case Format::kTorch:
      return {"a PyTorch file (torch.save)", TorchAdvice(wanted)};
    case Format::kPickle:
      return {"a Python pickle, which can run code when it is read and is not read here",
              TorchAdvice(wanted)};
    case Format::kHdf5:
    case Format::kKeras:
      return {"a Keras or HDF5 file",
              wanted == WantedFile::kModel
                  ? "write the model with tf2onnx or model.export(\"model.onnx\", format=\"onnx\")"
                  : "write its arrays as safetensors (safetensors.numpy.save_file)"};
    case Format::kGguf:
      return {"a GGUF file of llama.cpp",
              "start from the model that it was made of, as ONNX or safetensors"};
    case Format::kTfLite:
      return {"a TensorFlow Lite model", "tf2onnx --tflite writes it as ONNX"};
    case Format::kNpz:
    case Format::kNpy:
      return ArraysFinding(wanted);
    case Format::kSafetensors:
      return SafetensorsFinding(wanted);
    case Format::kShardIndex:
      return {"the index of a checkpoint in several files",
              "write one file with safetensors.torch.save_file(model.state_dict(), "
              "\"model.safetensors\")"};
    case Format::kOnnx:
      return OnnxFinding(wanted);
    case Format::kZip:
      if (wanted == WantedFile::kArrays) return {};
      return {"a zip archive", "unpack it first"};
    case Format::kGzip:
      return {"compressed with gzip", "unpack it first"};
    case Format::kImage:
      return {"an image", "it is an input: --input NAME=FILE"};
    case Format::kLfsPointer:
      return {"a pointer of Git LFS in place of the file", "`git lfs pull` fetches it"};
    case Format::kHtml:
      return {"a web page", "the download gave a page in place of the file"};
    case Format::kUnknown:
      break;
  }
  return {};
}

}  // namespace

std::string ForeignFile(std::string_view bytes, WantedFile wanted) {
  const Finding finding = FindingOf(FormatOf(bytes), wanted);
  return finding.what.empty() ? "" : absl::StrCat(finding.what, "; ", finding.advice);
}

absl::Status NameForeignFile(const absl::Status& status, std::string_view bytes,
                             WantedFile wanted) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  const std::string found = ForeignFile(bytes, wanted);
  if (found.empty()) return status;
  constexpr const char* kWanted[] = {"an ONNX model", "a safetensors file", "a config",
                                     "a file of arrays"};
  return absl::InvalidArgumentError(
      absl::StrCat("not ", kWanted[static_cast<int>(wanted)], " but ", found));
}

}  // namespace onward::files

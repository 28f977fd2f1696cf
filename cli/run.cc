// onward run: runs a model once or many times.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/image_inputs.h"
#include "cli/inputs.h"
#include "cli/latency.h"
#include "cli/summary.h"
#include "files/npy.h"
#include "files/write_file.h"
#include "graph/base/byte_text.h"
#include "onward/import.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

struct RunOptions {
  std::string model;
  InputOptions inputs;
  std::string output_dir;
  int repeat = 1;
  std::string profile;
  std::string image;
};

std::string SafeFileName(std::string name) {
  for (char& c : name) {
    const bool safe =
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    if (!safe) c = '_';
  }
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  return name;
}

// Classifiers give one map of probabilities a row.
bool HoldsMaps(const Value& value) {
  if (!value.is_sequence() || value.sequence().empty()) return false;
  return std::all_of(value.sequence().begin(), value.sequence().end(),
                     [](const Value& element) { return element.is_map(); });
}

absl::Status WriteJson(const nlohmann::json& json, const std::string& path) {
  return WriteFile(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

absl::Status WriteOutputs(const Session::Outputs& outputs, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot make directory '", directory, "': ", error.message()));
  for (const auto& [name, value] : outputs) {
    const std::string base = directory + "/" + SafeFileName(name);
    if (value.is_tensor()) {
      ONWARD_RETURN_IF_ERROR(WriteNpy(value.tensor(), base + ".npy"));
    } else if (value.is_map()) {
      ONWARD_RETURN_IF_ERROR(WriteJson(MapJson(value.map()), base + ".json"));
    } else if (HoldsMaps(value)) {
      nlohmann::json maps = nlohmann::json::array();
      for (const Value& element : value.sequence()) maps.push_back(MapJson(element.map()));
      ONWARD_RETURN_IF_ERROR(WriteJson(maps, base + ".json"));
    } else if (value.is_sequence()) {
      int index = 0;
      for (const Value& element : value.sequence()) {
        if (element.is_tensor())
          ONWARD_RETURN_IF_ERROR(
              WriteNpy(element.tensor(), absl::StrCat(base, "_", index, ".npy")));
        ++index;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Run(const RunOptions& options, const CommonOptions& common) {
  SessionOptions session_options = common.session();
  session_options.profile = !options.profile.empty();
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                          Session::Load(options.model, session_options));
  InputOptions input_options = options.inputs;
  ONWARD_ASSIGN_OR_RETURN(input_options.image, ImageNoteOf(options.image, session->metadata()));
  ONWARD_ASSIGN_OR_RETURN(const std::optional<ClassesNote> classes,
                          ReadClassesNote(session->metadata()));
  std::vector<std::string> taken_as_one;
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs inputs,
                          MakeInputs(session->inputs(), input_options, &taken_as_one));
  NoteTakenAsOne(taken_as_one);
  Session::Outputs outputs;
  std::vector<double> milliseconds;
  for (int i = 0; i < std::max(1, options.repeat); ++i) {
    outputs.clear();
    const auto begin = std::chrono::steady_clock::now();
    ONWARD_ASSIGN_OR_RETURN(outputs, session->Run(inputs));
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  if (!options.output_dir.empty())
    ONWARD_RETURN_IF_ERROR(WriteOutputs(outputs, options.output_dir));
  if (!options.profile.empty()) {
    ONWARD_RETURN_IF_ERROR(session->WriteProfile(options.profile));
    if (const auto peak = session->RecordedPeak()) {
      std::fprintf(stderr,
                   "peak memory %s with weights, inputs and outputs; values and scratch take %s of "
                   "it at most, while %s runs\n",
                   BytesText(session->memory().peak()).c_str(), BytesText(peak->bytes).c_str(),
                   peak->node.c_str());
    }
  }
  nlohmann::json document = {{"outputs", nlohmann::json::array()}, {"taken_as_one", taken_as_one}};
  for (const ValueInfo& info : session->outputs()) {
    ValueSummary summary = Summarize(info.name, outputs.at(info.name));
    if (classes && classes->output == info.name)
      AddClasses(outputs.at(info.name), classes->names, summary);
    document["outputs"].push_back(summary.json);
    if (!common.json) std::printf("%s\n", summary.text.c_str());
  }
  if (options.repeat > 1) {
    const Latency latency = LatencyOf(std::move(milliseconds));
    document["latency_ms"] = latency.json();
    if (!common.json) std::printf("%s\n", latency.text().c_str());
  }
  document["peak_bytes"] = session->memory().peak();
  if (common.json) std::printf("%s\n", document.dump(2).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddRun(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<RunOptions>();
  Command command =
      NewCommand(line, common, "run", "Runs a model",
                 "onward run resnet.onnx --input image=cat.npy --output-dir out\n"
                 "  onward run bert.onnx --input ids=101,2054,102 --random --shape mask=1x3");
  command.Option("model", options->model, "ONNX file", {.required = true});
  command.Option("--input", options->inputs.inputs,
                 "NAME=FILE (.npy, .pb, .png, .jpg), NAME=1,2,3 or FILE.npz");
  command.Flag("--random", options->inputs.random, "draw the inputs that are not given");
  command.Option("--shape", options->inputs.shapes,
                 "NAME=1x3x224x224: dims of a drawn or inline input");
  command.Option("--image", options->image,
                 "onward.ImageData in text format, in place of what the model says of its images: "
                 "'mean: 0.5 deviation: 0.5 step { resize { height: 32 width: 32 } }'");
  command.Option("--output-dir", options->output_dir,
                 "write every output as NAME.npy, maps as NAME.json");
  command.Option("--repeat", options->repeat, "run N times and print latencies",
                 {.positive = true});
  command.Option("--profile", options->profile, "write a Chrome trace");
  command.Do([options, &common] {
    options->inputs.seed = common.seed.value_or(0);
    return Run(*options, common);
  });
}

}  // namespace onward::cli

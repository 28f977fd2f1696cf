// onward run: runs a model once or many times.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/image_inputs.h"
#include "cli/inputs.h"
#include "cli/latency.h"
#include "cli/op_table.h"
#include "cli/summary.h"
#include "cli/write_outputs.h"
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
  std::vector<std::string> only;
  std::string image;
};

// Writes the trace, and prints where the memory and the time went. `cold`: steps of a first run,
// which are in the trace and not in the table.
absl::StatusOr<std::vector<OpTime>> WriteProfile(const Session& session, const std::string& path,
                                                 size_t cold) {
  ONWARD_RETURN_IF_ERROR(session.WriteProfile(path));
  if (const auto peak = session.RecordedPeak()) {
    std::fprintf(stderr,
                 "peak memory %s with weights, inputs and outputs; values and scratch take %s of "
                 "it at most, while %s runs\n",
                 BytesText(session.memory().peak()).c_str(), BytesText(peak->bytes).c_str(),
                 peak->node.c_str());
  }
  const std::vector<TraceEvent> steps = session.RecordedSteps();
  std::vector<OpTime> times = OpTimesOf(absl::MakeConstSpan(steps).subspan(cold));
  std::fprintf(stderr, "%s", OpTableText(times).c_str());
  return times;
}

absl::Status Run(const RunOptions& options, const CommonOptions& common) {
  SessionOptions session_options = common.session();
  session_options.profile = !options.profile.empty();
  session_options.outputs = options.only;
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                          Session::Load(options.model, session_options));
  InputOptions input_options = options.inputs;
  ONWARD_ASSIGN_OR_RETURN(input_options.image, ImageNoteOf(options.image, session->metadata()));
  ONWARD_ASSIGN_OR_RETURN(const std::optional<onnx_io::ClassesNote> classes,
                          onnx_io::ReadClassesNote(session->metadata()));
  std::vector<std::string> taken_as_one;
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs inputs,
                          MakeInputs(session->inputs(), input_options, &taken_as_one));
  ONWARD_RETURN_IF_ERROR(CheckAllGiven(session->inputs(), inputs));
  NoteTakenAsOne(taken_as_one);
  Session::Outputs outputs;
  std::vector<double> milliseconds;
  size_t cold = 0;
  for (int i = 0; i < std::max(1, options.repeat); ++i) {
    outputs.clear();
    const auto begin = std::chrono::steady_clock::now();
    ONWARD_ASSIGN_OR_RETURN(outputs, session->Run(inputs));
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
    if (i == 0 && options.repeat > 1) cold = session->RecordedSteps().size();
  }
  if (!options.output_dir.empty())
    ONWARD_RETURN_IF_ERROR(WriteOutputs(outputs, options.output_dir));
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
  if (!options.profile.empty()) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<OpTime> times,
                            WriteProfile(*session, options.profile, cold));
    document["ops"] = OpTableJson(times);
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
  AddInputOptions(command, options->inputs);
  command.Option("--image", options->image,
                 "onward.ImageData in text format, in place of what the model says of its images: "
                 "'mean: 0.5 deviation: 0.5 step { resize { height: 32 width: 32 } }'");
  command.Option("--output-dir", options->output_dir,
                 "write every output as NAME.npy, maps as NAME.json");
  command.Option("--output", options->only,
                 "compute this value instead of the model's outputs: one of them, or any other");
  command.Option("--repeat", options->repeat, "run N times and print latencies",
                 {.positive = true});
  command.Option("--profile", options->profile, "write a Chrome trace");
  command.Do([options, &common] {
    options->inputs.seed = common.seed.value_or(0);
    return Run(*options, common);
  });
}

}  // namespace onward::cli

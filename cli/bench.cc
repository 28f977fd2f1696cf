// onward bench: how fast a model, one operator, or the machine is.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/latency.h"
#include "cli/machine_peak.h"
#include "cli/operator_model.h"
#include "graph/infer/cost.h"
#include "graph/infer/least_cost.h"
#include "onward/device_tensor.h"
#include "onward/import.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

struct BenchOptions {
  std::string model;
  std::string op;
  std::vector<std::string> attributes;
  InputOptions inputs;
  std::vector<std::string> on_device;
  double duration = 2;
  int warmup = 3;
  bool peak = false;
};

std::vector<double> Measure(const std::function<absl::Status()>& run, const BenchOptions& options,
                            absl::Status& status) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> milliseconds;
  for (int i = 0; i < options.warmup && status.ok(); ++i) status = run();
  const auto end = Clock::now() + std::chrono::duration<double>(options.duration);
  while (status.ok() && (milliseconds.size() < 3 || Clock::now() < end)) {
    const auto begin = Clock::now();
    status = run();
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return milliseconds;
}

int ThreadsOf(const CommonOptions& common) {
  return common.threads > 0 ? common.threads : PhysicalCores();
}

absl::Status Peak(const CommonOptions& common) {
  const int threads = ThreadsOf(common);
  const kernels::cpu::MachinePeak peak = kernels::cpu::MeasurePeak(threads);
  if (common.json) {
    std::printf("%s\n", PeakJson(peak, threads).dump(2).c_str());
  } else {
    std::printf("%s", PeakText(peak, threads).c_str());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const BenchOptions& options,
                                                     const CommonOptions& common) {
  SessionOptions session = common.session();
  session.device_values = options.on_device;
  if (options.op.empty()) return Session::Load(options.model, session);
  ONWARD_ASSIGN_OR_RETURN(Model model,
                          OperatorModel(options.op, options.inputs.shapes, options.attributes));
  return Session::Create(std::move(model), session);
}

// The inputs in the session's order, on the device where the options say so.
absl::StatusOr<std::vector<Value>> OrderedInputs(const Session& session,
                                                 const Session::Inputs& named,
                                                 const BenchOptions& options,
                                                 const std::string& provider) {
  std::vector<Value> inputs;
  for (const ValueInfo& info : session.inputs()) {
    const auto it = named.find(info.name);
    inputs.push_back(it == named.end() ? Value() : it->second);
    const bool moved =
        std::any_of(options.on_device.begin(), options.on_device.end(),
                    [&](const std::string& name) { return name == "*" || name == info.name; });
    if (!moved || !inputs.back().is_tensor() || info.type.dtype == DType::kString) continue;
    ONWARD_ASSIGN_OR_RETURN(inputs.back(), ToDevice(inputs.back().tensor(), provider));
  }
  return inputs;
}

absl::Status Bench(const BenchOptions& options, const CommonOptions& common) {
  if (options.peak) return Peak(common);
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, MakeSession(options, common));
  InputOptions input_options = options.inputs;
  input_options.random = true;
  if (!options.op.empty()) input_options.shapes.clear();
  std::vector<std::string> taken_as_one;
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs named,
                          MakeInputs(session->inputs(), input_options, &taken_as_one));
  NoteTakenAsOne(taken_as_one);
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Value> inputs,
                          OrderedInputs(*session, named, options, common.session().provider));
  std::vector<Value> outputs(session->outputs().size());
  const int threads = ThreadsOf(common);
  ONWARD_ASSIGN_OR_RETURN(const PlannedMemory planned, session->PlanMemory(named));
  const LeastCost least =
      LeastCostOf(session->graph(), named, session->precision() != Precision::kStrict);
  // Before and after: other work on the machine comes and goes.
  Ceiling ceiling(least, planned.arena, threads, session->precision());
  ceiling.Measure();
  absl::Status status;
  const std::vector<double> times =
      Measure([&] { return session->Run(inputs, absl::MakeSpan(outputs)); }, options, status);
  ONWARD_RETURN_IF_ERROR(status);
  ceiling.Measure();
  const Latency latency = LatencyOf(times);
  const GraphCost cost = CostOf(session->graph(), named);
  const double seconds = latency.median * 1e-3;
  const double gflops = cost.flops / seconds * 1e-9, gbytes = cost.bytes / seconds * 1e-9;
  if (common.json) {
    const nlohmann::json document = {{"latency_ms", latency.json()},
                                     {"runs", latency.runs},
                                     {"runs_per_s", 1 / seconds},
                                     {"gflops", gflops},
                                     {"gbytes_per_s", gbytes},
                                     {"peak", ceiling.json(seconds)},
                                     {"peak_bytes", session->memory().peak()},
                                     {"threads", threads},
                                     {"precision", common.precision},
                                     {"taken_as_one", taken_as_one}};
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  std::printf("%s\n%.4g runs/s%s\n", latency.text().c_str(), 1 / seconds,
              ceiling.text(seconds, gflops, gbytes).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddBench(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<BenchOptions>();
  Command command =
      NewCommand(line, common, "bench", "Measures a model, an operator or the machine",
                 "onward bench resnet.onnx --duration 5\n"
                 "  onward bench --op MatMul --shape 128x768 --shape 768x768\n"
                 "  onward bench --op Softmax --attribute axis=1 --shape 1x256x64x64");
  command.Option("model", options->model, "ONNX file");
  command.Option("--op", options->op, "an operator of ai.onnx, with one --shape per input",
                 {.excludes = "model"});
  command.Option("--attribute", options->attributes, "NAME=VALUE of the operator");
  command.Option("--input", options->inputs.inputs, "NAME=FILE");
  command.Option(
      "--shape", options->inputs.shapes,
      "NAME=1x3x224x224; with --op the inputs' dims in order, DTYPE:DIMS for other dtypes");
  command.Option("--on-device", options->on_device,
                 "an input or output that stays on the device of --provider; *: all");
  command.Option("--duration", options->duration, "seconds to measure");
  command.Option("--warmup", options->warmup, "runs before measuring");
  command.Flag(
      "--peak", options->peak,
      "measure what the machine can do at most: arithmetic by data type, memory by cache level");
  command.Do(
      [options, &common] {
        options->inputs.seed = common.seed.value_or(0);
        return Bench(*options, common);
      },
      [options] {
        const bool any = !options->model.empty() || !options->op.empty() || options->peak;
        return any ? "" : "one of MODEL, --op and --peak";
      });
}

}  // namespace onward::cli

// onward compare: whether a model gives what another one gives, what was stored, or what it gives
// without rewrites.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/inputs.h"
#include "cli/value_comparison.h"
#include "cli/wrong_rewrite.h"
#include "files/npy.h"
#include "files/write_file.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

struct CompareOptions {
  std::string model, reference;
  InputOptions inputs;
  ComparisonTolerance tolerance;
  bool bisect = false;
};

std::vector<std::string> NamesOf(const std::vector<ValueInfo>& infos) {
  std::vector<std::string> names;
  for (const ValueInfo& info : infos) names.push_back(info.name);
  return names;
}

// The other model's name of each: the same one, or, where none is the same and there are as many,
// the one at its place.
absl::StatusOr<std::map<std::string, std::string>> Matched(const std::vector<std::string>& names,
                                                           const std::vector<std::string>& others,
                                                           const char* kind) {
  const auto has = [&](const std::string& name) {
    return std::find(others.begin(), others.end(), name) != others.end();
  };
  const bool by_place = std::none_of(names.begin(), names.end(), has);
  std::map<std::string, std::string> matched;
  for (size_t i = 0; i < names.size(); ++i) {
    if (by_place && names.size() == others.size()) {
      matched[names[i]] = others[i];
    } else if (has(names[i])) {
      matched[names[i]] = names[i];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(kind, " '", names[i], "' is in one of the models only; the other has ",
                       absl::StrJoin(others, ", ")));
    }
  }
  return matched;
}

// Returns `given` by the names of another model, from those names to the ones here.
Session::Inputs Renamed(const Session::Inputs& given,
                        const std::map<std::string, std::string>& names) {
  Session::Inputs renamed;
  for (const auto& [name, from] : names)
    if (const auto found = given.find(from); found != given.end()) renamed[name] = found->second;
  return renamed;
}

// The reference's outputs by the names of the model's.
absl::StatusOr<Session::Outputs> RunReference(const std::string& reference,
                                              const SessionOptions& options, const Session& model,
                                              const Session::Inputs& inputs) {
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                          Session::Load(reference, options));
  ONWARD_ASSIGN_OR_RETURN(const auto input_names,
                          Matched(NamesOf(session->inputs()), NamesOf(model.inputs()), "input"));
  ONWARD_ASSIGN_OR_RETURN(const auto output_names,
                          Matched(NamesOf(model.outputs()), NamesOf(session->outputs()), "output"));
  ONWARD_ASSIGN_OR_RETURN(Session::Outputs outputs, session->Run(Renamed(inputs, input_names)));
  Session::Outputs named;
  for (const auto& [name, from] : output_names) named[name] = std::move(outputs[from]);
  return named;
}

// NAME.npy of every output, as --output-dir of `onward run` writes them.
absl::StatusOr<Session::Outputs> ReadReference(const std::string& directory, const Session& model) {
  Session::Outputs outputs;
  for (const ValueInfo& info : model.outputs()) {
    const std::string file = absl::StrCat(directory, "/", files::SafeFileName(info.name), ".npy");
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, files::ReadNpy(file, info.type.dtype));
    outputs[info.name] = std::move(tensor);
  }
  return outputs;
}

absl::StatusOr<Session::Outputs> ReferenceOf(const CompareOptions& options,
                                             const CommonOptions& common, const Session& model,
                                             const Session::Inputs& inputs) {
  if (std::filesystem::is_directory(options.reference))
    return ReadReference(options.reference, model);
  CommonOptions plain = common;
  plain.precision = "default";
  SessionOptions session = plain.session();
  if (!options.reference.empty()) return RunReference(options.reference, session, model, inputs);
  session.stop_after_patches = 0;
  return RunReference(options.model, session, model, inputs);
}

// Adds the rewrite that is to blame to the document, or prints it.
absl::Status Bisect(const CompareOptions& options, const CommonOptions& common,
                    const Session::Inputs& inputs, const Session::Outputs& references,
                    nlohmann::json& document) {
  const auto right = [&](Session& session) -> absl::StatusOr<bool> {
    ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, session.Run(inputs));
    return std::all_of(outputs.begin(), outputs.end(), [&](const auto& output) {
      return CompareValues(output.second, references.at(output.first), options.tolerance).within();
    });
  };
  ONWARD_ASSIGN_OR_RETURN(const WrongRewrite found,
                          FindWrongRewrite(options.model, common.session(), right));
  document["rewrite"] = {{"number", found.number},
                         {"rewrites", found.rewrites},
                         {"pass", found.pass},
                         {"nodes", found.nodes}};
  if (common.json) return absl::OkStatus();
  if (found.number == 0) {
    std::printf("the outputs differ without any rewrite, too: the kernels or the models differ\n");
    return absl::OkStatus();
  }
  std::printf("rewrite %d of %d makes the difference, of the pass %s\n", found.number,
              found.rewrites, found.pass.c_str());
  for (const std::string& node : found.nodes) std::printf("  %s\n", node.c_str());
  return absl::OkStatus();
}

absl::Status Compare(const CompareOptions& options, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                          Session::Load(options.model, common.session()));
  std::vector<std::string> taken_as_one;
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs inputs,
                          MakeInputs(session->inputs(), options.inputs, &taken_as_one));
  ONWARD_RETURN_IF_ERROR(CheckAllGiven(session->inputs(), inputs));
  NoteTakenAsOne(taken_as_one);
  ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, session->Run(inputs));
  ONWARD_ASSIGN_OR_RETURN(const Session::Outputs references,
                          ReferenceOf(options, common, *session, inputs));
  nlohmann::json document = {{"outputs", nlohmann::json::array()}};
  bool within = true;
  for (const ValueInfo& info : session->outputs()) {
    const ValueComparison comparison =
        CompareValues(outputs.at(info.name), references.at(info.name), options.tolerance);
    within = within && comparison.within();
    nlohmann::json row = comparison.json();
    row["name"] = info.name;
    document["outputs"].push_back(std::move(row));
    if (!common.json) std::printf("%s: %s\n", info.name.c_str(), comparison.text().c_str());
  }
  document["within"] = within;
  if (!within && options.bisect)
    ONWARD_RETURN_IF_ERROR(Bisect(options, common, inputs, references, document));
  if (common.json) std::printf("%s\n", document.dump(2).c_str());
  if (within) return absl::OkStatus();
  return ErrorWithExitCode(
      absl::StrCat("the outputs are not those of ",
                   options.reference.empty() ? "the model without rewrites" : options.reference,
                   " within rtol ", options.tolerance.rtol, " and atol ", options.tolerance.atol),
      kFailed);
}

}  // namespace

void AddCompare(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<CompareOptions>();
  Command command =
      NewCommand(line, common, "compare", "Compares a model's outputs with a reference's",
                 "onward compare quantized.onnx float.onnx --random --rtol 0.05\n"
                 "  onward compare resnet.onnx from_pytorch --input image=image.npy");
  command.Option("model", options->model, "ONNX file", {.required = true});
  command.Option(
      "reference", options->reference,
      "another ONNX file, or a directory with NAME.npy of each output (default: the model "
      "itself without rewrites)");
  AddInputOptions(command, options->inputs);
  command.Option("--rtol", options->tolerance.rtol, "of floats: |a - b| <= atol + rtol |b|");
  command.Option("--atol", options->tolerance.atol, "see --rtol");
  command.Flag("--bisect", options->bisect,
               "where outputs differ, find the rewrite of the model that makes them differ");
  command.Do([options, &common] {
    options->inputs.seed = common.seed.value_or(0);
    return Compare(*options, common);
  });
}

}  // namespace onward::cli

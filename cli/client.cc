// onward client: asks a server of the Open Inference Protocol v2, and measures it.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/load_report.h"
#include "cli/summary.h"
#include "cli/write_outputs.h"
#include "files/npy.h"
#include "files/write_file.h"
#include "onward/status.h"
#include "serving/client/infer_call.h"
#include "serving/client/load.h"
#include "serving/keys.h"

namespace onward::cli {
namespace {

struct ClientFlags {
  std::string action, url, model, version;
  InputOptions inputs;
  std::string tensors = "bytes";
  std::string key_file, ca_file, output_dir, expected;
  double timeout = 60;
  double rate = 0, duration = 10, tolerance = 1e-4;
  int connections = 100, requests = 8;
  bool compare = false;
};

absl::StatusOr<serving::HttpClientOptions> ServerOf(const ClientFlags& flags) {
  serving::HttpClientOptions server{flags.url, flags.ca_file};
  if (!(flags.timeout > 0 && flags.timeout <= 86400))
    return absl::InvalidArgumentError(
        absl::StrCat("--timeout: ", flags.timeout, " is not a number of seconds up to 86400"));
  server.most = std::chrono::milliseconds(static_cast<int64_t>(flags.timeout * 1000));
  if (flags.key_file.empty()) return server;
  absl::StatusOr<serving::KeyList> keys = serving::KeyList::Read(flags.key_file);
  if (!keys.ok()) return Annotate(keys.status(), "--api-key-file:");
  server.key = keys->first();
  return server;
}

// Those of "NAME=random" are drawn, as are all that are not given where `draw` says so.
absl::StatusOr<Session::Inputs> InputsFor(const std::vector<ValueInfo>& declared,
                                          InputOptions options, bool draw, bool notes) {
  std::vector<std::string> given;
  for (const std::string& text : options.inputs) {
    const bool random = absl::EndsWith(text, "=random");
    options.random = options.random || random;
    if (!random) {
      given.push_back(text);
      continue;
    }
    const std::string name = text.substr(0, text.size() - 7);
    bool known = false;
    for (const ValueInfo& info : declared) known = known || info.name == name;
    if (!known)
      return absl::InvalidArgumentError(absl::StrCat("the model has no input '", name, "'"));
  }
  options.inputs = given;
  options.random = options.random || draw;
  std::vector<std::string> taken_as_one;
  ONWARD_ASSIGN_OR_RETURN(Session::Inputs inputs, MakeInputs(declared, options, &taken_as_one));
  if (notes) NoteTakenAsOne(taken_as_one);
  return inputs;
}

// So many, which differ where inputs are drawn.
absl::StatusOr<std::vector<serving::ClientRequest>> RequestsFor(const ClientFlags& flags, bool draw,
                                                                int count,
                                                                serving::HttpClient& client) {
  const std::string path = serving::ModelPath(flags.model, flags.version);
  ONWARD_ASSIGN_OR_RETURN(const serving::ServerReply reply, client.Ask({"GET", path}));
  ONWARD_RETURN_IF_ERROR(serving::StatusOfServer(reply));
  absl::StatusOr<std::vector<ValueInfo>> declared = serving::ReadModelInputs(reply.body);
  if (!declared.ok()) return Annotate(declared.status(), absl::StrCat("GET ", path, ":"));
  std::vector<serving::ClientRequest> requests;
  InputOptions options = flags.inputs;
  for (; count > 0; --count, ++options.seed) {
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs inputs,
                            InputsFor(*declared, options, draw, /*notes=*/requests.empty()));
    ONWARD_ASSIGN_OR_RETURN(
        serving::ClientRequest request,
        serving::WriteInferCall(flags.model, flags.version, inputs, flags.tensors == "bytes"));
    requests.push_back(std::move(request));
  }
  return requests;
}

absl::StatusOr<serving::NamedTensors> OutputsOf(const serving::ServerReply& reply) {
  ONWARD_RETURN_IF_ERROR(serving::StatusOfServer(reply));
  absl::StatusOr<serving::NamedTensors> outputs = serving::ReadInferOutputs(reply);
  return outputs.ok()
             ? outputs
             : Annotate(outputs.status(), "the reply does not follow the inference protocol:");
}

absl::Status ClientInfer(const ClientFlags& flags, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(const serving::HttpClientOptions server, ServerOf(flags));
  ONWARD_ASSIGN_OR_RETURN(const auto client, serving::HttpClient::Create(server));
  ONWARD_ASSIGN_OR_RETURN(const auto requests,
                          RequestsFor(flags, /*draw=*/false, /*count=*/1, *client));
  ONWARD_ASSIGN_OR_RETURN(const serving::ServerReply reply, client->Ask(requests[0]));
  ONWARD_ASSIGN_OR_RETURN(const serving::NamedTensors outputs, OutputsOf(reply));
  nlohmann::json document = {{"outputs", nlohmann::json::array()}};
  Session::Outputs by_name;
  for (const auto& [name, tensor] : outputs) {
    const ValueSummary summary = Summarize(name, Value(tensor));
    document["outputs"].push_back(summary.json);
    if (!common.json) std::printf("%s\n", summary.text.c_str());
    by_name.insert_or_assign(name, Value(tensor));
  }
  if (common.json) std::printf("%s\n", document.dump(2).c_str());
  if (flags.output_dir.empty()) return absl::OkStatus();
  return WriteOutputs(by_name, flags.output_dir);
}

// The outputs that replies are compared with: the first reply's, or files' of the same names.
absl::StatusOr<serving::NamedTensors> ExpectedOutputs(const ClientFlags& flags,
                                                      serving::NamedTensors first) {
  if (flags.expected.empty()) return first;
  serving::NamedTensors expected;
  for (const auto& [name, tensor] : first) {
    ONWARD_ASSIGN_OR_RETURN(
        Tensor stored,
        files::ReadNpy(absl::StrCat(flags.expected, "/", files::SafeFileName(name), ".npy"),
                       tensor.dtype()));
    expected.emplace_back(name, std::move(stored));
  }
  absl::Status status = serving::CompareOutputs(expected, first, flags.tolerance);
  if (!status.ok()) return Annotate(status, "the first reply differs from --expected:");
  return expected;
}

// The replies that those of a request are compared with.
struct Alone {
  std::string body;
  serving::NamedTensors outputs;
};

absl::StatusOr<std::vector<Alone>> AskAlone(const ClientFlags& flags,
                                            const std::vector<serving::ClientRequest>& requests,
                                            serving::HttpClient& client) {
  std::vector<Alone> replies;
  for (const serving::ClientRequest& request : requests) {
    ONWARD_ASSIGN_OR_RETURN(serving::ServerReply first, client.Ask(request));
    ONWARD_ASSIGN_OR_RETURN(serving::NamedTensors outputs, OutputsOf(first));
    ONWARD_ASSIGN_OR_RETURN(serving::NamedTensors expected,
                            ExpectedOutputs(flags, std::move(outputs)));
    replies.push_back({std::move(first.body), std::move(expected)});
  }
  return replies;
}

absl::Status Failure(const serving::LoadReport& report) {
  const int64_t lost = report.planned - report.replies;
  if (report.wrong > 0)
    return absl::DataLossError(absl::StrCat(report.wrong, " replies differ from the expected one"));
  if (lost > 0) return absl::UnavailableError(absl::StrCat(lost, " requests had no reply"));
  if (report.right > 0) return absl::OkStatus();
  return absl::UnavailableError("no request succeeded");
}

absl::Status ClientLoad(const ClientFlags& flags, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(const serving::HttpClientOptions server, ServerOf(flags));
  ONWARD_ASSIGN_OR_RETURN(const auto client, serving::HttpClient::Create(server));
  if (flags.requests < 1 || flags.requests > 1000)
    return absl::InvalidArgumentError(
        absl::StrCat("--requests: expected 1 to 1000, got ", flags.requests));
  // Files have the outputs of one.
  const int count = flags.expected.empty() ? flags.requests : 1;
  ONWARD_ASSIGN_OR_RETURN(const auto requests, RequestsFor(flags, /*draw=*/true, count, *client));
  ONWARD_ASSIGN_OR_RETURN(const auto alone, AskAlone(flags, requests, *client));
  serving::LoadOptions options;
  options.rate = flags.rate;
  options.time = std::chrono::duration<double>(flags.duration);
  options.connections = flags.connections;
  if (flags.compare || !flags.expected.empty())
    options.is_right = [&](const serving::ServerReply& reply, size_t request) {
      const Alone& right = alone[request];
      if (reply.body == right.body) return true;
      const auto got = serving::ReadInferOutputs(reply);
      return got.ok() && serving::CompareOutputs(right.outputs, *got, flags.tolerance).ok();
    };
  ONWARD_ASSIGN_OR_RETURN(const serving::LoadReport report,
                          serving::RunLoad(server, requests, options));
  if (common.json) {
    std::printf("%s\n", LoadJson(report).dump(2).c_str());
  } else {
    std::printf("%s", LoadText(report).c_str());
  }
  return Failure(report);
}

void AddClientOptions(Command& command, ClientFlags& flags) {
  command.Option("action", flags.action, "infer: asks once; load: measures",
                 {.required = true, .one_of = {"infer", "load"}});
  command.Option("url", flags.url, "http://HOST:PORT, https://HOST:PORT or unix:PATH",
                 {.required = true});
  command.Option("model", flags.model, "the model's name", {.required = true});
  command.Option("--model-version", flags.version, "the model's version (default: the server's)");
  command.Option("--input", flags.inputs.inputs,
                 "NAME=FILE (.npy, .pb, .png, .jpg), NAME=1,2,3, NAME=random or FILE.npz; a load "
                 "draws those that are not given");
  command.Option("--shape", flags.inputs.shapes,
                 "NAME=1x3x224x224: dims of a drawn or inline input");
  command.Option("--tensors", flags.tensors, "how tensors travel (default: bytes)",
                 {.one_of = {"bytes", "json"}});
  command.Option("--api-key-file", flags.key_file, "a file whose first key is sent");
  command.Option("--ca-file", flags.ca_file,
                 "certificates in PEM that are trusted besides the system's");
  command.Option("--timeout", flags.timeout, "seconds that a reply may take (default: 60)");
  command.Option("--output-dir", flags.output_dir, "infer: write every output as NAME.npy");
  command.Option("--rate", flags.rate,
                 "load: requests a second, which begin at their times whatever the replies do");
  command.Option("--duration", flags.duration, "load: seconds in which they begin (default: 10)");
  command.Option("--connections", flags.connections, "load: at most so many (default: 100)");
  command.Option("--requests", flags.requests,
                 "load: so many requests take turns, which differ where inputs are drawn "
                 "(default: 8; 1 with --expected)");
  command.Flag("--compare", flags.compare,
               "load: compare each reply with the first one to the same request");
  command.Option("--expected", flags.expected,
                 "load: compare each reply with NAME.npy of this directory");
  command.Option("--tolerance", flags.tolerance,
                 "load: by how much floats may differ, as a part of the output's largest "
                 "magnitude (default: 1e-4)");
}

}  // namespace

void AddClient(CommandLine& line, CommonOptions& common) {
  auto flags = std::make_shared<ClientFlags>();
  Command command = NewCommand(
      line, common, "client", "Asks a server, measures it",
      "onward client infer http://127.0.0.1:8000 digits --input image=digit.npy\n"
      "  onward client load http://127.0.0.1:8000 digits --rate 500 --duration 10 --compare");
  AddClientOptions(command, *flags);
  command.Do(
      [flags, &common] {
        flags->inputs.seed = common.seed.value_or(0);
        return flags->action == "infer" ? ClientInfer(*flags, common) : ClientLoad(*flags, common);
      },
      [flags]() -> std::string {
        return flags->action == "load" && flags->rate == 0 ? "--rate" : "";
      });
}

}  // namespace onward::cli

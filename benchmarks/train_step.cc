// Milliseconds of training steps on one batch, on demand: each line "N" on the standard input runs
// N steps and returns a line of JSON. compare_torch.py runs it and PyTorch in turn.
//
// Usage: train_step CONFIG BATCH.npz [THREADS [TRACE.json]]. Arrays of the batch are named as the
// model's inputs and the loss's target.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "files/npy.h"
#include "onward/import.h"
#include "onward/status.h"
#include "onward/train_config.h"
#include "training/rewrite/loss_scale.h"
#include "training/step/make_phases.h"
#include "training/step/training_session.h"

namespace onward {
namespace {

absl::Status Measure(training::TrainingSession& session, const Session::Inputs& batch, bool apply,
                     int steps) {
  std::printf("{\"ms\": [");
  float loss = 0;
  for (int i = 0; i < steps; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ONWARD_ASSIGN_OR_RETURN(const Session::Outputs outputs, session.Step(batch));
    if (apply) ONWARD_RETURN_IF_ERROR(session.Step({}, 1).status());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    loss = outputs.at("loss").tensor().data<float>()[0];
    std::printf("%s%.4f", i == 0 ? "" : ", ", took.count());
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("], \"loss\": %.6g, \"peak_mb\": %ld}\n", static_cast<double>(loss),
              usage.ru_maxrss * 1024 / 1000000);
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Run(const std::string& config_path, const std::string& batch_path, int threads,
                 const std::string& profile) {
  ONWARD_ASSIGN_OR_RETURN(const TrainConfig config, ReadTrainConfig(config_path));
  ONWARD_ASSIGN_OR_RETURN(const auto arrays, files::ReadNpz(batch_path));
  std::vector<Field> fields;
  Session::Inputs batch;
  for (const auto& [name, tensor] : arrays) {
    fields.push_back({name, Type::Tensor(tensor.dtype(), tensor.dims().subspan(1))});
    batch[name] = tensor;
  }
  training::TrainableModel trained;
  ImportOptions import;
  import.initializers = &trained.initializers;
  const std::filesystem::path directory = std::filesystem::path(config_path).parent_path();
  ONWARD_ASSIGN_OR_RETURN(trained.model, ImportFile(directory / config.model(), import));
  ONWARD_ASSIGN_OR_RETURN(training::TrainingPhases phases,
                          training::MakeTrainingPhases(trained, config, fields));
  trained = {};
  phases.graphs.resize(phases.apply ? 2 : 1);  // no evaluation
  SessionOptions options;
  options.num_threads = threads;
  options.precision = training::SessionPrecision(config);
  options.profile = !profile.empty();
  const std::vector<SessionOptions> of_phases(phases.graphs.size(), options);
  ONWARD_ASSIGN_OR_RETURN(const auto session,
                          training::TrainingSession::Create(std::move(phases.graphs), of_phases));
  for (int steps; std::cin >> steps;)
    ONWARD_RETURN_IF_ERROR(Measure(*session, batch, phases.apply.has_value(), steps));
  return profile.empty() ? absl::OkStatus() : session->session().WriteProfile(profile);
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: train_step CONFIG BATCH.npz [THREADS [TRACE.json]]\n");
    return 2;
  }
  const absl::Status status =
      onward::Run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 0, argc > 4 ? argv[4] : "");
  if (!status.ok()) std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

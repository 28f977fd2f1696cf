// An optimizer's step against the memory: milliseconds of a step over GPT-2's parameters, and of
// the plainest loop that reads and writes as many bytes of each parameter, in turn.
// Usage: optimizer_step [OPTIMIZER [THREADS [ROUNDS [formula|kernel [DIM...]]]]], e.g.
// optimizer_step AdamW 2 15. `formula`: as standard ops. DIMs: of a single parameter.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "graph/ir/graph_edit.h"
#include "onward/status.h"
#include "onward/thread_pool.h"
#include "training/optimizers/optimizer.h"
#include "training/step/training_session.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 32 * 1024;

double Milliseconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<Dims> Gpt2Shapes() {
  std::vector<Dims> shapes = {{50257, 768}, {1024, 768}, {768}, {768}};
  for (int layer = 0; layer < 12; ++layer) {
    for (const Dims& dims :
         {Dims{768, 2304}, Dims{2304}, Dims{768, 768}, Dims{768}, Dims{768, 3072}, Dims{3072},
          Dims{3072, 768}, Dims{768}, Dims{768}, Dims{768}, Dims{768}, Dims{768}})
      shapes.push_back(dims);
  }
  return shapes;
}

Tensor Filled(DimsView dims, float value) {
  Tensor tensor(DType::kFloat32, dims);
  std::fill_n(tensor.mutable_data<float>(), tensor.num_elements(), value);
  return tensor;
}

struct Wanted {
  std::string optimizer = "AdamW";
  int threads = 2, rounds = 15;
  bool formula = false;
  std::vector<Dims> shapes;
};

absl::StatusOr<std::unique_ptr<training::TrainingSession>> MakeSession(const Wanted& wanted,
                                                                       Session::Inputs& gradients) {
  Model model;
  model.opsets[""] = 28;
  training::ParameterGroup group;
  int count = 0;
  for (const Dims& dims : wanted.shapes) {
    const std::string name = std::to_string(count++);
    group.parameters.push_back(GraphEdit(model.graph).AddConstant("p" + name, Filled(dims, 1)));
    group.gradients.push_back(
        GraphEdit(model.graph).AddInput("g" + name, Type::Tensor(DType::kFloat32, dims)));
    gradients["g" + name] = Filled(dims, 0.01f);
  }
  const training::OptimizerConfig config = {wanted.optimizer, {{"lr", 1e-3}}, wanted.formula};
  ONWARD_RETURN_IF_ERROR(training::AddOptimizer(model, config, {group}).status());
  SessionOptions options;
  options.num_threads = wanted.threads;
  return training::TrainingSession::Create(std::move(model), options);
}

// p, and each of `states` arrays beside it, plus g.
void PlainPass(const float* g, std::vector<std::vector<float>>& arrays, ThreadPool& pool) {
  pool.ParallelFor(static_cast<int64_t>(arrays[0].size()), kGrain,
                   [&](int, int64_t begin, int64_t end) {
                     for (std::vector<float>& array : arrays) {
                       float* to = array.data();
                       for (int64_t i = begin; i < end; ++i) to[i] += g[i];
                     }
                   });
}

absl::Status Measure(const Wanted& wanted) {
  const int threads = wanted.threads, rounds = wanted.rounds;
  Session::Inputs gradients;
  ONWARD_ASSIGN_OR_RETURN(const auto session, MakeSession(wanted, gradients));
  int64_t parameters = 0, state_bytes = 0;
  for (const auto& [name, tensor] : gradients) parameters += tensor.tensor().num_elements();
  for (const std::string& name : session->state_names()) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor state, session->State(name));
    state_bytes += state.byte_size();
  }
  const auto arrays_of =
      static_cast<size_t>(std::max<int64_t>(1, (state_bytes + 2 * parameters) / (4 * parameters)));
  std::vector<std::vector<float>> arrays(arrays_of,
                                         std::vector<float>(static_cast<size_t>(parameters)));
  const std::vector<float> g(static_cast<size_t>(parameters), 0.01f);
  ThreadPool pool(threads);
  const double bytes =
      static_cast<double>(parameters) * 4 * (2 * static_cast<double>(arrays_of) + 1);
  std::vector<double> steps, plains, ratios;
  for (int round = -2; round < rounds; ++round) {
    auto begin = std::chrono::steady_clock::now();
    ONWARD_RETURN_IF_ERROR(session->Step(gradients).status());
    const double step = Milliseconds(begin);
    begin = std::chrono::steady_clock::now();
    PlainPass(g.data(), arrays, pool);
    const double plain = Milliseconds(begin);
    if (round < 0) continue;
    steps.push_back(step);
    plains.push_back(plain);
    ratios.push_back(plain / step);
  }
  std::printf("%s, %.1f M parameters, float32, %d threads, %.0f MB of memory traffic a step\n",
              wanted.optimizer.c_str(), static_cast<double>(parameters) / 1e6, threads,
              bytes / 1e6);
  std::printf(
      "step %.2f ms (%.1f GB/s), plain loop %.2f ms (%.1f GB/s), speed of memory reached: %.0f "
      "%%\n",
      Median(steps), bytes / Median(steps) / 1e6, Median(plains), bytes / Median(plains) / 1e6,
      100 * Median(ratios));
  return absl::OkStatus();
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  onward::Wanted wanted;
  if (argc > 1) wanted.optimizer = argv[1];
  if (argc > 2) wanted.threads = std::atoi(argv[2]);
  if (argc > 3) wanted.rounds = std::atoi(argv[3]);
  if (argc > 4) wanted.formula = std::string(argv[4]) == "formula";
  wanted.shapes = onward::Gpt2Shapes();
  if (argc > 5) wanted.shapes = {{}};
  for (int i = 5; i < argc; ++i) wanted.shapes[0].push_back(std::atoll(argv[i]));
  const absl::Status status = onward::Measure(wanted);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

// What a new shape costs a decoder: runs MODEL with its symbol `past` growing by one per step, each
// length twice. The first run of a length binds the program to new shapes, the second finds the
// binding. Usage: growing_past MODEL [SYMBOL [THREADS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "onward/session.h"
#include "onward/status.h"

namespace {

using Clock = std::chrono::steady_clock;

onward::Tensor Zeros(onward::DType dtype, const onward::Dims& dims) {
  onward::Tensor tensor(dtype, dims);
  std::fill_n(tensor.mutable_data<char>(), tensor.byte_size(), 0);
  return tensor;
}

std::vector<onward::Value> InputsFor(const onward::Session& session, const std::string& symbol,
                                     int64_t length) {
  std::vector<onward::Value> inputs;
  for (const onward::ValueInfo& info : session.inputs()) {
    onward::Dims dims;
    for (const onward::Dim& dim : *info.type.shape) {
      const bool grows = dim.expression() == symbol, after = dim.expression() == symbol + " + 1";
      dims.push_back(dim.known() ? dim.value() : grows ? length : after ? length + 1 : 1);
    }
    inputs.emplace_back(Zeros(info.type.dtype, dims));
  }
  return inputs;
}

double Milliseconds(onward::Session& session, const std::vector<onward::Value>& inputs,
                    std::vector<onward::Value>& outputs, absl::Status& status) {
  const auto begin = Clock::now();
  status.Update(session.Run(inputs, absl::MakeSpan(outputs)));
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

absl::Status Measure(const std::string& model, const std::string& symbol, int threads) {
  onward::SessionOptions options;
  options.num_threads = threads;
  ONWARD_ASSIGN_OR_RETURN(const auto session, onward::Session::Load(model, options));
  std::vector<double> first, second, binding;
  absl::Status status;
  for (int64_t length = 64; length < 164 && status.ok(); ++length) {
    const std::vector<onward::Value> inputs = InputsFor(*session, symbol, length);
    std::vector<onward::Value> outputs(session->outputs().size()), again(session->outputs().size());
    first.push_back(Milliseconds(*session, inputs, outputs, status));
    second.push_back(Milliseconds(*session, inputs, again, status));
    binding.push_back(first.back() - second.back());
  }
  ONWARD_RETURN_IF_ERROR(status);
  const auto median = [](std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
  };
  std::printf(
      "first run of a length %.3f ms, second %.3f ms, difference %.3f ms (medians of %zu "
      "lengths)\n",
      median(first), median(second), median(binding), first.size());
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: growing_past MODEL [SYMBOL [THREADS]]\n");
    return 2;
  }
  const absl::Status status =
      Measure(argv[1], argc > 2 ? argv[2] : "past", argc > 3 ? std::atoi(argv[3]) : 0);
  if (!status.ok()) std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

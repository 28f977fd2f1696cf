#include "serving/example_inputs.h"

#include <chrono>
#include <cstring>

#include "graph/base/checked.h"
#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

constexpr int64_t kMostElements = 1'000'000;       // of all inputs of a trial
constexpr std::chrono::seconds kMostTrialTime(2);  // of all trials together

// More than kMostElements where they are many.
int64_t ElementsOf(const Session& session, int64_t size) {
  int64_t all = 0;
  for (const ValueInfo& input : session.inputs()) {
    if (input.optional) continue;
    int64_t count = 1;
    for (const int64_t dim : ExampleShape(input.type, size)) {
      const auto product = CheckedMul(count, dim);
      if (!product || *product > kMostElements) return kMostElements + 1;
      count = *product;
    }
    all += count;
  }
  return all;
}

bool Varies(const Session& session) {
  for (const ValueInfo& input : session.inputs()) {
    if (!input.optional && ExampleShape(input.type, 1) != ExampleShape(input.type, 2)) return true;
  }
  return false;
}

}  // namespace

std::vector<int64_t> ExampleShape(const Type& type, int64_t size) {
  std::vector<int64_t> shape = ShapeOf(type, 1);
  const std::vector<int64_t> known = ShapeOf(type, -1);
  for (size_t i = shape.size(); i-- > 1 && known[i] == -1;) shape[i] = size;
  return shape;
}

absl::StatusOr<Session::Inputs> ExampleInputs(const Session& session, int64_t size) {
  Session::Inputs inputs;
  for (const ValueInfo& input : session.inputs()) {
    if (input.optional) continue;
    const std::vector<int64_t> shape = ExampleShape(input.type, size);
    absl::StatusOr<Tensor> tensor =
        Tensor::Create(input.type.dtype, Dims(shape.begin(), shape.end()));
    if (!tensor.ok()) return tensor.status();
    if (tensor->dtype() != DType::kString && tensor->num_elements() > 0)
      std::memset(tensor->raw_mutable_data(), 0, static_cast<size_t>(tensor->byte_size()));
    inputs[input.name] = Value(*std::move(tensor));
  }
  return inputs;
}

int64_t LeastExampleSize(Session& session) {
  if (!Varies(session)) return 1;
  const auto end = std::chrono::steady_clock::now() + kMostTrialTime;
  for (const int64_t size : {1, 8, 32, 64, 128, 512, 1024}) {
    if (ElementsOf(session, size) > kMostElements) return 1;
    const auto inputs = ExampleInputs(session, size);
    if (!inputs.ok()) return 1;
    const auto outputs = session.Run(*inputs, {.deadline = end});
    if (outputs.ok()) return size;
    if (absl::IsDeadlineExceeded(outputs.status())) return 1;
  }
  return 1;
}

}  // namespace onward::serving

#include <algorithm>

#include "executors/create_session.h"
#include "graph/base/checked.h"
#include "onnx_io/expand_functions.h"
#include "onward/import.h"
#include "onward/session.h"
#include "tests/fuzz/capped_run.h"
#include "tests/fuzz/harnesses.h"
#include "tests/fuzz/random_model.h"
#include "tests/fuzz/random_tensor.h"

namespace onward::fuzz {
namespace {

constexpr int64_t kMaxMemory = int64_t{32} << 20;
constexpr int64_t kMaxInputBytes = int64_t{1} << 20;

// Whether the input could be made; models may ask for inputs of any size.
bool MakeInput(const Type& type, FuzzBytes& bytes, int64_t open, Value& value) {
  if (type.kind == Type::Kind::kSequence && type.element->is_tensor()) {
    SequenceData elements;
    for (int64_t i = 0; i < open; ++i) {
      Value element;
      if (!MakeInput(*type.element, bytes, open, element)) return false;
      elements.push_back(std::move(element));
    }
    value = Value(std::move(elements));
    return true;
  }
  if (!type.is_tensor() || type.dtype == DType::kUndefined) return false;
  Dims dims = type.shape ? Dims() : RandomDims(bytes);
  if (type.shape) {
    for (const Dim& dim : *type.shape) dims.push_back(dim.known() ? dim.value() : open);
  }
  const absl::StatusOr<int64_t> size = CheckedByteSize(type.dtype, dims);
  if (!size.ok() || *size > kMaxInputBytes) return false;
  value = RandomTensor(bytes, type.dtype, dims);
  return true;
}

}  // namespace

void CappedRun(Model model, FuzzBytes& bytes) {
  SessionOptions options;
  options.num_threads = 1;
  options.max_memory = kMaxMemory;
  options.max_executed_nodes = 2000;
  options.optimize = !bytes.OneIn(4);
  options.reference_kernels = bytes.OneIn(3);
  const auto session =
      executors::CreateSession(std::move(model), options, {.expand_ops = onnx_io::ExpandFunctions});
  if (!session.ok()) return;
  for (int run = 0; run < 2; ++run) {
    const int64_t open = bytes.Between(0, 4);
    Session::Inputs inputs;
    for (const ValueInfo& info : (*session)->inputs()) {
      if (info.optional && bytes.OneIn(2)) continue;
      Value value;
      if (MakeInput(info.type, bytes, open, value)) inputs[info.name] = std::move(value);
    }
    (void)(*session)->Run(inputs);
  }
}

void CappedImportAndRun(std::string_view serialized, FuzzBytes& bytes) {
  ImportOptions options;
  options.max_nodes = 20000;
  absl::StatusOr<Model> model = ImportBytes(serialized, "", options);
  if (model.ok()) CappedRun(*std::move(model), bytes);
}

void RunStructured(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, size);
  const std::string serialized = RandomModel(bytes, true).SerializeAsString();
  CappedImportAndRun(serialized, bytes);
}

void RunModelBytes(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, std::min<size_t>(size, 256));
  CappedImportAndRun({reinterpret_cast<const char*>(data), size}, bytes);
}

}  // namespace onward::fuzz

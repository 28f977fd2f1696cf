// The tensors of cuDNN's graphs: their sizes, and their numbers in memory.
#include <algorithm>

#include "onward/small_float.h"
#include "tests/emulated_cuda/cudnn_graph.h"

namespace onward::emulated_cuda {
namespace {

template <typename T>
double NumberAt(const void* memory, int64_t index) {
  const T element = static_cast<const T*>(memory)[index];
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(element));
  } else {
    return static_cast<double>(element);
  }
}

double ReadNumber(cudnnDataType_t type, const void* memory, int64_t index) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return NumberAt<double>(memory, index);
    case CUDNN_DATA_HALF:
      return NumberAt<Float16>(memory, index);
    case CUDNN_DATA_BFLOAT16:
      return NumberAt<BFloat16>(memory, index);
    case CUDNN_DATA_INT32:
      return NumberAt<int32_t>(memory, index);
    default:
      return NumberAt<float>(memory, index);
  }
}

double RoundedTo(cudnnDataType_t type, double number) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return static_cast<double>(static_cast<float>(number));
    case CUDNN_DATA_HALF:
      return static_cast<double>(static_cast<float>(Float16(static_cast<float>(number))));
    case CUDNN_DATA_BFLOAT16:
      return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(number))));
    default:
      return number;  // double, integers and truths
  }
}

void WriteNumber(cudnnDataType_t type, void* memory, int64_t index, double number) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      static_cast<double*>(memory)[index] = number;
      break;
    case CUDNN_DATA_HALF:
      static_cast<Float16*>(memory)[index] = Float16(static_cast<float>(number));
      break;
    case CUDNN_DATA_BFLOAT16:
      static_cast<BFloat16*>(memory)[index] = BFloat16(static_cast<float>(number));
      break;
    default:
      static_cast<float*>(memory)[index] = static_cast<float>(number);
  }
}

int64_t IdOf(const GraphObject& tensor) { return tensor.Get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID); }

// Calls f(index in memory, number) for each element.
template <typename F>
void ForEachElement(const GraphObject& tensor, F&& f) {
  const std::vector<int64_t> strides = tensor.Ints(CUDNN_ATTR_TENSOR_STRIDES);
  size_t number = 0;
  ForEachPosition(DimsOf(tensor), [&](const std::vector<int64_t>& position) {
    int64_t index = 0;
    for (size_t axis = 0; axis < position.size(); ++axis) index += position[axis] * strides[axis];
    f(index, number++);
  });
}

}  // namespace

std::vector<int64_t> GraphObject::Ints(cudnnBackendAttributeName_t name) const {
  const Attribute& attribute = attributes.at(name);
  std::vector<int64_t> values(static_cast<size_t>(attribute.count));
  std::memcpy(values.data(), attribute.bytes.data(), attribute.bytes.size());
  return values;
}

Numbers::Numbers(std::vector<int64_t> sizes) : dims(std::move(sizes)) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  values.resize(static_cast<size_t>(count));
}

size_t Numbers::IndexAt(const std::vector<int64_t>& position,
                        const std::vector<int64_t>& box) const {
  int64_t index = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    index = index * dims[axis] + position[axis] / (box[axis] / dims[axis]);
  return static_cast<size_t>(index);
}

double Numbers::At(const std::vector<int64_t>& position, const std::vector<int64_t>& box) const {
  return values[IndexAt(position, box)];
}

const Numbers& GraphTensors::Read(const GraphObject& tensor) {
  const auto known = known_.find(IdOf(tensor));
  if (known != known_.end()) return known->second;
  Numbers numbers(DimsOf(tensor));
  const void* memory = memory_.at(IdOf(tensor));
  const cudnnDataType_t type = TypeOf(tensor);
  ForEachElement(tensor, [&](int64_t index, size_t number) {
    numbers.values[number] = ReadNumber(type, memory, index);
  });
  return known_.emplace(IdOf(tensor), std::move(numbers)).first->second;
}

void GraphTensors::Write(const GraphObject& tensor, Numbers numbers) {
  const cudnnDataType_t type = TypeOf(tensor);
  for (double& number : numbers.values) number = RoundedTo(type, number);
  const auto memory = memory_.find(IdOf(tensor));
  if (memory != memory_.end()) {
    ForEachElement(tensor, [&](int64_t index, size_t number) {
      WriteNumber(type, const_cast<void*>(memory->second), index, numbers.values[number]);
    });
  }
  known_.insert_or_assign(IdOf(tensor), std::move(numbers));
}

std::vector<int64_t> DimsOf(const GraphObject& tensor) {
  return tensor.Ints(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

cudnnDataType_t TypeOf(const GraphObject& tensor) {
  return tensor.Get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
}

size_t WidthOf(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE                              ? 8
         : type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_INT32 ? 4
                                                                : 2;
}

size_t SpanOf(const GraphObject& tensor) {
  int64_t last = 0;
  const std::vector<int64_t> dims = DimsOf(tensor),
                             strides = tensor.Ints(CUDNN_ATTR_TENSOR_STRIDES);
  for (size_t axis = 0; axis < dims.size(); ++axis) last += (dims[axis] - 1) * strides[axis];
  return static_cast<size_t>(last + 1) * WidthOf(TypeOf(tensor));
}

}  // namespace onward::emulated_cuda

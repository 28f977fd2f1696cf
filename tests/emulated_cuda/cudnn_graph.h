// Objects that calls of cuDNN's graph API make, and the interpreter of its operations: a loop for
// each, on doubles, rounded to the types of the tensors.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace onward::emulated_cuda {

// An object of the graph API, with what was set on it.
struct GraphObject {
  using Pointer = std::shared_ptr<GraphObject>;
  struct Attribute {
    cudnnBackendAttributeType_t type;
    int64_t count = 0;
    std::vector<char> bytes;
    std::vector<Pointer> objects;
  };

  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;

  bool Has(cudnnBackendAttributeName_t name) const { return attributes.count(name) != 0; }
  // The value of an attribute that is set.
  template <typename T>
  T Get(cudnnBackendAttributeName_t name) const {
    T value;
    std::memcpy(&value, attributes.at(name).bytes.data(), sizeof(T));
    return value;
  }
  std::vector<int64_t> Ints(cudnnBackendAttributeName_t name) const;
  const GraphObject& Object(cudnnBackendAttributeName_t name) const {
    return *attributes.at(name).objects.front();
  }
};

// A tensor's numbers, contiguous.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<double> values;

  explicit Numbers(std::vector<int64_t> sizes);
  // The number at a position of a larger box: of one element along an axis, it is that one; of
  // fewer heads, each stands for several.
  size_t IndexAt(const std::vector<int64_t>& position, const std::vector<int64_t>& box) const;
  double At(const std::vector<int64_t>& position, const std::vector<int64_t>& box) const;
};

// The tensors of a run: those in memory by their ids, and what is computed.
class GraphTensors {
 public:
  explicit GraphTensors(std::map<int64_t, const void*> memory) : memory_(std::move(memory)) {}
  const Numbers& Read(const GraphObject& tensor);
  // Rounds them to the tensor's type, and writes those of tensors in memory.
  void Write(const GraphObject& tensor, Numbers numbers);

 private:
  std::map<int64_t, const void*> memory_;
  std::map<int64_t, Numbers> known_;
};

// Returns whether the operation's tensors fit each other.
bool OperationFits(const GraphObject& operation);
void RunOperation(const GraphObject& operation, GraphTensors& tensors);

bool IsConvolution(const GraphObject& operation);
bool ConvolutionFits(const GraphObject& operation);
void RunConvolution(const GraphObject& operation, GraphTensors& tensors);

std::vector<int64_t> DimsOf(const GraphObject& tensor);
cudnnDataType_t TypeOf(const GraphObject& tensor);
size_t WidthOf(cudnnDataType_t type);
// The bytes from a tensor's first element to its last.
size_t SpanOf(const GraphObject& tensor);
// Calls f(position) with each position of a box, the last axis fastest.
template <typename F>
void ForEachPosition(const std::vector<int64_t>& box, F&& f) {
  std::vector<int64_t> position(box.size(), 0);
  int64_t count = 1;
  for (const int64_t dim : box) count *= dim;
  for (int64_t i = 0; i < count; ++i) {
    f(position);
    for (size_t axis = box.size(); axis-- > 0;) {
      if (++position[axis] < box[axis]) break;
      position[axis] = 0;
    }
  }
}

}  // namespace onward::emulated_cuda

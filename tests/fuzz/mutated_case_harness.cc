#include <vector>

#include "onward/export.h"
#include "tests/cases/case_model.h"
#include "tests/cases/cases.h"
#include "tests/fuzz/capped_run.h"
#include "tests/fuzz/harnesses.h"
#include "tests/fuzz/random_tensor.h"

namespace onward::fuzz {
namespace {

constexpr int64_t kLargestInput = int64_t{1} << 16;

const std::vector<cases::OpCase>& Cases() {
  static const auto* all = new std::vector<cases::OpCase>(cases::AllCases());
  return *all;
}

void ChangeAttribute(FuzzBytes& bytes, Attribute& attribute) {
  if (auto* i = std::get_if<int64_t>(&attribute)) {
    *i = bytes.Integer();
  } else if (auto* f = std::get_if<float>(&attribute)) {
    *f = bytes.Real();
  } else if (auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) {
    if (bytes.OneIn(4)) ints->resize(bytes.Below(7), 1);
    if (!ints->empty()) (*ints)[bytes.Below(ints->size())] = bytes.Integer();
  } else if (auto* floats = std::get_if<std::vector<float>>(&attribute)) {
    if (bytes.OneIn(4)) floats->resize(bytes.Below(7), 1.0f);
    if (!floats->empty()) (*floats)[bytes.Below(floats->size())] = bytes.Real();
  } else if (auto* strings = std::get_if<std::vector<std::string>>(&attribute)) {
    if (!strings->empty()) strings->erase(strings->begin() + bytes.Below(strings->size()));
  } else if (auto* tensor = std::get_if<Tensor>(&attribute)) {
    *tensor = RandomTensor(bytes, tensor->dtype(), RandomDims(bytes));
  }
}

void ChangeInput(FuzzBytes& bytes, Tensor& input) {
  if (input.empty()) return;
  switch (bytes.Below(8)) {
    case 0: {  // another size along one dim
      Dims dims(input.dims().begin(), input.dims().end());
      if (dims.empty()) break;
      dims[bytes.Below(dims.size())] = bytes.Between(0, 9);
      if (NumElements(dims) <= kLargestInput) input = RandomTensor(bytes, input.dtype(), dims);
      break;
    }
    case 1:
      input = RandomTensor(bytes, input.dtype(), RandomDims(bytes));
      break;
    case 2:
      input = RandomTensor(bytes, RandomDType(bytes), input.dims());
      break;
    case 3:
      input = Tensor();
      break;
    default:
      input = input.Clone();
      ChangeElements(bytes, bytes.Between(1, 6), input);
  }
}

cases::OpCase Mutated(FuzzBytes& bytes) {
  cases::OpCase c = bytes.Pick(Cases());
  const int64_t changes = bytes.Between(1, 4);
  for (int64_t i = 0; i < changes; ++i) {
    if (bytes.OneIn(3) && !c.attributes.map().empty()) {
      auto it = c.attributes.map().begin();
      std::advance(it, bytes.Below(c.attributes.map().size()));
      Attribute changed = it->second;
      ChangeAttribute(bytes, changed);
      c.attributes.Set(it->first, std::move(changed));
    } else if (!c.inputs.empty()) {
      ChangeInput(bytes, c.inputs[bytes.Below(c.inputs.size())]);
    }
  }
  return c;
}

}  // namespace

void RunMutatedCase(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, size);
  const cases::OpCase c = Mutated(bytes);
  const absl::StatusOr<std::string> serialized =
      ExportBytes(cases::CaseModel(c, uint64_t{0x0101010101010101} * bytes.Byte()));
  if (serialized.ok()) CappedImportAndRun(*serialized, bytes);
}

}  // namespace onward::fuzz

#include "executors/device_tensor.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/checked.h"
#include "graph/base/closest_name.h"
#include "onward/status.h"

namespace onward {

absl::StatusOr<Tensor> ToHost(const Tensor& tensor) {
  if (tensor.device().is_host()) return tensor;
  ONWARD_ASSIGN_OR_RETURN(const executors::ExecutionProvider* provider,
                          executors::FindProvider(DeviceName(tensor.device())));
  ONWARD_ASSIGN_OR_RETURN(Tensor host, Tensor::Create(tensor.dtype(), tensor.dims()));
  if (host.byte_size() == 0) return host;
  ONWARD_RETURN_IF_ERROR(provider->Copy(host.raw_mutable_data(), tensor.raw_data(),
                                        host.byte_size(), executors::CopyKind::kToHost, nullptr));
  return host;
}

absl::StatusOr<Tensor> ToDevice(const Tensor& tensor, std::string_view name) {
  ONWARD_ASSIGN_OR_RETURN(const executors::ExecutionProvider* provider,
                          executors::FindProvider(name));
  if (provider->device() == tensor.device()) return tensor;
  ONWARD_ASSIGN_OR_RETURN(const Tensor host, ToHost(tensor));
  if (provider->is_host()) return host;
  ONWARD_ASSIGN_OR_RETURN(Tensor moved, executors::NewTensor(*provider, host.dtype(), host.dims()));
  if (host.byte_size() == 0) return moved;
  ONWARD_RETURN_IF_ERROR(provider->Copy(moved.raw_mutable_data(), host.raw_data(), host.byte_size(),
                                        executors::CopyKind::kToDevice, nullptr));
  // A copy from pageable memory may still be under way, and streams of runs do not wait for it.
  ONWARD_RETURN_IF_ERROR(provider->Synchronize(nullptr));
  return moved;
}

}  // namespace onward

namespace onward::executors {

absl::StatusOr<Tensor> NewTensor(const ExecutionProvider& provider, DType dtype, DimsView dims) {
  if (provider.is_host()) return Tensor::Create(dtype, dims);
  if (dtype == DType::kString)
    return absl::InvalidArgumentError("strings lie on the host, not on a device");
  ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(dtype, dims));
  absl::StatusOr<std::shared_ptr<void>> memory = AllocateOn(provider, bytes);
  if (!memory.ok())
    return Annotate(memory.status(),
                    absl::StrCat("a tensor of shape ", DimsString(dims), " on the device:"));
  void* data = memory->get();
  return Tensor::Wrap(dtype, dims, data, *std::move(memory), provider.device());
}

absl::StatusOr<std::vector<std::string>> DeviceValuesOf(const Graph& graph,
                                                        const std::vector<std::string>& names) {
  std::vector<ValueId> ids = graph.inputs();
  ids.insert(ids.end(), graph.outputs().begin(), graph.outputs().end());
  std::vector<std::string> known, meant;
  std::map<std::string, const Type*> types;
  for (const ValueId id : ids) {
    known.push_back(graph.value(id).name);
    types[known.back()] = &graph.type(id);
  }
  const auto may_lie_there = [](const Type& type) {
    return type.is_tensor() && type.dtype != DType::kString;
  };
  for (const std::string& name : names) {
    if (name == "*") {
      for (const auto& [each, type] : types) {
        if (may_lie_there(*type)) meant.push_back(each);
      }
      continue;
    }
    const auto found = types.find(name);
    if (found == types.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name, "' cannot stay on the device: the model has no such input or output",
          DidYouMean(name, known), " (they are: ", absl::StrJoin(known, ", "), ")"));
    }
    if (!may_lie_there(*found->second)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' cannot stay on the device: it is ", found->second->ToString(),
                       ", and only tensors of numbers can"));
    }
    meant.push_back(name);
  }
  return meant;
}

}  // namespace onward::executors

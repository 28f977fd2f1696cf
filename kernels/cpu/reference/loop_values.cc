#include "kernels/cpu/reference/loop_values.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/elements.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

// Outputs whose size is only promised are not allocated ahead beyond this.
constexpr int64_t kMaxBytesAhead = int64_t{1} << 28;

class HostMemory : public BodyMemory {
 public:
  absl::StatusOr<void*> Allocate(RunContext& context, const Body&, int64_t bytes) const override {
    return context.AllocateTemporary(bytes);
  }
  absl::Status Copy(const RunContext&, const RowsOfBytes& rows) const override {
    return CopyOnHost(rows);
  }
  bool takes_any_address() const override { return true; }
};

const BodyMemory& Host(const Body&, int) {
  static const HostMemory memory;
  return memory;
}

}  // namespace

const BodyMemories& HostMemories() {
  static constexpr BodyMemories memories = {Host, Host};
  return memories;
}

absl::Status CopyOnHost(const RowsOfBytes& rows) {
  for (int64_t i = 0; i < rows.rows && rows.bytes > 0; ++i) {
    std::memcpy(static_cast<char*>(rows.to) + i * rows.to_pitch,
                static_cast<const char*>(rows.from) + i * rows.from_pitch,
                static_cast<size_t>(rows.bytes));
  }
  return absl::OkStatus();
}

absl::Status EmitOutput(RunContext& context, const BodyMemory& memory, int output,
                        const SlotValue& value) {
  if (!context.has_output(output)) return absl::OkStatus();
  if (value.object != nullptr) return context.SetOutput(output, *value.object);
  if (value.tensor.dtype == DType::kUndefined) return context.SetOutput(output, Value());
  ONWARD_ASSIGN_OR_RETURN(const TensorView to,
                          context.AllocateOutput(output, value.tensor.dtype, value.tensor.dims));
  if (value.tensor.dtype != DType::kString)
    return memory.Copy(context, {to.data, value.tensor.data, 1, to.byte_size()});
  CopyElements(value.tensor, to);
  return absl::OkStatus();
}

absl::Status CarriedValue::Advance(RunContext& context, const SlotValue& result) {
  if (result.object != nullptr || result.tensor.dtype == DType::kString) {
    Value& to = objects_[object_ ^= 1];
    to = result.object != nullptr ? *result.object : Value(CopyOf(result.tensor));
    current_.tensor = to.is_tensor() ? to.tensor().view() : TensorView();
    current_.object = result.object != nullptr ? &to : nullptr;
    current_.present = true;
    return absl::OkStatus();
  }
  Dims& dims = dims_[dims_at_ ^= 1];
  dims.assign(result.tensor.dims.begin(), result.tensor.dims.end());
  void* data = result.tensor.data;
  if (data != current_.tensor.data) {
    const int next = buffer_ ^ 1;
    const int64_t bytes = result.tensor.byte_size();
    if (bytes > capacities_[next]) {
      const int64_t capacity = capacities_[next] == 0 ? bytes : 2 * bytes;
      ONWARD_ASSIGN_OR_RETURN(buffers_[next], memory_->Allocate(context, *body_, capacity));
      capacities_[next] = capacity;
    }
    ONWARD_RETURN_IF_ERROR(memory_->Copy(context, {buffers_[next], data, 1, bytes}));
    data = buffers_[next];
    buffer_ = next;
  }
  current_ = {{result.tensor.dtype, result.tensor.device, data, dims}, nullptr, true};
  return absl::OkStatus();
}

absl::Status StackedOutput::Begin(RunContext& context, const TensorView& element) {
  dtype_ = element.dtype;
  dims_.assign(element.dims.begin(), element.dims.end());
  elements_ = element.num_elements();
  ONWARD_ASSIGN_OR_RETURN(axis_.axis,
                          NormalizeAxis(axis_.axis, static_cast<int64_t>(dims_.size()) + 1));
  if (dtype_ == DType::kString) return absl::OkStatus();
  stride_ = IsSubByte(dtype_) ? elements_ : element.byte_size();
  const std::optional<int64_t> bytes = CheckedMul(expected_, stride_);
  if (expected_ <= 0 || !bytes || *bytes > kMaxBytesAhead) return absl::OkStatus();
  capacity_ = expected_;
  if (IsSubByte(dtype_)) {
    ONWARD_ASSIGN_OR_RETURN(void* data, memory_->Allocate(context, *body_, *bytes));
    data_ = static_cast<char*>(data);
    return absl::OkStatus();
  }
  Dims all = dims_;
  all.insert(all.begin() + axis_.axis, expected_);
  ONWARD_ASSIGN_OR_RETURN(const TensorView view, context.AllocateOutput(output_, dtype_, all));
  data_ = view.as<char>();
  in_place_ = true;
  return absl::OkStatus();
}

absl::Status StackedOutput::Grow(RunContext& context) {
  const int64_t capacity = std::max<int64_t>(16, 2 * capacity_);
  const std::optional<int64_t> bytes = CheckedMul(capacity, stride_);
  if (!bytes) return absl::ResourceExhaustedError("the stacked outputs have too many elements");
  ONWARD_ASSIGN_OR_RETURN(void* data, memory_->Allocate(context, *body_, *bytes));
  ONWARD_RETURN_IF_ERROR(memory_->Copy(context, {data, data_, 1, count_ * stride_}));
  data_ = static_cast<char*>(data);
  capacity_ = capacity;
  in_place_ = false;
  return absl::OkStatus();
}

absl::Status StackedOutput::Put(RunContext& context, const void* from, char* to, int64_t at,
                                int64_t iterations) const {
  if (stride_ == 0) return absl::OkStatus();
  const int64_t outer = NumElements(dims_, 0, axis_.axis), bytes = stride_ / outer;
  const int64_t place = axis_.reversed ? iterations - 1 - at : at;
  return memory_->Copy(context,
                       {to + place * bytes, from, outer, bytes, iterations * bytes, bytes});
}

absl::Status StackedOutput::Append(RunContext& context, const SlotValue& slot) {
  if (!context.has_output(output_)) return absl::OkStatus();
  const TensorView& element = slot.tensor;
  if (slot.object != nullptr || element.dtype == DType::kUndefined)
    return absl::InvalidArgumentError(absl::StrCat("output ", output_, " can stack only tensors"));
  if (count_ == 0) ONWARD_RETURN_IF_ERROR(Begin(context, element));
  if (element.dims != DimsView(dims_)) {
    return absl::InvalidArgumentError(absl::StrCat("output ", output_, ": iteration ", count_,
                                                   " gives shape ", DimsString(element.dims),
                                                   ", the first gave ", DimsString(dims_)));
  }
  if (dtype_ == DType::kString) {
    const auto span = element.span<std::string>();
    strings_.insert(strings_.end(), span.begin(), span.end());
  } else {
    if (count_ == capacity_) ONWARD_RETURN_IF_ERROR(Grow(context));
    char* to = data_ + count_ * stride_;
    if (IsSubByte(dtype_)) {
      UnpackSubByte(dtype_, element.data, elements_, reinterpret_cast<int8_t*>(to));
    } else if (in_place_) {
      ONWARD_RETURN_IF_ERROR(Put(context, element.data, data_, count_, expected_));
    } else {
      ONWARD_RETURN_IF_ERROR(memory_->Copy(context, {to, element.data, 1, stride_}));
    }
  }
  ++count_;
  return absl::OkStatus();
}

absl::Status StackedOutput::Finish(RunContext& context, const Type& type) {
  if (!context.has_output(output_)) return absl::OkStatus();
  if (count_ == 0) {
    dtype_ = type.dtype;
    if (type.shape) {
      for (const Dim& dim : *type.shape) dims_.push_back(dim.known() ? dim.value() : 0);
    }
    elements_ = NumElements(dims_);
    ONWARD_ASSIGN_OR_RETURN(axis_.axis,
                            NormalizeAxis(axis_.axis, static_cast<int64_t>(dims_.size()) + 1));
  }
  if (in_place_ && count_ == expected_) return absl::OkStatus();
  if (in_place_) {
    // The output is given out anew below. Only loops end early, whose axis is the first.
    capacity_ = count_ / 2;
    ONWARD_RETURN_IF_ERROR(Grow(context));
  }
  return CopyOut(context);
}

absl::Status StackedOutput::CopyOut(RunContext& context) {
  Dims all = dims_;
  all.insert(all.begin() + axis_.axis, count_);
  ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(output_, dtype_, all));
  const bool packed = IsSubByte(dtype_);
  const int64_t total = count_ * elements_;
  if (total == 0) return absl::OkStatus();
  if (dtype_ == DType::kString) {
    const int64_t outer = NumElements(dims_, 0, axis_.axis), inner = elements_ / outer;
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t at = axis_.reversed ? count_ - 1 - i : i;
      for (int64_t o = 0; o < outer; ++o) {
        CopyRun(strings_.data() + at * elements_ + o * inner, inner,
                out.as<std::string>() + (o * count_ + i) * inner);
      }
    }
    return absl::OkStatus();
  }
  void* to = out.data;
  if (packed) {
    ONWARD_ASSIGN_OR_RETURN(to, memory_->Allocate(context, *body_, total));
  }
  if (axis_.axis == 0 && !axis_.reversed) {
    ONWARD_RETURN_IF_ERROR(memory_->Copy(context, {to, data_, 1, count_ * stride_}));
  } else {
    for (int64_t i = 0; i < count_; ++i)
      ONWARD_RETURN_IF_ERROR(Put(context, data_ + i * stride_, static_cast<char*>(to), i, count_));
  }
  if (packed) PackSubByte(dtype_, static_cast<const int8_t*>(to), total, out.data);
  return absl::OkStatus();
}

}  // namespace onward::kernels::cpu

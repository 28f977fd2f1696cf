#include "training/rewrite/accumulation.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/rewrite/state.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

Tensor Zeros(DType dtype, DimsView dims) {
  Tensor zeros(dtype, dims);
  std::memset(zeros.raw_mutable_data(), 0, static_cast<size_t>(zeros.byte_size()));
  return zeros;
}

// 1 where no target counts yet: such a batch has no gradient.
Expr OrOne(const Expr& reference) {
  return Where(Greater(reference, ScalarLike(reference, 0)), reference, ScalarLike(reference, 1));
}

}  // namespace

Expr AccumulateCount(Model& model, GraphSink& sink, const Expr& count, int64_t batches) {
  if (!count.valid()) return sink.Scalar(1, DType::kFloat32);
  const ValueId total_state = AddState(model.graph, kAccumulatedCount, Tensor::Scalar(0.0));
  const ValueId reference_state = AddState(model.graph, kAccumulatedReference, Tensor::Scalar(0.0));
  const Expr total = sink.Value(total_state);
  const Expr reference =
      Where(Greater(total, ScalarLike(total, 0)), sink.Value(reference_state), count);
  const Expr share = Reciprocal(OrOne(reference) * static_cast<double>(batches));
  const Expr next = total + count;
  if (!sink.status().ok()) return {};
  AddUpdate(model, total_state, next.id());
  AddUpdate(model, reference_state, reference.id());
  return Cast(share, DType::kFloat32);
}

absl::Status AccumulateGradients(Model& model, const std::vector<std::string>& names,
                                 const std::vector<ValueId>& gradients) {
  GraphSink sink(model.graph, "accumulate/");
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Type& type = model.graph.type(gradients[i]);
    const ValueId sum = AddState(model.graph, kGradientSumPrefix + names[i],
                                 Zeros(type.dtype, *type.static_dims()));
    const Expr next = sink.Value(sum) + sink.Value(gradients[i]);
    ONWARD_RETURN_IF_ERROR(sink.status());
    AddUpdate(model, sum, next.id());
  }
  return absl::OkStatus();
}

absl::StatusOr<AccumulatedGradients> ReadAccumulated(Model& model, const std::vector<Tensor>& like,
                                                     const std::vector<std::string>& names,
                                                     bool counted, int64_t batches) {
  GraphSink sink(model.graph, "accumulate/");
  AccumulatedGradients read;
  Expr factor;
  if (counted) {
    read.sums = {AddState(model.graph, kAccumulatedCount, Tensor::Scalar(0.0)),
                 AddState(model.graph, kAccumulatedReference, Tensor::Scalar(0.0))};
    const Expr reference = OrOne(sink.Value(read.sums[1]));
    factor =
        Cast(reference * static_cast<double>(batches) / sink.Value(read.sums[0]), DType::kFloat32);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const ValueId sum = AddState(model.graph, kGradientSumPrefix + names[i],
                                 Zeros(like[i].dtype(), like[i].dims()));
    read.sums.push_back(sum);
    Expr gradient = sink.Value(sum);
    if (counted) gradient = gradient * Cast(factor, gradient.dtype());
    ONWARD_RETURN_IF_ERROR(sink.status());
    read.gradients.push_back(gradient.id());
  }
  return read;
}

absl::Status ClearSums(Model& model, const std::vector<ValueId>& sums) {
  GraphSink sink(model.graph, "clear/");
  for (const ValueId sum : sums) {
    const Expr zero = ZerosLike(sink.Value(sum));
    ONWARD_RETURN_IF_ERROR(sink.status());
    AddUpdate(model, sum, zero.id());
  }
  return absl::OkStatus();
}

bool IsAccumulated(std::string_view state) {
  return state.starts_with(kGradientSumPrefix) || state == kAccumulatedCount ||
         state == kAccumulatedReference;
}

}  // namespace onward::training

// The filters of a float32 convolution, packed in the order in which its products read them.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/cpu/conv_plan.h"
#include "onward/kernel.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// Filters w [groups * filters, k...] in the order in which `form` reads them.
absl::StatusOr<Tensor> PackFloatFilters(const GemmTileKernels& tiles, ConvForm form,
                                        const Tensor& w, int64_t groups);
// The filters of these dims that PackFloatFilters packed.
absl::StatusOr<Tensor> UnpackFloatFilters(const GemmTileKernels& tiles, ConvForm form,
                                          const Tensor& packed, DimsView dims, int64_t groups);

// The constant filters of a convolution (input 1, [filters, k] of each group) in the order in which
// `form` reads them; the constant's memory can then be given back. Empty where they are not
// constant or do not fit the groups.
absl::StatusOr<Tensor> PackConstantFilters(const NodeSpec& spec, const GemmTileKernels& tiles,
                                           ConvForm form, int64_t groups);

// Narrows kernels and padding of `geometry` to the taps that meet the input, and returns the
// filters of `packed` for them, which live as long as the binding; null where all taps meet it or
// `packed` is empty.
const float* LeaveDeadTapsOut(BindContext& context, const GemmTileKernels& tiles, ConvForm form,
                              const Tensor& packed, ConvGeometry& geometry);

}  // namespace onward::kernels::cpu

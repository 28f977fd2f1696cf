// The ways to compute a float32 convolution over one or two axes, and kernels of them.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/activation_spec.h"
#include "kernels/cpu/conv_plan.h"
#include "onward/kernel.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// A way with its packed filters. Immutable; inputs are X, W, bias and residual.
class ConvAlgorithm {
 public:
  virtual ~ConvAlgorithm() = default;
  // Returns what Run needs for images of this size, which the binding keeps, and sets its scratch.
  virtual const void* Bind(BindContext& context, const ConvGeometry& geometry) const = 0;
  virtual void Run(RunContext& context, const void* state) const = 0;
};
using ConvAlgorithmOr = absl::StatusOr<std::unique_ptr<ConvAlgorithm>>;

// Products of filters and patches (conv.cc). `packed`: by PackFloatFilters for `form`, or empty for
// filters that are read as they are, which is of ConvForm::kPixelLanes.
std::unique_ptr<ConvAlgorithm> ConvProducts(const GemmTileKernels& tiles, ActivationSpec activation,
                                            ConvForm form, Tensor packed);

// Winograd's minimal filtering (winograd_conv.cc) in tiles of m x m outputs; w [filters, channels,
// 3, 3]. Computes convolutions that WinogradSizesOf (winograd_plan.h) takes.
ConvAlgorithmOr WinogradProducts(const GemmTileKernels& tiles, ActivationSpec activation, int64_t m,
                                 const Tensor& w);
// The filters of a run.
enum class FilterOrder : uint8_t {
  kConv,           // [filters, channels, 3, 3]
  kConvTranspose,  // [channels, filters, 3, 3], with their taps reversed
};
// The same with filters that are input W of each run, which transforms them.
std::unique_ptr<ConvAlgorithm> WinogradProducts(const GemmTileKernels& tiles,
                                                ActivationSpec activation, int64_t m,
                                                FilterOrder order);
// Returns whether a convolution of filters with these dims, of any padding, has Winograd's form.
bool FitsWinograd(const ConvAttributes& attributes, DimsView filters);
// The same of what its attributes say; strides and dilations that are not there are 1.
bool FitsWinograd(DimsView kernel, const Dims& strides, const Dims& dilations, int64_t group);

// Products of each tap with the outputs that it reaches (dilated_conv.cc); w [filters, channels,
// taps...].
ConvAlgorithmOr DilatedProducts(const GemmTileKernels& tiles, ActivationSpec activation,
                                const Tensor& w);
// Returns whether DilatedProducts computes the convolution in less time than other ways.
bool PrefersDilated(const GemmTileKernels& tiles, const ConvGeometry& geometry);

// Products of filters along the vectors and single pixels (direct_conv.cc); `packed`: by
// PackFloatFilters for ConvForm::kChannelLanes.
std::unique_ptr<ConvAlgorithm> DirectProducts(const GemmTileKernels& tiles,
                                              ActivationSpec activation, Tensor packed);
// Returns whether DirectProducts computes the convolution, and in less time than ConvProducts.
bool PrefersDirect(const GemmTileKernels& tiles, const ConvGeometry& geometry);

// Products of rows of pixels along the vectors and few filters (few_filters_conv.cc); w [filters,
// channels of a group, taps...].
std::unique_ptr<ConvAlgorithm> FewFilterProducts(const GemmTileKernels& tiles,
                                                 ActivationSpec activation, Tensor w);
// Returns whether FewFilterProducts computes the convolution in less time than other ways.
bool PrefersFewFilters(const GemmTileKernels& tiles, const ConvGeometry& geometry);

// A kernel that computes convolutions of any size in one way.
std::unique_ptr<Kernel> ConvKernel(ConvAttributes attributes,
                                   std::unique_ptr<ConvAlgorithm> algorithm);
// The same of ConvTranspose with strides of 1; `algorithm` reverses the taps.
std::unique_ptr<Kernel> ConvKernel(ConvTransposeAttributes attributes,
                                   std::unique_ptr<ConvAlgorithm> algorithm);

}  // namespace onward::kernels::cpu

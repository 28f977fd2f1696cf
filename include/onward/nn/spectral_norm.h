// Weights divided by their largest singular value.
#pragma once

#include "onward/nn/module.h"

namespace onward::nn {

struct SpectralNormOptions {
  int64_t power_iterations = 1;  // of a training step
  double eps = 1e-12;
  int64_t axis = 0;  // the rows of the matrix that the weight is taken for; 1 of ConvTranspose
};

// Replaces a parameter `weight` of `module`, of rank 2 or more, by weight / sigma, where the
// vectors u and v for which sigma is u' W v follow W by power iterations while the model trains
// (torch.nn.utils.parametrizations.spectral_norm, by its names). Before the module is called.
void SpectralNorm(Module& module, Expr& weight, const SpectralNormOptions& options = {});

// In the metadata of the product u' W: "<power_iterations> <eps>".
inline constexpr char kSpectralNormKey[] = "onward.spectral_norm";

}  // namespace onward::nn

// Weights by length and direction.
#pragma once

#include "onward/nn/module.h"

namespace onward::nn {

// Replaces a parameter `weight` of `module`, such as linear.weight, by g v / |v|, with a length g
// for each index of `axis` (torch.nn.utils.parametrizations.weight_norm, by its names: g is
// "parametrizations.weight.original0", v "...original1"). The weight stays what it is. Before the
// module is called.
void WeightNorm(Module& module, Expr& weight, int64_t axis = 0);

}  // namespace onward::nn

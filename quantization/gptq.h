// Rounding of a matrix so that errors make up for each other on known inputs: GPTQ (Frantar,
// Ashkboos, Hoefler, Alistarh: "GPTQ: Accurate Post-Training Quantization for Generative
// Pre-trained Transformers", 2022).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "quantization/input_products.h"

namespace onward::quantization {

// Rounds row `row` of a matrix to `rounded`. `rest` are the rows from this one on, which a rounding
// by blocks may look at.
using RoundRow =
    std::function<void(int64_t row, absl::Span<const float> rest, absl::Span<float> rounded)>;

// Calls `round` for the rows of `matrix` (rows x columns) in order. What a row loses is taken from
// the rows after it, by the products of what is multiplied with it: the fewer samples they are of,
// the less is believed of what goes together in them. `block`: rows that `round` looks at together.
// False: the products say nothing, and nothing is done.
bool RoundCompensated(std::vector<float>& matrix, int64_t columns, int64_t block,
                      const InputProducts& products, const RoundRow& round);

}  // namespace onward::quantization

// The families of gradient rules: one table each. Included by rules.cc alone.
#pragma once

#include "absl/types/span.h"
#include "training/gradient/gradient_entry.h"

namespace onward::gradient {

using GradientList = absl::Span<const training::GradientEntry>;

GradientList ActivationGradients();
GradientList AllReduceGradients();
GradientList AttentionGradients();
GradientList BatchNormalizationGradients();
GradientList BinaryGradients();
GradientList Col2ImGradients();
GradientList ConstantGradients();
GradientList ControlFlowGradients();
GradientList ConvGradients();
GradientList CumulativeGradients();
GradientList DeformConvGradients();
GradientList DetGradients();
GradientList DropoutGradients();
GradientList EinsumGradients();
GradientList GatherScatterGradients();
GradientList GridSampleGradients();
GradientList LayoutGradients();
GradientList LossGradients();
GradientList MatMulGradients();
GradientList NormalizationGradients();
GradientList PoolGradients();
GradientList QuantizeGradients();
GradientList RecurrentGradients();
GradientList ReduceGradients();
GradientList ResizeGradients();
GradientList RoiGradients();
GradientList SequenceGradients();
GradientList SignalGradients();
GradientList SoftmaxGradients();
GradientList StopGradientGradients();
GradientList UnaryGradients();

}  // namespace onward::gradient

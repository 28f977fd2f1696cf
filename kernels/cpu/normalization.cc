// LayerNormalization, RMSNormalization and their forms after a sum, in float32 on the vectors of
// one instruction set; InstanceNormalization and GroupNormalization likewise.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/bind/group_normalization.h"
#include "kernels/bind/layer_normalization.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/row_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements: about 5 us

// Inputs X, scale, bias; with `adds`: X, Z, scale, bias. Outputs Y, mean, inverse deviation; with
// `adds`: Y, sum.
struct LayerForm {
  int64_t axis;
  float epsilon;
  bool centered;
  bool adds;

  int scale() const { return adds ? 2 : 1; }
};

class LayerNormalization : public Kernel {
 public:
  LayerNormalization(const RowLoops& loops, const LayerForm& form) : loops_(loops), form_(form) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(*context.NewState<LayerRows>(), BindLayerRows(context, form_.axis));
    const DimsView normalised = NormalisedDims(dims, form_.axis);
    for (int i = form_.scale(); i < form_.scale() + 2; ++i) {
      if (context.has_input(i) && context.input_dims(i) != normalised) {
        return absl::InvalidArgumentError(
            absl::StrCat(i == form_.scale() ? "scale" : "bias", " has shape ",
                         DimsString(context.input_dims(i)), ", expected ", DimsString(normalised)));
      }
    }
    if (form_.adds && context.input_dims(1) != dims) {
      return absl::InvalidArgumentError(absl::StrCat("X ", DimsString(dims), " and Z ",
                                                     DimsString(context.input_dims(1)),
                                                     " differ in shape"));
    }
    if (!form_.adds) {
      BindLayerStatistics(context, form_.axis);
    } else if (context.has_output(1)) {
      context.SetOutput(1, dims);
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const LayerRows& rows = context.state<LayerRows>();
    const int bias = form_.scale() + 1;
    NormalizedRow all;
    all.x = context.in<float>(0);
    all.count = rows.columns;
    all.epsilon = form_.epsilon;
    all.centered = form_.centered;
    all.scale = context.in<float>(form_.scale());
    if (context.has_input(bias)) all.bias = context.in<float>(bias);
    all.y = context.out<float>(0);
    if (form_.adds) {
      all.z = context.in<float>(1);
      all.sum = context.has_output(1) ? context.out<float>(1) : all.y;
    }
    float* mean = !form_.adds && context.has_output(1) ? context.out<float>(1) : nullptr;
    float* inverse = !form_.adds && context.has_output(2) ? context.out<float>(2) : nullptr;
    context.ParallelFor(rows.rows,
                        std::max<int64_t>(1, kGrain / std::max<int64_t>(1, rows.columns)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) RunRow(all, i, mean, inverse);
                        });
    return absl::OkStatus();
  }

 private:
  void RunRow(const NormalizedRow& all, int64_t index, float* mean, float* inverse) const {
    const int64_t at = index * all.count;
    NormalizedRow row = all;
    row.x += at;
    row.y += at;
    if (row.z != nullptr) row.z += at, row.sum += at;
    float row_mean = 0, row_inverse = 0;
    loops_.normalize(row, &row_mean, &row_inverse);
    if (mean != nullptr) mean[index] = row_mean;
    if (inverse != nullptr) inverse[index] = row_inverse;
  }

  const RowLoops& loops_;
  LayerForm form_;
};

// Whether the operand is known to have one element per normalised one: no broadcasting.
bool CoversNormalised(const NodeSpec& spec, int input, int64_t axis) {
  const std::optional<Dims> dims = spec.input_type(input).static_dims();
  const auto& x = spec.input_type(0).shape;
  if (!dims) return false;
  if (x.has_value()) {
    const auto rank = static_cast<int64_t>(x->size());
    if (axis < 0) axis += rank;
    if (axis < 0 || rank - axis != static_cast<int64_t>(dims->size())) return false;
    for (size_t i = 0; i < dims->size(); ++i) {
      const Dim& dim = (*x)[x->size() - dims->size() + i];
      if ((*dims)[i] == 1 && !(dim.known() && dim.value() == 1)) return false;
      if (dim.known() && dim.value() != (*dims)[i]) return false;
    }
    return true;
  }
  return axis == -static_cast<int64_t>(dims->size()) &&
         std::none_of(dims->begin(), dims->end(), [](int64_t dim) { return dim == 1; });
}

template <bool kCentered, bool kAdds>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLayer(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const LayerForm form = {spec.attributes().Int("axis", -1),
                          spec.attributes().Float("epsilon", 1e-5f), kCentered, kAdds};
  for (int i = form.scale(); i < form.scale() + 2; ++i) {
    if (spec.has_input(i) && !CoversNormalised(spec, i, form.axis))
      return absl::UnimplementedError("scale and bias must have the shape of the normalised axes");
  }
  return std::make_unique<LayerNormalization>(kRowsPerTarget.For(TargetOf(spec))(), form);
}

class GroupNormalization : public Kernel {
 public:
  GroupNormalization(const RowLoops& loops, GroupAttributes attributes, SeveralValues several)
      : loops_(loops), attributes_(attributes), several_(several) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const GroupSizes sizes,
                            BindGroupNormalization(context, attributes_, several_));
    *context.NewState<GroupSizes>() = sizes;
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const GroupSizes& sizes = context.state<GroupSizes>();
    const int64_t run = sizes.run();
    if (run == 0) return absl::OkStatus();
    const float* x = context.in<float>(0);
    const float* scale = context.in<float>(1);
    const float* bias = context.in<float>(2);
    float* y = context.out<float>(0);
    context.ParallelFor(
        sizes.runs, std::max<int64_t>(1, kGrain / run), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            float mean = 0, variance = 0;
            loops_.moments(x + i * run, run, &mean, &variance);
            const float inverse = 1.0f / std::sqrt(variance + attributes_.epsilon);
            const int64_t first = i % sizes.groups * sizes.channels_per_group;
            for (int64_t c = 0; c < sizes.channels_per_group; ++c) {
              const float factor = inverse * scale[first + c];
              const int64_t at = i * run + c * sizes.spatial;
              loops_.affine(x + at, sizes.spatial, factor, bias[first + c] - mean * factor, y + at);
            }
          }
        });
    return absl::OkStatus();
  }

 private:
  const RowLoops& loops_;
  GroupAttributes attributes_;
  SeveralValues several_;
};

template <bool kPerChannel>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGroup(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(const GroupAttributes attributes, ParseGroups(spec, kPerChannel));
  return std::make_unique<GroupNormalization>(kRowsPerTarget.For(TargetOf(spec))(), attributes,
                                              SeveralValues(spec));
}

template <bool kCentered, bool kAdds>
constexpr KernelEntry LayerRow(std::string_view domain, std::string_view op,
                               std::string_view name) {
  return {domain, op, name, MakeLayer<kCentered, kAdds>, kVectorTargets};
}
template <bool kPerChannel>
constexpr KernelEntry GroupRow(std::string_view op, std::string_view name) {
  return {"", op, name, MakeGroup<kPerChannel>, kVectorTargets};
}

constexpr KernelEntry kKernels[] = {
    LayerRow<true, false>("", "LayerNormalization", "layer_normalization"),
    LayerRow<false, false>("", "RMSNormalization", "rms_normalization"),
    LayerRow<true, true>("onward", "AddLayerNormalization", "add_layer_normalization"),
    LayerRow<false, true>("onward", "AddRMSNormalization", "add_rms_normalization"),
    GroupRow<false>("GroupNormalization", "group_normalization"),
    GroupRow<true>("InstanceNormalization", "instance_normalization"),
};

}  // namespace

KernelList NormalizationKernels() { return kKernels; }

}  // namespace onward::kernels::cpu

// Pad.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/mapped_copy.h"
#include "kernels/cpu/packed.h"
#include "onward/memory_limit.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

// Position in [0, size) that position `at` of the padded axis reads.
int64_t Source(Mode mode, int64_t at, int64_t size) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
    case Mode::kConstant:
      return -1;
    case Mode::kEdge:
      return std::clamp<int64_t>(at, 0, size - 1);
    case Mode::kWrap:
      return (at % size + size) % size;
    case Mode::kReflect: {
      if (size == 1) return 0;
      const int64_t period = 2 * (size - 1);
      const int64_t phase = (at % period + period) % period;
      return phase < size ? phase : period - phase;
    }
  }
  return -1;
}

class Pad : public Kernel {
 public:
  explicit Pad(Mode mode) : mode_(mode) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    Dims before(dims.size(), 0), after(dims.size(), 0);
    const TensorView* pads = context.input_value(1);
    const TensorView* axes = context.has_input(3) ? context.input_value(3) : nullptr;
    if (pads == nullptr || (context.has_input(3) && axes == nullptr)) return context.Defer();
    if (context.has_input(2) && NumElements(context.input_dims(2)) != 1)
      return absl::InvalidArgumentError("constant_value must have one element");
    ONWARD_RETURN_IF_ERROR(ReadPads(*pads, axes, before, after));
    Dims out(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      ONWARD_ASSIGN_OR_RETURN(out[i], PaddedDim(dims[i], before[i], after[i], i));
    }
    ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(context.input_dtype(0), out));
    ONWARD_RETURN_IF_ERROR(CheckMemory(bytes));
    context.SetOutput(0, out);
    *context.NewState<MappedCopy>() = Derive(context, dims, out, before, after);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T value = context.has_input(2) ? *context.in<T>(2) : T();
      RunMappedCopy(context, context.state<MappedCopy>(), context.in<T>(0), value,
                    context.out<T>(0));
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status ReadPads(const TensorView& pads, const TensorView* axes, Dims& before,
                               Dims& after) {
    const auto rank = static_cast<int64_t>(before.size());
    const int64_t count = axes == nullptr ? rank : axes->num_elements();
    if (pads.num_elements() != 2 * count) {
      return absl::InvalidArgumentError(
          absl::StrCat("pads has ", pads.num_elements(), " elements for ", count, " axes"));
    }
    for (int64_t i = 0; i < count; ++i) {
      int64_t axis = i;
      if (axes != nullptr) {
        ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(IndexAt(*axes, i), rank));
      }
      before[static_cast<size_t>(axis)] = pads.as<int64_t>()[i];
      after[static_cast<size_t>(axis)] = pads.as<int64_t>()[count + i];
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> PaddedDim(int64_t dim, int64_t before, int64_t after, size_t axis) const {
    const std::optional<int64_t> first = CheckedAdd(dim, before);
    const std::optional<int64_t> sum = first ? CheckedAdd(*first, after) : std::nullopt;
    if (!sum || *sum < 0) {
      return absl::InvalidArgumentError(absl::StrCat("pads ", before, " and ", after, " of axis ",
                                                     axis, " do not fit its size ", dim));
    }
    const int64_t kept = dim + std::min<int64_t>(0, before) + std::min<int64_t>(0, after);
    if (mode_ != Mode::kConstant && kept <= 0 && *sum > 0)
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " has nothing to repeat"));
    return *sum;
  }

  MappedCopy Derive(BindContext& context, DimsView dims, const Dims& out, const Dims& before,
                    const Dims& after) const {
    MappedCopy copy;
    copy.rank = static_cast<int64_t>(dims.size());
    while (copy.rank > 0 && before[static_cast<size_t>(copy.rank - 1)] == 0 &&
           after[static_cast<size_t>(copy.rank - 1)] == 0) {
      copy.block *= dims[static_cast<size_t>(--copy.rank)];
    }
    copy.rows = copy.rank == 0 ? 1 : NumElements(out, 0, copy.rank - 1);
    if (NumElements(out) == 0) copy.rows = 0;
    const Dims strides = Strides(dims);
    copy.in_strides = context.Keep<int64_t>(strides).data();
    copy.out_dims = context.Keep<int64_t>(out).data();
    if (copy.rank == 0 || copy.rows == 0) return copy;
    auto** sources = context.NewArray<const int64_t*>(copy.rank);
    for (int64_t i = 0; i < copy.rank; ++i) {
      const auto a = static_cast<size_t>(i);
      // Negative pads cut first; what is left is padded.
      const int64_t cut = std::max<int64_t>(0, -before[a]);
      const int64_t kept = std::max<int64_t>(0, dims[a] - cut - std::max<int64_t>(0, -after[a]));
      const int64_t shift = std::max<int64_t>(0, before[a]);
      auto* source = context.NewArray<int64_t>(out[a]);
      for (int64_t o = 0; o < out[a]; ++o) {
        const int64_t at = Source(mode_, o - shift, kept);
        source[o] = at < 0 ? -1 : at + cut;
      }
      sources[i] = source;
      copy.run_begin = std::min(shift, out[a]);
      copy.run = std::min(kept, out[a] - copy.run_begin);
    }
    copy.sources = sources;
    return copy;
  }

  Mode mode_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakePad(const NodeSpec& spec) {
  const std::string name = spec.attributes().String("mode", "constant");
  constexpr std::pair<std::string_view, Mode> kModes[] = {{"constant", Mode::kConstant},
                                                          {"reflect", Mode::kReflect},
                                                          {"edge", Mode::kEdge},
                                                          {"wrap", Mode::kWrap}};
  for (const auto& [mode_name, mode] : kModes) {
    if (name == mode_name) return UnpackedWhereNeeded(spec, std::make_unique<Pad>(mode));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("mode is '", name, "', not constant, reflect, edge or wrap"));
}

constexpr KernelEntry kKernels[] = {
    {"", "Pad", "pad_reference", MakePad},
};

}  // namespace

KernelList ReferencePad() { return kKernels; }

}  // namespace onward::kernels::cpu

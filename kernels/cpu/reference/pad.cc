// Pad.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/base/shape.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/packed.h"

namespace onward::cpu {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

// The output is rows of blocks: the last padded axis counts blocks, the axes after it are one
// block. sources[i][o] is the position along axis i that output position o reads, or -1.
struct State {
  int64_t rank = 0;  // axes up to the last padded one
  const int64_t* in_strides = nullptr;
  const int64_t* out_dims = nullptr;
  const int64_t* const* sources = nullptr;
  int64_t block = 1;               // elements
  int64_t rows = 0;                // over all axes but the last padded one
  int64_t run_begin = 0, run = 0;  // blocks of a row that follow each other in the input too
};

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
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
    context.SetOutput(0, out);
    *context.NewState<State>() = Derive(context, dims, out, before, after);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T value = context.has_input(2) ? *context.in<T>(2) : T();
      const auto& state = context.state<State>();
      const int64_t row = state.rank == 0 ? 1 : state.out_dims[state.rank - 1];
      context.ParallelFor(state.rows,
                          std::max<int64_t>(1, CopyGrain<T>() / (row * state.block + 1)),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t r = begin; r < end; ++r)
                              FillRow(state, r, value, context.in<T>(0), context.out<T>(0));
                          });
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

  State Derive(BindContext& context, DimsView dims, const Dims& out, const Dims& before,
               const Dims& after) const {
    State state;
    state.rank = static_cast<int64_t>(dims.size());
    while (state.rank > 0 && before[static_cast<size_t>(state.rank - 1)] == 0 &&
           after[static_cast<size_t>(state.rank - 1)] == 0) {
      state.block *= dims[static_cast<size_t>(--state.rank)];
    }
    state.rows = state.rank == 0 ? 1 : NumElements(out, 0, state.rank - 1);
    if (NumElements(out) == 0) state.rows = 0;
    const Dims strides = Strides(dims);
    state.in_strides = context.Keep<int64_t>(strides).data();
    state.out_dims = context.Keep<int64_t>(out).data();
    if (state.rank == 0 || state.rows == 0) return state;
    auto** sources = context.NewArray<const int64_t*>(state.rank);
    for (int64_t i = 0; i < state.rank; ++i) {
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
      state.run_begin = std::min(shift, out[a]);
      state.run = std::min(kept, out[a] - state.run_begin);
    }
    state.sources = sources;
    return state;
  }

  template <typename T>
  static void FillRow(const State& state, int64_t row, const T& value, const T* in, T* out) {
    if (state.rank == 0) return CopyRun(in, state.block, out);
    const int64_t last = state.rank - 1, count = state.out_dims[last], block = state.block;
    out += row * count * block;
    int64_t base = 0, rest = row;
    for (int64_t i = last; i-- > 0; rest /= state.out_dims[i]) {
      const int64_t source = state.sources[i][rest % state.out_dims[i]];
      if (source < 0) return static_cast<void>(std::fill_n(out, count * block, value));
      base += source * state.in_strides[i];
    }
    in += base;
    const auto fill = [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int64_t source = state.sources[last][o];
        if (source < 0) {
          std::fill_n(out + o * block, block, value);
        } else {
          CopyRun(in + source * block, block, out + o * block);
        }
      }
    };
    fill(0, state.run_begin);
    if (state.run > 0) {
      CopyRun(in + state.sources[last][state.run_begin] * block, state.run * block,
              out + state.run_begin * block);
    }
    fill(state.run_begin + state.run, count);
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

}  // namespace onward::cpu

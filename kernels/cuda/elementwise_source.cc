#include "kernels/cuda/elementwise_source.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/fused/elementwise_steps.h"
#include "kernels/cuda/elementwise_arguments.h"
#include "kernels/cuda/elementwise_steps.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr size_t kMostNamed = 6;  // ops in the name of a kernel

// Texts of one group, put together from the outside in.
class Writer {
 public:
  Writer(const NodeSpec& spec, std::vector<fused::ElementwiseStep> steps)
      : spec_(spec), steps_(std::move(steps)), results_(spec.attributes().Ints("results")) {}

  absl::StatusOr<ElementwiseSource> Write() {
    ElementwiseSource source;
    source.pack = 16;
    for (int i = 0; i < spec_.num_inputs(); ++i) NarrowPack(spec_.input_dtype(i), source.pack);
    for (int i = 0; i < spec_.num_outputs(); ++i) NarrowPack(spec_.output_dtype(i), source.pack);
    source.name = Name();
    ONWARD_ASSIGN_OR_RETURN(const std::string steps, Steps());
    source.text = absl::StrCat(
        "#pragma nv_diag_suppress 186  // functors compare unsigned numbers with 0, too\n"
        "#include \"kernels/cuda/elementwise_loop.cuh\"\n\n"
        "using namespace onward;\n"
        "using namespace onward::kernels;\n"
        "using namespace onward::kernels::cuda;\n\n",
        steps, Packs(source.pack), Elements(), Kernels(source.name));
    return source;
  }

 private:
  static void NarrowPack(DType dtype, int& pack) {
    pack = std::min(pack, static_cast<int>(128 / BitSize(dtype)));
  }

  std::string Name() const {
    std::vector<std::string> ops;
    for (const fused::ElementwiseStep& step : steps_) ops.push_back(absl::AsciiStrToLower(step.op));
    if (ops.size() > kMostNamed) {
      ops.resize(kMostNamed);
      ops.emplace_back("more");
    }
    return absl::StrCat("onward_", absl::StrJoin(ops, "_"));
  }

  // "(float v0, Float16& y0)": computes one element of each output.
  absl::StatusOr<std::string> Steps() const {
    std::vector<std::string> parameters;
    std::vector<ElementwiseValue> values;
    for (int i = 0; i < spec_.num_inputs(); ++i) {
      values.push_back({absl::StrCat("v", i), spec_.input_dtype(i)});
      parameters.push_back(absl::StrCat(ComputeTypeOf(spec_.input_dtype(i)), " v", i));
    }
    for (int i = 0; i < spec_.num_outputs(); ++i)
      parameters.push_back(absl::StrCat(ElementTypeOf(spec_.output_dtype(i)), "& y", i));
    std::string text =
        absl::StrCat("__device__ inline void Steps(", absl::StrJoin(parameters, ", "), ") {\n");
    for (const fused::ElementwiseStep& step : steps_) {
      std::vector<ElementwiseValue> operands;
      for (const int operand : step.operands)
        operands.push_back(operand < 0 ? ElementwiseValue() : values[static_cast<size_t>(operand)]);
      ONWARD_ASSIGN_OR_RETURN(ElementwiseValue result, WriteElementwiseStep(step, operands));
      if (Rounds(result.dtype)) {
        result.name = absl::StrCat("AsHeld<", ElementTypeOf(result.dtype), ">(", result.name, ")");
      }
      const std::string name = absl::StrCat("v", values.size());
      absl::StrAppend(&text, "  const ", ComputeTypeOf(result.dtype), " ", name, " = ", result.name,
                      ";\n");
      values.push_back({name, result.dtype});
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      const ElementwiseValue& value = values[static_cast<size_t>(results_[i])];
      absl::StrAppend(&text, "  y", i, " = Rounded<", ElementTypeOf(value.dtype), ">(", value.name,
                      ");\n");
    }
    return text + "}\n\n";
  }

  // Between steps 16-bit floats keep what they are computed in unless arithmetic is strict.
  bool Rounds(DType dtype) const {
    return spec_.options().precision == Precision::kStrict &&
           ElementTypeOf(dtype) != ComputeTypeOf(dtype);
  }

  // The arguments of Steps: `input` and `output` have i where the number goes.
  std::string Arguments(std::string_view input, std::string_view output) const {
    std::vector<std::string> arguments;
    for (int i = 0; i < spec_.num_inputs(); ++i)
      arguments.push_back(absl::StrCat("Load(x", i, std::string(input), ")"));
    for (int i = 0; i < spec_.num_outputs(); ++i)
      arguments.push_back(absl::StrCat("y", i, std::string(output)));
    return absl::StrJoin(arguments, ", ");
  }

  // Finds where step p reads each input: at `flat`, where all have one shape or fill it.
  std::string Places(const std::string& flat) const {
    return absl::StrCat("    Number at[", spec_.num_inputs(),
                        "];\n"
                        "    if constexpr (kFlat) {\n"
                        "#pragma unroll\n      for (int n = 0; n < ",
                        spec_.num_inputs(), "; ++n) at[n] = a.fills[n] ? 0 : ", flat,
                        ";\n"
                        "    } else {\n"
                        "      FindInputs<I>(a, p, at);\n"
                        "    }\n");
  }

  std::string Packs(int pack) const {
    std::string text = absl::StrCat(
        "template <typename I, bool kFlat>\n"
        "__device__ inline void ByPacks(const ElementwiseArguments<I>& a) {\n"
        "  using Number = typename I::Number;\n"
        "  for (Number p = FirstStep<I>(); p < a.packs; p += StepsAtOnce<I>()) {\n",
        Places(absl::StrCat("p * ", pack)));
    for (int i = 0; i < spec_.num_inputs(); ++i) {
      absl::StrAppend(&text, "    const auto x", i, " = LoadPackOrFill<",
                      ElementTypeOf(spec_.input_dtype(i)), ", ", pack, ">(a.inputs[", i, "], at[",
                      i, "], a.fills[", i, "]);\n");
    }
    for (int i = 0; i < spec_.num_outputs(); ++i)
      absl::StrAppend(&text, "    Pack<", ElementTypeOf(spec_.output_dtype(i)), ", ", pack, "> y",
                      i, ";\n");
    absl::StrAppend(&text, "#pragma unroll\n    for (int i = 0; i < ", pack, "; ++i)\n      Steps(",
                    Arguments(".elements[i]", ".elements[i]"), ");\n");
    for (int i = 0; i < spec_.num_outputs(); ++i) {
      absl::StrAppend(&text, "    StorePack(y", i, ", static_cast<",
                      ElementTypeOf(spec_.output_dtype(i)), "*>(a.outputs[", i,
                      "]) + static_cast<uint64_t>(p) * ", pack, ");\n");
    }
    return text + "  }\n}\n\n";
  }

  std::string Elements() const {
    std::string text = absl::StrCat(
        "template <typename I, bool kFlat>\n"
        "__device__ inline void ByElements(const ElementwiseArguments<I>& a, "
        "typename I::Number first) {\n"
        "  using Number = typename I::Number;\n"
        "  for (Number p = first + FirstStep<I>(); p < a.count; p += StepsAtOnce<I>()) {\n",
        Places("p"));
    for (int i = 0; i < spec_.num_inputs(); ++i) {
      absl::StrAppend(&text, "    const auto x", i, " = LoadElement<",
                      ElementTypeOf(spec_.input_dtype(i)), ">(a.inputs[", i, "], at[", i, "]);\n");
    }
    for (int i = 0; i < spec_.num_outputs(); ++i)
      absl::StrAppend(&text, "    ", ElementTypeOf(spec_.output_dtype(i)), " y", i, ";\n");
    absl::StrAppend(&text, "    Steps(", Arguments("", ""), ");\n");
    for (int i = 0; i < spec_.num_outputs(); ++i) {
      absl::StrAppend(&text, "    static_cast<", ElementTypeOf(spec_.output_dtype(i)),
                      "*>(a.outputs[", i, "])[p] = y", i, ";\n");
    }
    return text + "  }\n}\n\n";
  }

  static std::string Kernels(const std::string& name) {
    const auto kernel = [&](std::string_view kind, std::string_view index, std::string_view body) {
      return absl::StrCat("extern \"C\" __global__ void __launch_bounds__(256) ", name, "_",
                          std::string(kind), "(const __grid_constant__ ElementwiseArguments<",
                          std::string(index), "> a) {\n", std::string(body), "}\n");
    };
    return absl::StrCat(
        kernel("flat", "NarrowIndex",
               "  ByPacks<NarrowIndex, true>(a);\n"
               "  ByElements<NarrowIndex, true>(a, a.first);\n"),
        kernel("packs", "NarrowIndex", "  ByPacks<NarrowIndex, false>(a);\n"),
        kernel("elements", "NarrowIndex", "  ByElements<NarrowIndex, false>(a, 0);\n"),
        kernel("wide", "WideIndex", "  ByElements<WideIndex, false>(a, 0);\n"));
  }

  const NodeSpec& spec_;
  const std::vector<fused::ElementwiseStep> steps_;
  const std::vector<int64_t> results_;
};

absl::Status CheckDType(DType dtype) {
  if (DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [](auto) {}))
    return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("no loop for dtype ", std::string(DTypeName(dtype))));
}

bool HaveOneShape(const Type& a, const Type& b) {
  return a.shape && b.shape &&
         std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(), b.shape->end(),
                    [](const Dim& x, const Dim& y) { return x.SameAs(y); });
}

// The inputs broadcast to the shape of the outputs where these have one shape, and each input has a
// part in one of them. Groups of a pass are so; others may come from files.
absl::Status CheckShapes(const NodeSpec& spec, const std::vector<fused::ElementwiseStep>& steps) {
  for (int i = 1; i < spec.num_outputs(); ++i) {
    if (!HaveOneShape(spec.output_type(0), spec.output_type(i)))
      return absl::UnimplementedError("only outputs that are known to have one shape");
  }
  const auto inputs = static_cast<size_t>(spec.num_inputs());
  std::vector<bool> read(inputs + steps.size(), false);
  for (const int64_t result : spec.attributes().Ints("results"))
    read[static_cast<size_t>(result)] = true;
  for (size_t step = steps.size(); step-- > 0;) {
    for (const int operand : steps[step].operands)
      if (operand >= 0 && read[inputs + step]) read[static_cast<size_t>(operand)] = true;
  }
  if (std::find(read.begin(), read.begin() + spec.num_inputs(), false) !=
      read.begin() + spec.num_inputs())
    return absl::UnimplementedError("only inputs that an output depends on");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ElementwiseSource> WriteElementwiseSource(const NodeSpec& spec) {
  if (spec.num_inputs() > kMostElementwiseInputs || spec.num_outputs() > kMostElementwiseOutputs) {
    return absl::UnimplementedError(absl::StrCat("only up to ", kMostElementwiseInputs,
                                                 " inputs and ", kMostElementwiseOutputs,
                                                 " outputs"));
  }
  for (int i = 0; i < spec.num_inputs(); ++i)
    ONWARD_RETURN_IF_ERROR(CheckDType(spec.input_dtype(i)));
  for (int i = 0; i < spec.num_outputs(); ++i)
    ONWARD_RETURN_IF_ERROR(CheckDType(spec.output_dtype(i)));
  ONWARD_ASSIGN_OR_RETURN(std::vector<fused::ElementwiseStep> steps,
                          fused::ReadSteps(spec.attributes(), spec.num_inputs(),
                                           static_cast<size_t>(spec.num_outputs())));
  ONWARD_RETURN_IF_ERROR(CheckShapes(spec, steps));
  return Writer(spec, std::move(steps)).Write();
}

}  // namespace onward::kernels::cuda

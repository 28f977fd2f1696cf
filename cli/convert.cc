// onward convert: changes a model's opset, precision or storage.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "files/mapped_file.h"
#include "onnx_io/lower_opset.h"
#include "onward/export.h"
#include "onward/import.h"
#include "onward/status.h"
#include "quantization/calibration_set.h"
#include "quantization/half_floats.h"
#include "quantization/input_products.h"
#include "quantization/int4_weights.h"
#include "quantization/observe.h"
#include "quantization/products.h"
#include "quantization/ranges.h"
#include "quantization/static_int8.h"

namespace onward::cli {
namespace {

// Smaller tensors stay in the model's file, as ONNX's own tools have it.
constexpr int64_t kExternalThreshold = 1024;
constexpr int64_t kOldestOpset = 11;

struct ConvertFlags {
  std::string in, out, calibrate, arithmetic;
  std::optional<uint64_t> to_opset;
  std::string calibration = "minmax";
  bool float16 = false, bfloat16 = false, convert_io = false;
  bool int8 = false, int4_weights = false;
  double percentile = 99.99;
  int block_size = 32;
  bool external_data = false;
};

struct Written {
  int64_t opset = 0;
  uintmax_t bytes = 0, data_bytes = 0;
};

uintmax_t BytesOf(const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

// The oldest opset that says it without detours; the file's own where it is later.
int64_t LeastOpset(const ConvertFlags& options) {
  return options.int4_weights ? 21 : options.int8 || options.bfloat16 ? 13 : kOldestOpset;
}

// At the opset that is asked for; else at the file's own, or at the oldest later one that can say
// what the model has become.
absl::Status Write(const Model& model, const ConvertFlags& options, int64_t own_opset) {
  ExportOptions written;
  if (options.external_data) written.external_data_threshold = kExternalThreshold;
  written.opset = options.to_opset ? static_cast<int64_t>(*options.to_opset)
                                   : std::max(own_opset, LeastOpset(options));
  const absl::Status status = ExportFile(model, options.out, written);
  if (options.to_opset || !absl::IsUnimplemented(status)) return status;
  written.opset = 0;
  return ExportFile(model, options.out, written);
}

absl::StatusOr<Written> Measure(const std::string& path) {
  Written written;
  written.bytes = BytesOf(path);
  ONWARD_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
  for (const char* suffix : {".data", ".2.data"}) {
    const std::string name = std::filesystem::path(path + suffix).filename();
    const bool named = file->bytes().find(name) != std::string_view::npos;
    written.data_bytes += named ? BytesOf(path + suffix) : 0;
  }
  std::map<std::string, int64_t> opsets;
  ImportOptions import;
  import.opsets = &opsets;
  ONWARD_RETURN_IF_ERROR(Annotate(ImportFile(path, import).status(), "reading the result:"));
  written.opset = opsets[""];
  return written;
}

// Where a model computes beyond float16: on the samples, else on inputs that are drawn as
// `onward run --random` draws them, of which one run shows less.
constexpr float kLargestOfSamples = 65504.0f / 2, kLargestOfDrawn = 65504.0f / 16;

absl::StatusOr<std::map<std::string, quantization::ValueRange>> RangesOf(
    const Model& model, const ConvertFlags& options, const CommonOptions& common) {
  if (!options.calibrate.empty()) {
    ONWARD_ASSIGN_OR_RETURN(const quantization::CalibrationSet set,
                            quantization::CalibrationSet::Open(options.calibrate, model.graph));
    return quantization::ObserveRanges(model, set, common.session());
  }
  std::vector<ValueInfo> declared;
  for (const ValueId id : model.graph.inputs()) {
    const ValueData& value = model.graph.value(id);
    declared.push_back({value.name, value.type, value.constant.has_value()});
  }
  InputOptions drawn;
  drawn.random = true;
  ONWARD_ASSIGN_OR_RETURN(Session::Inputs inputs, MakeInputs(declared, drawn));
  return quantization::ObserveRanges(model, quantization::CalibrationSet::Of(std::move(inputs)),
                                     common.session());
}

absl::StatusOr<std::function<bool(std::string_view)>> Overflows(const Model& model,
                                                                const ConvertFlags& options,
                                                                const CommonOptions& common) {
  const bool drawn = options.calibrate.empty();
  auto ranges = RangesOf(model, options, common);
  if (!ranges.ok() && !drawn) return ranges.status();
  if (!ranges.ok()) {
    std::fprintf(stderr, "note: whether values leave the range of float16 is not known: %s\n",
                 std::string(ranges.status().message()).c_str());
    return nullptr;
  }
  return [ranges = *std::move(ranges), drawn](std::string_view name) {
    const auto it = ranges.find(std::string(name));
    return it != ranges.end() && std::max(-it->second.low, it->second.high) >
                                     (drawn ? kLargestOfDrawn : kLargestOfSamples);
  };
}

absl::Status ToHalfFloats(Model& model, const ConvertFlags& options, const CommonOptions& common) {
  quantization::HalfFloatOptions half;
  half.dtype = options.float16 ? DType::kFloat16 : DType::kBFloat16;
  half.arithmetic = options.arithmetic.empty() ? options.float16 : options.arithmetic == "16";
  half.convert_io = options.convert_io;
  if (options.float16 && half.arithmetic) {
    ONWARD_ASSIGN_OR_RETURN(half.overflows, Overflows(model, options, common));
  }
  ONWARD_ASSIGN_OR_RETURN(const quantization::HalfFloatReport report,
                          quantization::ConvertToHalfFloats(model, half));
  if (half.arithmetic)
    std::fprintf(stderr, "%d nodes compute in %s, %d stay in float32 for their range\n",
                 report.lowered, std::string(DTypeName(half.dtype)).c_str(), report.islands);
  std::fprintf(stderr, "%d weights are %s\n", report.weights,
               std::string(DTypeName(half.dtype)).c_str());
  return absl::OkStatus();
}

quantization::RangeOptions RangeOptionsOf(const ConvertFlags& options) {
  const std::map<std::string, quantization::RangeMethod> methods = {
      {"minmax", quantization::RangeMethod::kMinMax},
      {"percentile", quantization::RangeMethod::kPercentile},
      {"entropy", quantization::RangeMethod::kEntropy},
      {"mse", quantization::RangeMethod::kMse}};
  return {methods.at(options.calibration), options.percentile};
}

absl::Status ToInt8(Model& model, const ConvertFlags& options, const CommonOptions& common) {
  ONWARD_RETURN_IF_ERROR(quantization::PrepareProducts(model));
  ONWARD_ASSIGN_OR_RETURN(const quantization::CalibrationSet set,
                          quantization::CalibrationSet::Open(options.calibrate, model.graph));
  ONWARD_ASSIGN_OR_RETURN(
      const auto ranges,
      quantization::CalibrateRanges(model, set, quantization::ValuesOfInt8(model.graph),
                                    RangeOptionsOf(options), common.session()));
  ONWARD_ASSIGN_OR_RETURN(const quantization::Int8Report report,
                          quantization::QuantizeToInt8(model, ranges));
  std::fprintf(stderr, "%d products of int8 by %zu samples", report.products, set.size());
  if (report.left > 0)
    std::fprintf(stderr, ", %d that no sample reaches stay float32", report.left);
  std::fprintf(stderr, "\n");
  return absl::OkStatus();
}

absl::Status ToInt4Weights(Model& model, const ConvertFlags& options, const CommonOptions& common) {
  quantization::Int4Options int4;
  int4.block_size = options.block_size;
  ONWARD_RETURN_IF_ERROR(quantization::PrepareProducts(model));
  std::map<std::string, quantization::InputProducts> products;
  if (!options.calibrate.empty()) {
    ONWARD_ASSIGN_OR_RETURN(const quantization::CalibrationSet set,
                            quantization::CalibrationSet::Open(options.calibrate, model.graph));
    ONWARD_ASSIGN_OR_RETURN(
        products, quantization::ObserveInputProducts(
                      model, set, quantization::InputsOfInt4(model.graph, int4), common.session()));
    int4.inputs = &products;
  }
  ONWARD_ASSIGN_OR_RETURN(const quantization::Int4Report report,
                          quantization::QuantizeWeightsToInt4(model, int4));
  std::fprintf(stderr, "%d weights are int4%s: %lld bytes instead of %lld\n", report.weights,
               options.calibrate.empty() ? "" : " (GPTQ)",
               static_cast<long long>(report.bytes_after),
               static_cast<long long>(report.bytes_before));
  return absl::OkStatus();
}

absl::Status Convert(const ConvertFlags& options, const CommonOptions& common) {
  std::map<std::string, int64_t> opsets;
  ImportOptions import;
  import.opsets = &opsets;
  if (options.to_opset) ONWARD_RETURN_IF_ERROR(onnx_io::CheckExportedOpset(*options.to_opset));
  ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(options.in, import));
  if (options.float16 || options.bfloat16)
    ONWARD_RETURN_IF_ERROR(ToHalfFloats(model, options, common));
  if (options.int8) ONWARD_RETURN_IF_ERROR(ToInt8(model, options, common));
  if (options.int4_weights) ONWARD_RETURN_IF_ERROR(ToInt4Weights(model, options, common));
  ONWARD_RETURN_IF_ERROR(Write(model, options, opsets[""]));
  ONWARD_ASSIGN_OR_RETURN(const Written written, Measure(options.out));
  if (common.json) {
    const nlohmann::json document = {{"output", options.out},
                                     {"opset", written.opset},
                                     {"bytes", written.bytes},
                                     {"external_bytes", written.data_bytes}};
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  std::string beside;
  if (written.data_bytes > 0) beside = absl::StrCat(" and ", written.data_bytes, " beside it");
  std::printf("opset %lld, %ju bytes%s written to %s\n", static_cast<long long>(written.opset),
              written.bytes, beside.c_str(), options.out.c_str());
  return absl::OkStatus();
}

// Returns the part that the command line lacks.
std::string MissingOf(const ConvertFlags& options) {
  int kinds = 0;
  for (const bool kind : {options.float16, options.bfloat16, options.int8, options.int4_weights})
    kinds += kind ? 1 : 0;
  if (kinds > 1) return "a choice among --float16, --bfloat16, --int8 and --int4-weights";
  if (options.int8 && options.calibrate.empty()) return "--calibrate DIR (samples for --int8)";
  if (!options.calibrate.empty() && !options.float16 && !options.int8 && !options.int4_weights)
    return "one of --float16, --int8 and --int4-weights beside --calibrate";
  if ((options.block_size & (options.block_size - 1)) != 0) return "a power of two as --block-size";
  if (!(options.percentile > 50 && options.percentile <= 100))
    return "a --percentile from 50 to 100";
  return "";
}

}  // namespace

void AddConvert(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<ConvertFlags>();
  Command command =
      NewCommand(line, common, "convert", "Changes a model's opset, precision or storage",
                 "onward convert model.onnx -o model17.onnx --to-opset 17");
  command.Option("model", options->in, "ONNX file", {.required = true});
  command.Option("-o,--output", options->out, "ONNX file to write", {.required = true});
  command.Option(
      "--to-opset", options->to_opset,
      "opset of ai.onnx to write, 11 to 28 (default: the file's, or the oldest later one "
      "that has what the result needs)");
  command.Flag("--external-data", options->external_data,
               "tensors from 1 KiB on go to OUT.data, beside the model");
  command.Flag(
      "--float16", options->float16,
      "products and what follows them in float16; what would leave its range stays float32");
  command.Flag("--bfloat16", options->bfloat16, "weights in bfloat16");
  command.Option(
      "--arithmetic", options->arithmetic,
      "of --float16 and --bfloat16: 16, or 32: weights alone have 16 bits, behind a Cast "
      "(default: 16 of float16, 32 of bfloat16, which few runtimes compute in)",
      {.one_of = {"16", "32"}});
  command.Flag("--convert-io", options->convert_io,
               "inputs and outputs have 16 bits, too, instead of float32 with Casts behind them");
  command.Flag("--int8", options->int8,
               "products of int8 weights, a scale each channel, and uint8 activations, by samples");
  command.Option("--calibration", options->calibration,
                 "of --int8, which range of the samples' values gets the codes: minmax (default), "
                 "percentile, entropy or mse",
                 {.one_of = {"minmax", "percentile", "entropy", "mse"}});
  command.Option("--percentile", options->percentile,
                 "of --calibration percentile: the share of values inside (default: 99.99)");
  command.Flag("--int4-weights", options->int4_weights,
               "weights of MatMul and Gemm in int4, a scale each block; by GPTQ with --calibrate");
  command.Option("--block-size", options->block_size,
                 "of --int4-weights, a power of two from 16 on (default: 32)",
                 {.range = {16, 4096}});
  command.Option("--calibrate", options->calibrate,
                 "a directory of samples: .npz files, or directories with NAME.npy or input_K.pb; "
                 "of --float16: "
                 "what leaves its range on them stays float32 (default: inputs are drawn)");
  command.Do([=, &common] { return Convert(*options, common); },
             [options] { return MissingOf(*options); });
}

}  // namespace onward::cli

#include "training/prepare/state_dict.h"

#include <algorithm>
#include <cstring>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/safetensors_shards.h"
#include "graph/base/name_pattern.h"
#include "graph/rewrite/state.h"
#include "onward/nn/parameters.h"
#include "onward/status.h"

namespace onward::training {
namespace {

absl::StatusOr<StateDict> Renamed(const StateDict& values, const LoadOptions& options) {
  StateDict renamed;
  try {
    std::vector<std::pair<std::regex, std::string>> rules;
    for (const auto& [pattern, replacement] : options.renames)
      rules.emplace_back(std::regex(pattern), replacement);
    for (const auto& [name, value] : values) {
      std::string to = name;
      for (const auto& [pattern, replacement] : rules)
        to = std::regex_replace(to, pattern, replacement);
      if (!renamed.emplace(to, value).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "two values are named '", to, "' after renaming, one of them '", name, "'"));
      }
    }
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("a rename is not a regular expression: ", error.what()));
  }
  return renamed;
}

template <typename From, typename To>
void ConvertElements(const Tensor& from, Tensor& to) {
  std::transform(from.data<From>(), from.data<From>() + from.num_elements(), to.mutable_data<To>(),
                 [](From x) {
                   if constexpr (std::is_same_v<From, double> || std::is_same_v<To, double>)
                     return static_cast<To>(static_cast<double>(x));
                   else
                     return static_cast<To>(static_cast<float>(x));
                 });
}

// `from` in another float dtype; nothing for what is not a float.
std::optional<Tensor> Converted(const Tensor& from, DType dtype) {
  if (from.dtype() == dtype) return from;
  Tensor to(dtype, from.dims());
  bool done = false;
  DispatchDType(FloatTypes(), from.dtype(), [&](auto source) {
    done = DispatchDType(FloatTypes(), dtype, [&](auto target) {
      ConvertElements<typename decltype(source)::type, typename decltype(target)::type>(from, to);
    });
  });
  if (!done) return std::nullopt;
  return to;
}

Tensor Transposed(const Tensor& from) {
  const int64_t rows = from.dims()[0], columns = from.dims()[1];
  Tensor to(from.dtype(), {columns, rows});
  const int64_t size = BitSize(from.dtype()) / 8;
  const char* source = static_cast<const char*>(from.raw_data());
  char* target = static_cast<char*>(to.raw_mutable_data());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(target + (j * rows + i) * size, source + (i * columns + j) * size,
                  static_cast<size_t>(size));
  }
  return to;
}

bool IsTied(const Tensor& value, const StateDict& loaded) {
  return std::any_of(loaded.begin(), loaded.end(),
                     [&](const auto& each) { return SameBits(value, each.second); });
}

std::string TypeText(const Tensor& tensor) {
  return Type::Tensor(tensor.dtype(), tensor.dims()).ToString();
}

// The value as the parameter takes it; nothing after a mismatch, which is reported.
std::optional<Tensor> Fitting(const nn::ParameterInfo& parameter, Tensor value,
                              const LoadOptions& options, LoadReport& report) {
  if (MatchesAny(parameter.name, options.transposed) && value.rank() == 2 &&
      BitSize(value.dtype()) % 8 == 0)
    value = Transposed(value);
  const Dims dims = *parameter.type.static_dims();
  std::optional<Tensor> converted = Converted(value, parameter.type.dtype);
  if (!converted || value.dims() != DimsView(dims)) {
    report.mismatched.push_back(
        absl::StrCat(parameter.name, " is ", parameter.type.ToString(), ", got ", TypeText(value)));
    return std::nullopt;
  }
  return converted;
}

void AppendList(std::string& text, std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  constexpr size_t kShown = 10;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min(names.size(), kShown));
  absl::StrAppend(&text, "; ", names.size(), " ", std::string(what), ": ",
                  absl::StrJoin(first, ", "), names.size() > kShown ? ", ..." : "");
}

}  // namespace

std::string LoadReport::ToString() const {
  std::string text = absl::StrCat(loaded, " loaded");
  AppendList(text, "missing", missing);
  AppendList(text, "unexpected", unexpected);
  AppendList(text, "of another type", mismatched);
  return text;
}

StateDict StateDictOf(const Model& model) {
  StateDict values;
  for (const nn::ParameterInfo& each : nn::Parameters(model))
    values[each.name] = *model.graph.value(each.id).constant;
  return values;
}

absl::StatusOr<LoadReport> LoadStateDict(Model& model, const StateDict& values,
                                         const LoadOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(StateDict given, Renamed(values, options));
  LoadReport report;
  StateDict loaded, found;
  const std::vector<nn::ParameterInfo> parameters = nn::Parameters(model);
  for (const nn::ParameterInfo& each : parameters) {
    const auto value = given.find(each.name);
    if (value == given.end()) {
      if (each.frozen != "number") report.missing.push_back(each.name);
      continue;
    }
    if (auto fitting = Fitting(each, value->second, options, report)) {
      loaded[each.name] = *std::move(fitting);
      found[each.name] = value->second;
    }
    given.erase(value);
  }
  for (const auto& [name, value] : given) {
    if (!MatchesPattern(name, "*num_batches_tracked") && !MatchesAny(name, options.ignored) &&
        !IsTied(value, found))
      report.unexpected.push_back(name);
  }
  if (options.strict && !report.complete()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the values do not fit the model", report.ToString().substr(report.ToString().find(';'))));
  }
  for (const nn::ParameterInfo& each : parameters) {
    const auto value = loaded.find(each.name);
    if (value == loaded.end()) continue;
    SetConstant(model.graph, each.id, std::move(value->second));
    ++report.loaded;
  }
  return report;
}

absl::StatusOr<LoadReport> LoadStateDict(Model& model, const std::string& path,
                                         const LoadOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(const files::Safetensors file, files::ReadWeights(path));
  absl::StatusOr<LoadReport> report = LoadStateDict(model, file.tensors, options);
  if (!report.ok()) return Annotate(report.status(), absl::StrCat(path, ":"));
  return report;
}

absl::Status SaveStateDict(const Model& model, const std::string& path) {
  files::Safetensors file;
  file.tensors = StateDictOf(model);
  file.metadata["format"] = "pt";
  return files::WriteSafetensors(file, path);
}

}  // namespace onward::training

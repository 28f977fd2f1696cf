#include "cli/inputs.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/image_inputs.h"
#include "files/npy.h"
#include "graph/base/checked.h"
#include "graph/base/closest_name.h"
#include "graph/infer/cost.h"
#include "onnx_io/tensor_proto.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

const ValueInfo* FindInput(const std::vector<ValueInfo>& declared, const std::string& name) {
  for (const ValueInfo& info : declared) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

absl::Status UnknownInput(const std::vector<ValueInfo>& declared, const std::string& name) {
  std::vector<std::string> names;
  for (const ValueInfo& info : declared) names.push_back(info.name);
  return absl::InvalidArgumentError(
      absl::StrCat("the model has no input '", name, "'", DidYouMean(name, names)));
}

// The declared dims with the sizes that `count` elements give the unknown ones: the last unknown
// dim takes what is left.
Dims FitDims(const Type& type, int64_t count) {
  if (!type.shape) return {count};
  Dims dims;
  int64_t known = 1, last_unknown = -1;
  for (const Dim& dim : *type.shape) {
    if (!dim.known()) last_unknown = static_cast<int64_t>(dims.size());
    dims.push_back(dim.known() ? dim.value() : 1);
    known *= dims.back();
  }
  if (last_unknown >= 0 && known > 0 && count % known == 0)
    dims[static_cast<size_t>(last_unknown)] = count / known;
  return NumElements(dims) == count ? dims : Dims{count};
}

absl::StatusOr<Tensor> ParseInline(const ValueInfo& info, const std::string& text,
                                   const Dims* shape) {
  std::vector<std::string> parts = absl::StrSplit(text, ',');
  Dims dims = shape != nullptr ? *shape : FitDims(info.type, static_cast<int64_t>(parts.size()));
  if (NumElements(dims) != static_cast<int64_t>(parts.size())) {
    return absl::InvalidArgumentError(absl::StrCat("input '", info.name, "': ", parts.size(),
                                                   " values do not fill ", DimsString(dims)));
  }
  Tensor tensor(info.type.dtype, dims);
  bool parsed = true;
  if (info.type.dtype == DType::kString) {
    for (size_t i = 0; i < parts.size(); ++i) tensor.mutable_data<std::string>()[i] = parts[i];
    return tensor;
  }
  const bool found =
      DispatchDType(Concat<NumericTypes, TypeList<bool>>(), info.type.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (size_t i = 0; i < parts.size(); ++i) {
          if constexpr (std::is_same_v<T, bool>) {
            bool value;
            parsed &= absl::SimpleAtob(parts[i], &value);
            tensor.mutable_data<T>()[i] = value;
          } else if constexpr (std::is_integral_v<T>) {
            int64_t value = 0;
            parsed &= absl::SimpleAtoi(parts[i], &value) &&
                      static_cast<int64_t>(static_cast<T>(value)) == value;
            tensor.mutable_data<T>()[i] = static_cast<T>(value);
          } else {
            double value = 0;
            parsed &= absl::SimpleAtod(parts[i], &value);
            tensor.mutable_data<T>()[i] = T(static_cast<float>(value));
          }
        }
      });
  if (found && parsed) return tensor;
  return absl::InvalidArgumentError(absl::StrCat("input '", info.name, "': '", text,
                                                 "' is neither a file nor values of ",
                                                 std::string(DTypeName(info.type.dtype))));
}

absl::StatusOr<Value> ReadInput(const ValueInfo& info, const std::string& text, const Dims* shape,
                                const std::optional<training::ImageNote>& note) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (absl::EndsWith(lower, ".npy")) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, files::ReadNpy(text, info.type.dtype));
    return Value(std::move(tensor));
  }
  if (absl::EndsWith(lower, ".pb")) return onnx_io::ReadValueFile(text, info.type);
  if (absl::EndsWith(lower, ".png") || absl::EndsWith(lower, ".jpg") ||
      absl::EndsWith(lower, ".jpeg")) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ReadImageInput(info, text, note));
    return Value(std::move(tensor));
  }
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ParseInline(info, text, shape));
  return Value(std::move(tensor));
}

absl::Status ReadArchive(const std::vector<ValueInfo>& declared, const std::string& path,
                         Session::Inputs& inputs) {
  ONWARD_ASSIGN_OR_RETURN(auto arrays, files::ReadNpz(path));
  for (auto& [name, tensor] : arrays) {
    if (FindInput(declared, name) == nullptr) return UnknownInput(declared, name);
    inputs[name] = Value(std::move(tensor));
  }
  return absl::OkStatus();
}

// The declared dims with the sizes of their symbols; 1 for those that have none.
Dims DrawnDims(const Type& type, const SymbolSizes& sizes, std::vector<std::string>& taken_as_one) {
  Dims dims;
  const auto size_of = [&](std::string_view symbol) -> std::optional<int64_t> {
    const auto it = sizes.find(symbol);
    if (it != sizes.end()) return it->second;
    if (std::find(taken_as_one.begin(), taken_as_one.end(), symbol) == taken_as_one.end())
      taken_as_one.emplace_back(symbol);
    return 1;
  };
  for (const Dim& dim : *type.shape) {
    const std::optional<int64_t> size =
        dim.known() ? std::optional<int64_t>(dim.value()) : EvaluateDim(dim, size_of);
    dims.push_back(dim.unknown() || !size ? 1 : std::max<int64_t>(0, *size));
  }
  return dims;
}

absl::Status AddRandom(const std::vector<ValueInfo>& declared,
                       const std::map<std::string, Dims>& shapes, uint64_t seed,
                       Session::Inputs& inputs, std::vector<std::string>& taken_as_one) {
  SymbolSizes sizes;
  for (const ValueInfo& info : declared) {
    const auto given = inputs.find(info.name);
    const auto shape = shapes.find(info.name);
    if (given != inputs.end() && given->second.is_tensor()) {
      AddSymbolSizes(info.type, given->second.tensor().dims(), sizes);
    } else if (shape != shapes.end()) {
      AddSymbolSizes(info.type, shape->second, sizes);
    }
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    const ValueInfo& info = declared[i];
    if (inputs.count(info.name) != 0 || info.optional) continue;
    if (!info.type.is_tensor()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", info.name, "' is ",
                                                     info.type.ToString(), ": it cannot be drawn"));
    }
    Dims dims;
    if (const auto it = shapes.find(info.name); it != shapes.end()) {
      dims = it->second;
    } else if (info.type.shape) {
      dims = DrawnDims(info.type, sizes, taken_as_one);
    } else {
      taken_as_one.push_back(info.name);
    }
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(info.type.dtype, dims).status());
    inputs[info.name] = Value(RandomTensor(info.type.dtype, dims, seed + i));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dims> ParseDims(const std::string& text) {
  Dims dims;
  if (text.empty()) return dims;
  for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar("x,"))) {
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is not a shape like 1x3x224x224"));
    dims.push_back(dim);
  }
  return dims;
}

Tensor RandomTensor(DType dtype, DimsView dims, uint64_t seed) {
  Tensor tensor(dtype, dims);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  const auto next = [&state] {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  const bool found = DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        tensor.mutable_data<T>()[i] = static_cast<T>(next() >> 63);
      } else {
        tensor.mutable_data<T>()[i] = T(static_cast<float>(next() >> 40) * 0x1p-24f);
      }
    }
  });
  if (!found && dtype != DType::kString)
    std::fill_n(tensor.mutable_data<char>(), tensor.byte_size(), 0);
  return tensor;
}

absl::StatusOr<std::map<std::string, Dims>> ParseShapes(const std::vector<ValueInfo>& declared,
                                                        const std::vector<std::string>& shapes) {
  std::map<std::string, Dims> parsed;
  for (const std::string& text : shapes) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--shape '", text, "' is not NAME=1x3x224x224"));
    }
    const std::string name = text.substr(0, equals);
    if (FindInput(declared, name) == nullptr)
      return Annotate(UnknownInput(declared, name), absl::StrCat("--shape ", text, ":"));
    ONWARD_ASSIGN_OR_RETURN(parsed[name], ParseDims(text.substr(equals + 1)));
  }
  return parsed;
}

void NoteTakenAsOne(const std::vector<std::string>& symbols) {
  if (symbols.empty()) return;
  std::string text;
  for (const std::string& symbol : symbols)
    absl::StrAppend(&text, text.empty() ? "" : ", ", symbol, " = 1");
  std::fprintf(stderr, "note: sizes that were not given: %s (--shape NAME=DIMS gives them)\n",
               text.c_str());
}

absl::StatusOr<Session::Inputs> MakeInputs(const std::vector<ValueInfo>& declared,
                                           const InputOptions& options,
                                           std::vector<std::string>* taken_as_one) {
  ONWARD_ASSIGN_OR_RETURN(const auto shapes, ParseShapes(declared, options.shapes));
  Session::Inputs inputs;
  for (const std::string& text : options.inputs) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos && absl::EndsWith(text, ".npz")) {
      ONWARD_RETURN_IF_ERROR(ReadArchive(declared, text, inputs));
      continue;
    }
    if (equals == std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat("--input '", text, "' is not NAME=FILE"));
    const std::string name = text.substr(0, equals);
    const ValueInfo* info = FindInput(declared, name);
    if (info == nullptr) return UnknownInput(declared, name);
    const auto shape = shapes.find(name);
    ONWARD_ASSIGN_OR_RETURN(
        inputs[name], ReadInput(*info, text.substr(equals + 1),
                                shape == shapes.end() ? nullptr : &shape->second, options.image));
  }
  if (!options.random) return inputs;
  std::vector<std::string> symbols;
  ONWARD_RETURN_IF_ERROR(AddRandom(declared, shapes, options.seed, inputs, symbols));
  if (taken_as_one != nullptr) *taken_as_one = std::move(symbols);
  return inputs;
}

void AddInputOptions(Command& command, InputOptions& options) {
  command.Option("--input", options.inputs,
                 "NAME=FILE (.npy, .pb, .png, .jpg), NAME=1,2,3 or FILE.npz");
  command.Flag("--random", options.random, "draw the inputs that are not given");
  command.Option("--shape", options.shapes, "NAME=1x3x224x224: dims of a drawn or inline input");
}

absl::Status CheckAllGiven(const std::vector<ValueInfo>& declared, const Session::Inputs& inputs) {
  for (const ValueInfo& info : declared) {
    if (inputs.contains(info.name) || info.optional || info.type.kind == Type::Kind::kOptional)
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat("missing input '", info.name, "' (", info.type.ToString(), "): --input ",
                     info.name, "=FILE gives it, --random draws all inputs that are not given"));
  }
  return absl::OkStatus();
}

}  // namespace onward::cli

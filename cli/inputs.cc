#include "cli/inputs.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/checked.h"
#include "graph/base/status.h"
#include "onnx_io/image.h"
#include "onnx_io/npy.h"
#include "onnx_io/tensor_proto.h"

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
  const std::string closest = ClosestName(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("the model has no input '", name, "'",
                   closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?")));
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

// An image as the input's dtype and layout: channels first unless only the last dim is 1 or 3.
// Values stay in 0..255.
absl::StatusOr<Tensor> ImageInput(const ValueInfo& info, const std::string& path) {
  if (!info.type.shape || (info.type.shape->size() != 3 && info.type.shape->size() != 4)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", info.name, "' is ", info.type.ToString(), ": an image needs 3 or 4 dimensions"));
  }
  const SymbolicDims& shape = *info.type.shape;
  const size_t first = shape.size() - 3;
  const auto is_channels = [](const Dim& dim) {
    return dim.known() && (dim.value() == 1 || dim.value() == 3);
  };
  const bool channels_last = is_channels(shape.back()) && !is_channels(shape[first]);
  const Dim& channels = channels_last ? shape.back() : shape[first];
  const bool gray = channels.known() && channels.value() == 1;
  ONWARD_ASSIGN_OR_RETURN(const Tensor pixels, ReadImage(path, gray));
  const int64_t height = pixels.dims()[0], width = pixels.dims()[1], depth = pixels.dims()[2];
  Dims dims = channels_last ? Dims{height, width, depth} : Dims{depth, height, width};
  if (shape.size() == 4) dims.insert(dims.begin(), 1);
  Tensor tensor(info.type.dtype, dims);
  const bool found = DispatchDType(NumericTypes(), info.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < height * width; ++i) {
      for (int64_t c = 0; c < depth; ++c) {
        const int64_t to = channels_last ? i * depth + c : c * height * width + i;
        tensor.mutable_data<T>()[to] =
            static_cast<T>(static_cast<float>(pixels.data<uint8_t>()[i * depth + c]));
      }
    }
  });
  if (found) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat("input '", info.name, "' is ", info.type.ToString(), ", not an image"));
}

absl::StatusOr<Value> ReadInput(const ValueInfo& info, const std::string& text, const Dims* shape) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (absl::EndsWith(lower, ".npy")) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(text, info.type.dtype));
    return Value(std::move(tensor));
  }
  if (absl::EndsWith(lower, ".pb")) return ReadValueFile(text, info.type);
  if (absl::EndsWith(lower, ".png") || absl::EndsWith(lower, ".jpg") ||
      absl::EndsWith(lower, ".jpeg")) {
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ImageInput(info, text));
    return Value(std::move(tensor));
  }
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ParseInline(info, text, shape));
  return Value(std::move(tensor));
}

absl::Status ReadArchive(const std::vector<ValueInfo>& declared, const std::string& path,
                         Session::Inputs& inputs) {
  ONWARD_ASSIGN_OR_RETURN(auto arrays, ReadNpz(path));
  for (auto& [name, tensor] : arrays) {
    if (FindInput(declared, name) == nullptr) return UnknownInput(declared, name);
    inputs[name] = Value(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::Status AddRandom(const std::vector<ValueInfo>& declared,
                       const std::map<std::string, Dims>& shapes, uint64_t seed,
                       Session::Inputs& inputs) {
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
      for (const Dim& dim : *info.type.shape) dims.push_back(dim.known() ? dim.value() : 1);
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

absl::StatusOr<Session::Inputs> MakeInputs(const std::vector<ValueInfo>& declared,
                                           const InputOptions& options) {
  std::map<std::string, Dims> shapes;
  for (const std::string& text : options.shapes) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (FindInput(declared, parts.first) == nullptr) return UnknownInput(declared, parts.first);
    ONWARD_ASSIGN_OR_RETURN(shapes[parts.first], ParseDims(parts.second));
  }
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
    ONWARD_ASSIGN_OR_RETURN(inputs[name],
                            ReadInput(*info, text.substr(equals + 1),
                                      shape == shapes.end() ? nullptr : &shape->second));
  }
  if (options.random) ONWARD_RETURN_IF_ERROR(AddRandom(declared, shapes, options.seed, inputs));
  return inputs;
}

}  // namespace onward::cli

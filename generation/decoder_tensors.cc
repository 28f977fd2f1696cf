#include "generation/decoder_tensors.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::generation {

bool HasCaches(const Graph& graph) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [&](ValueId id) { return absl::StrContains(graph.value(id).name, "past"); });
}

absl::Status CheckTokens(const DecoderSignature& signature, absl::Span<const int64_t> tokens) {
  for (const int64_t token : tokens) {
    if (token < 0 || (signature.vocabulary && token >= *signature.vocabulary)) {
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is not in the model's vocabulary",
                       signature.vocabulary ? absl::StrCat(" of ", *signature.vocabulary) : ""));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPrompt(const DecoderSignature& signature, int64_t context,
                         absl::Span<const int64_t> prompt) {
  if (prompt.empty())
    return absl::InvalidArgumentError("the prompt is empty: it needs at least one token");
  ONWARD_RETURN_IF_ERROR(CheckTokens(signature, prompt));
  if (!signature.caches.empty() && context > 0 && static_cast<int64_t>(prompt.size()) > context) {
    return absl::InvalidArgumentError(absl::StrCat("the prompt has ", prompt.size(),
                                                   " tokens, the model's context is ", context));
  }
  return absl::OkStatus();
}

Tensor IdTensor(DType dtype, size_t rows, size_t width,
                absl::FunctionRef<int64_t(size_t, size_t)> at) {
  Tensor ids(dtype, {static_cast<int64_t>(rows), static_cast<int64_t>(width)});
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = ids.mutable_data<T>();
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < width; ++i, ++out) {
        if constexpr (std::is_integral_v<T>) {
          *out = static_cast<T>(at(row, i));
        } else {
          *out = static_cast<T>(static_cast<float>(at(row, i)));
        }
      }
    }
  });
  return ids;
}

Tensor EmptyCache(absl::Span<const ValueInfo> inputs, const DecoderSignature::Cache& cache,
                  int64_t rows, int64_t length) {
  const Type& type = inputs[cache.past].type;
  Dims dims;
  for (size_t axis = 0; axis < type.shape->size(); ++axis) {
    const Dim& dim = (*type.shape)[axis];
    dims.push_back(static_cast<int64_t>(axis) == cache.length_axis ? length
                   : axis == 0                                     ? rows
                                                                   : dim.value());
  }
  Tensor zeros(type.dtype, dims);
  std::memset(zeros.raw_mutable_data(), 0, static_cast<size_t>(zeros.byte_size()));
  return zeros;
}

absl::StatusOr<int64_t> ScoredPlaces(const Value& scores, int64_t rows, int64_t width) {
  if (!scores.is_tensor()) return absl::InvalidArgumentError("the scores are not a tensor");
  const Tensor& tensor = scores.tensor();
  const int64_t places = tensor.rank() == 3 ? tensor.dims()[1] : 1;
  const bool fits = (tensor.rank() == 2 || tensor.rank() == 3) && tensor.dims()[0] == rows &&
                    tensor.dims().back() > 0 && (places == width || places == 1);
  if (fits) return places;
  return absl::InvalidArgumentError(absl::StrCat("the scores of ", rows, " rows of ", width,
                                                 " tokens are ", DimsString(tensor.dims())));
}

std::vector<float> ScoresAt(const Tensor& scores, int64_t row, int64_t at) {
  const int64_t vocabulary = scores.dims().back();
  const int64_t places = scores.rank() == 3 ? scores.dims()[1] : 1;
  const int64_t begin = (row * places + (places > 1 ? at : 0)) * vocabulary;
  std::vector<float> all(static_cast<size_t>(vocabulary));
  DispatchDType(FloatTypes(), scores.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = scores.data<T>() + begin;
    std::transform(data, data + vocabulary, all.begin(), [](T x) { return static_cast<float>(x); });
  });
  return all;
}

}  // namespace onward::generation

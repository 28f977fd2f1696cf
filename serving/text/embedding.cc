#include "serving/text/embedding.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "onward/precision.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

using Texts = absl::Span<const std::vector<int64_t>>;

// The value of an input at a place of a text.
using InputAt = int64_t (*)(const std::vector<int64_t>& text, size_t place);
struct EncoderInput {
  const char* name;
  InputAt at;
};
constexpr EncoderInput kInputs[] = {
    {"input_ids", [](const std::vector<int64_t>& text, size_t i) { return text[i]; }},
    {"attention_mask", [](const std::vector<int64_t>&, size_t) { return int64_t{1}; }},
    {"token_type_ids", [](const std::vector<int64_t>&, size_t) { return int64_t{0}; }},
    {"position_ids", [](const std::vector<int64_t>&, size_t i) { return static_cast<int64_t>(i); }},
};

size_t Longest(Texts texts) {
  size_t longest = 0;
  for (const std::vector<int64_t>& text : texts) longest = std::max(longest, text.size());
  return longest;
}

template <typename T>
Tensor Filled(DType dtype, Texts texts, InputAt at) {
  const size_t longest = Longest(texts);
  Tensor tensor(dtype, {static_cast<int64_t>(texts.size()), static_cast<int64_t>(longest)});
  T* out = tensor.mutable_data<T>();
  std::fill_n(out, tensor.num_elements(), T{0});
  for (size_t row = 0; row < texts.size(); ++row)
    for (size_t i = 0; i < texts[row].size(); ++i)
      out[row * longest + i] = static_cast<T>(at(texts[row], i));
  return tensor;
}

const Tensor* FloatsOfRank(const InferReply& reply, int64_t rank) {
  for (const ReplyOutput& output : reply.outputs)
    if (output.tensor.dtype() == DType::kFloat32 && output.tensor.rank() == rank)
      return &output.tensor;
  return nullptr;
}

void ScaleToOne(std::vector<float>& vector) {
  double squares = 0;
  for (const float each : vector) squares += static_cast<double>(each) * static_cast<double>(each);
  if (squares == 0) return;
  for (float& each : vector)
    each = static_cast<float>(static_cast<double>(each) / std::sqrt(squares));
}

// `rows`: the vectors of the text's tokens, `stride` apart.
std::vector<float> Pooled(const float* rows, int64_t width, size_t count, Pooling pooling) {
  if (pooling == Pooling::kFirst) return {rows, rows + width};
  std::vector<double> sums(static_cast<size_t>(width));
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < sums.size(); ++k)
      sums[k] += static_cast<double>(rows[i * sums.size() + k]);
  std::vector<float> mean;
  for (const double sum : sums)
    mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return mean;
}

}  // namespace

absl::StatusOr<Session::Inputs> EncoderInputs(Texts texts, absl::Span<const ValueInfo> inputs) {
  Session::Inputs made;
  for (const ValueInfo& input : inputs) {
    const auto* known =
        std::find_if(std::begin(kInputs), std::end(kInputs),
                     [&](const EncoderInput& each) { return each.name == input.name; });
    const DType dtype = input.type.dtype;
    if (known == std::end(kInputs) || (dtype != DType::kInt64 && dtype != DType::kInt32)) {
      return absl::FailedPreconditionError(
          absl::StrCat("model: it does not make embeddings: nothing is known to feed its input '",
                       input.name, "'"));
    }
    made[input.name] = Value(dtype == DType::kInt64 ? Filled<int64_t>(dtype, texts, known->at)
                                                    : Filled<int32_t>(dtype, texts, known->at));
  }
  return made;
}

absl::StatusOr<std::vector<std::vector<float>>> Embedded(Texts texts, const InferReply& reply,
                                                         Pooling pooling) {
  const Tensor* whole = FloatsOfRank(reply, 2);
  const Tensor* parts = FloatsOfRank(reply, 3);
  for (const ReplyOutput& output : reply.outputs)
    if (output.name == "last_hidden_state" || output.name == "token_embeddings") whole = nullptr;
  for (const ReplyOutput& output : reply.outputs)
    if (output.name == "sentence_embedding") whole = &output.tensor;
  const Tensor* from = whole != nullptr ? whole : parts;
  const auto count = static_cast<int64_t>(texts.size());
  if (from == nullptr || from->dtype() != DType::kFloat32 || from->dims()[0] != count)
    return absl::FailedPreconditionError(
        "model: it does not make embeddings: it has no float32 output [texts, width] or "
        "[texts, tokens, width]");
  const int64_t width = from->dims().back();
  const int64_t stride = from->num_elements() / std::max<int64_t>(count, 1);
  std::vector<std::vector<float>> vectors;
  for (size_t row = 0; row < texts.size(); ++row) {
    const float* begin = from->data<float>() + static_cast<int64_t>(row) * stride;
    vectors.push_back(whole != nullptr ? std::vector<float>(begin, begin + width)
                                       : Pooled(begin, width, texts[row].size(), pooling));
    ScaleToOne(vectors.back());
  }
  return vectors;
}

}  // namespace onward::serving

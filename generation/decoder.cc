#include "onward/generation/decoder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executors/create_session.h"
#include "generation/fixed_cache.h"
#include "onnx_io/expand_functions.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

// Position `at` of scores [batch, length, vocabulary]; the only one where there is one alone.
std::vector<float> RowOf(const Tensor& scores, int64_t batch, int64_t at) {
  const int64_t vocabulary = scores.dims().back();
  const int64_t length = scores.rank() == 3 ? scores.dims()[1] : 1;
  const int64_t begin = (batch * length + (length > 1 ? at : 0)) * vocabulary;
  std::vector<float> row(static_cast<size_t>(vocabulary));
  DispatchDType(FloatTypes(), scores.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = scores.data<T>() + begin;
    std::transform(data, data + vocabulary, row.begin(), [](T x) { return static_cast<float>(x); });
  });
  return row;
}

// Rows `parents` of axis 0.
Tensor Gathered(const Tensor& from, absl::Span<const int> parents) {
  Dims dims(from.dims().begin(), from.dims().end());
  const int64_t bytes = dims[0] == 0 ? 0 : from.byte_size() / dims[0];
  dims[0] = static_cast<int64_t>(parents.size());
  Tensor to(from.dtype(), dims);
  for (size_t i = 0; i < parents.size(); ++i) {
    std::memcpy(static_cast<char*>(to.raw_mutable_data()) + static_cast<int64_t>(i) * bytes,
                static_cast<const char*>(from.raw_data()) + parents[i] * bytes,
                static_cast<size_t>(bytes));
  }
  return to;
}

bool IsIdentity(absl::Span<const int> parents, size_t rows) {
  if (parents.size() != rows) return false;
  for (size_t i = 0; i < rows; ++i) {
    if (parents[i] != static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Create(std::unique_ptr<Session> session,
                                                         int64_t context) {
  std::unique_ptr<Decoder> made(new Decoder());
  ONWARD_ASSIGN_OR_RETURN(made->signature_, FindSignature(session->inputs(), session->outputs()));
  if (context < 0)
    return absl::InvalidArgumentError(absl::StrCat("the context is ", context, " tokens"));
  made->session_ = std::move(session);
  made->context_ = context;
  const DecoderSignature& signature = made->signature_;
  if (signature.caches.empty() && signature.length)
    made->context_ = context == 0 ? *signature.length : std::min(context, *signature.length);
  return made;
}

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Create(Model model, const SessionOptions& options,
                                                         int64_t context) {
  const bool caches = std::any_of(
      model.graph.inputs().begin(), model.graph.inputs().end(),
      [&](ValueId id) { return absl::StrContains(model.graph.value(id).name, "past"); });
  if (caches) ONWARD_RETURN_IF_ERROR(OptimizeAndUseFixedCaches(model, options).status());
  ONWARD_ASSIGN_OR_RETURN(
      auto session, CreateSession(std::move(model), options, {.expand_ops = ExpandFunctions}));
  return Create(std::move(session), context);
}

absl::Status Decoder::Check(absl::Span<const int64_t> tokens) const {
  for (const int64_t token : tokens) {
    if (token < 0 || (signature_.vocabulary && token >= *signature_.vocabulary)) {
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is not in the model's vocabulary",
                       signature_.vocabulary ? absl::StrCat(" of ", *signature_.vocabulary) : ""));
    }
  }
  return absl::OkStatus();
}

bool Decoder::full() const {
  return !signature_.caches.empty() && context_ > 0 && !rows_.empty() &&
         static_cast<int64_t>(rows_[0].size()) >= context_;
}

void Decoder::MakeGroups() {
  groups_.clear();
  if (signature_.any_batch) {
    Group& all = groups_.emplace_back();
    all.rows.resize(rows_.size());
    std::iota(all.rows.begin(), all.rows.end(), size_t{0});
    return;
  }
  for (size_t i = 0; i < rows_.size(); ++i) groups_.emplace_back().rows = {i};
}

Tensor Decoder::EmptyCache(const DecoderSignature::Cache& cache, size_t rows) const {
  const Type& type = session_->inputs()[cache.past].type;
  Dims dims;
  for (size_t axis = 0; axis < type.shape->size(); ++axis) {
    const Dim& dim = (*type.shape)[axis];
    dims.push_back(static_cast<int64_t>(axis) == cache.length_axis ? capacity_
                   : axis == 0                                     ? static_cast<int64_t>(rows)
                                                                   : dim.value());
  }
  Tensor cache_tensor(type.dtype, dims);
  std::memset(cache_tensor.raw_mutable_data(), 0, static_cast<size_t>(cache_tensor.byte_size()));
  return cache_tensor;
}

void Decoder::MakeRoom(Group& group, size_t length) {
  const auto needed = static_cast<int64_t>(length);
  for (size_t i = 0; signature_.past_length && i < group.caches.size(); ++i) {
    const Tensor& old = group.caches[i].tensor();
    const auto axis = static_cast<size_t>(signature_.caches[i].length_axis);
    const int64_t before = old.dims()[axis];
    if (before >= needed) continue;
    capacity_ = std::max({capacity_, needed, 2 * before});
    Tensor wide = EmptyCache(signature_.caches[i], group.rows.size());
    const DimsView dims = old.dims();
    const int64_t heads = NumElements(dims, 0, static_cast<int64_t>(axis));
    const int64_t bytes = heads == 0 ? 0 : old.byte_size() / heads;
    const int64_t stride = heads == 0 ? 0 : wide.byte_size() / heads;
    for (int64_t k = 0; k < heads; ++k) {
      std::memcpy(static_cast<char*>(wide.raw_mutable_data()) + k * stride,
                  static_cast<const char*>(old.raw_data()) + k * bytes, static_cast<size_t>(bytes));
    }
    group.caches[i] = std::move(wide);
  }
}

absl::StatusOr<Scores> Decoder::Begin(absl::Span<const int64_t> prompt) {
  if (prompt.empty()) return absl::InvalidArgumentError("the prompt has no token");
  ONWARD_RETURN_IF_ERROR(Check(prompt));
  if (!signature_.caches.empty() && context_ > 0 &&
      static_cast<int64_t>(prompt.size()) > context_) {
    return absl::InvalidArgumentError(absl::StrCat("the prompt has ", prompt.size(),
                                                   " tokens, the model's context is ", context_));
  }
  constexpr int64_t kRoom = 16;  // for tokens to come
  if (signature_.past_length) capacity_ = static_cast<int64_t>(prompt.size()) + kRoom;
  rows_ = {std::vector<int64_t>(prompt.begin(), prompt.end())};
  MakeGroups();
  for (const DecoderSignature::Cache& cache : signature_.caches)
    groups_[0].caches.push_back(EmptyCache(cache, 1));
  return Read(prompt.size());
}

absl::StatusOr<Scores> Decoder::Next(absl::Span<const int64_t> tokens,
                                     absl::Span<const int> parents) {
  if (tokens.empty() || tokens.size() != parents.size())
    return absl::InvalidArgumentError("each row needs a token and a parent");
  for (const int parent : parents) {
    if (parent < 0 || parent >= static_cast<int>(rows_.size()))
      return absl::InvalidArgumentError(absl::StrCat("there is no row ", parent));
  }
  ONWARD_RETURN_IF_ERROR(Check(tokens));
  if (full())
    return absl::OutOfRangeError(absl::StrCat("the context of ", context_, " tokens is full"));
  if (!IsIdentity(parents, rows_.size())) {
    std::vector<std::vector<int64_t>> rows;
    for (const int parent : parents) rows.push_back(rows_[static_cast<size_t>(parent)]);
    std::vector<Group> before = std::move(groups_);
    rows_ = std::move(rows);
    MakeGroups();
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (signature_.any_batch) {
        for (const Value& cache : before[0].caches)
          groups_[g].caches.push_back(Gathered(cache.tensor(), parents));
      } else {
        // Caches that are written in place cannot be shared.
        for (const Value& cache : before[static_cast<size_t>(parents[g])].caches)
          groups_[g].caches.push_back(signature_.past_length ? Value(cache.tensor().Clone())
                                                             : cache);
      }
    }
  }
  for (size_t i = 0; i < tokens.size(); ++i) rows_[i].push_back(tokens[i]);
  return Read(1);
}

absl::StatusOr<Scores> Decoder::Read(size_t count) {
  Scores scores(rows_.size());
  const size_t length = rows_[0].size();
  for (Group& group : groups_) {
    size_t begin = length - count, width = count;
    if (signature_.caches.empty()) {
      width = context_ > 0 ? std::min(length, static_cast<size_t>(context_)) : length;
      begin = length - width;
    } else if (signature_.length) {
      width = static_cast<size_t>(*signature_.length);  // a run's tokens; checked in Run
    }
    Tensor last;
    for (size_t at = begin; at < length; at += width) {
      ONWARD_ASSIGN_OR_RETURN(last, Run(group, at, std::min(width, length - at)));
    }
    const int64_t read = static_cast<int64_t>((length - begin - 1) % width);
    for (size_t i = 0; i < group.rows.size(); ++i)
      scores[group.rows[i]] = RowOf(last, static_cast<int64_t>(i), read);
  }
  return scores;
}

// `width` columns, those from `count` on being padding.
Tensor Decoder::Ids(const Group& group, size_t input, size_t begin, size_t count,
                    size_t width) const {
  const DType dtype = session_->inputs()[input].type.dtype;
  const bool mask = signature_.mask == input, positions = signature_.positions == input;
  Tensor ids(dtype, {static_cast<int64_t>(group.rows.size()), static_cast<int64_t>(width)});
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = ids.mutable_data<T>();
    for (const size_t row : group.rows) {
      for (size_t i = 0; i < width; ++i, ++out) {
        const int64_t value = mask        ? int64_t{i < count}
                              : positions ? static_cast<int64_t>(begin + i)
                              : i < count ? rows_[row][begin + i]
                                          : 0;
        if constexpr (std::is_integral_v<T>) {
          *out = static_cast<T>(value);
        } else {
          *out = static_cast<T>(static_cast<float>(value));
        }
      }
    }
  });
  return ids;
}

absl::StatusOr<Tensor> Decoder::Run(Group& group, size_t begin, size_t count) {
  const bool cached = !signature_.caches.empty();
  const size_t width = signature_.length ? static_cast<size_t>(*signature_.length) : count;
  if (cached && count != width) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model takes ", width, " tokens at a time, which do not divide what there is to read"));
  }
  std::vector<Value> inputs(session_->inputs().size());
  inputs[signature_.tokens] = Ids(group, signature_.tokens, begin, count, width);
  const size_t base = cached ? begin : 0;  // positions count within what the model sees
  if (signature_.positions)
    inputs[*signature_.positions] = Ids(group, *signature_.positions, base, count, width);
  if (signature_.mask) {
    const size_t seen = cached ? begin + count : count;
    inputs[*signature_.mask] = Ids(group, *signature_.mask, 0, seen, cached ? seen : width);
  }
  MakeRoom(group, begin + count);
  outputs_.resize(session_->outputs().size());
  for (size_t i = 0; i < signature_.caches.size(); ++i) {
    inputs[signature_.caches[i].past] = group.caches[i];
    if (signature_.past_length) outputs_[signature_.caches[i].present] = group.caches[i];
  }
  if (signature_.past_length) {
    Tensor filled(DType::kInt64, {static_cast<int64_t>(group.rows.size())});
    std::fill_n(filled.mutable_data<int64_t>(), group.rows.size(), static_cast<int64_t>(begin));
    inputs[*signature_.past_length] = std::move(filled);
  }
  ONWARD_RETURN_IF_ERROR(session_->Run(inputs, absl::MakeSpan(outputs_)));
  for (size_t i = 0; i < signature_.caches.size(); ++i)
    group.caches[i] = std::exchange(outputs_[signature_.caches[i].present], Value());
  const Value& scores = outputs_[signature_.scores];
  if (!scores.is_tensor()) return absl::InvalidArgumentError("the scores are not a tensor");
  const Tensor& tensor = scores.tensor();
  const int64_t rows = static_cast<int64_t>(group.rows.size());
  const int64_t length = tensor.rank() == 3 ? tensor.dims()[1] : 1;
  const bool fits = (tensor.rank() == 2 || tensor.rank() == 3) && tensor.dims()[0] == rows &&
                    tensor.dims().back() > 0 &&
                    (length == static_cast<int64_t>(width) || length == 1);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("the scores of ", rows, " rows of ", width,
                                                   " tokens are ", DimsString(tensor.dims())));
  }
  if (length == 1 && count != width) {
    return absl::InvalidArgumentError(absl::StrCat("the model scores only the last of ", width,
                                                   " tokens, and there are ", count));
  }
  return tensor;
}

}  // namespace onward::generation

#include "onward/generation/decoder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "generation/compile_decoder.h"
#include "generation/decoder_tensors.h"
#include "generation/fixed_cache.h"
#include "onward/device_tensor.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

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
    return absl::InvalidArgumentError(
        absl::StrCat("the context is ", context, " tokens, must be at least 0"));
  made->session_ = std::move(session);
  made->context_ = context;
  const DecoderSignature& signature = made->signature_;
  if (signature.caches.empty() && signature.length)
    made->context_ = context == 0 ? *signature.length : std::min(context, *signature.length);
  return made;
}

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Create(Model model, const SessionOptions& options,
                                                         int64_t context) {
  if (HasCaches(model.graph))
    ONWARD_RETURN_IF_ERROR(OptimizeAndUseFixedCaches(model, options).status());
  ONWARD_ASSIGN_OR_RETURN(auto session,
                          CompileDecoder(std::move(model), options, /*caches_on_device=*/true));
  return Create(std::move(session), context);
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

absl::Status Decoder::MakeRoom(Group& group, size_t length) {
  const auto needed = static_cast<int64_t>(length);
  for (size_t i = 0; signature_.past_length && i < group.caches.size(); ++i) {
    const auto axis = static_cast<size_t>(signature_.caches[i].length_axis);
    const int64_t before = group.caches[i].tensor().dims()[axis];
    if (before >= needed) continue;
    ONWARD_ASSIGN_OR_RETURN(const Tensor old, ToHost(group.caches[i].tensor()));
    capacity_ = std::max({capacity_, needed, 2 * before});
    Tensor wide = EmptyCache(session_->inputs(), signature_.caches[i],
                             static_cast<int64_t>(group.rows.size()), capacity_);
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
  return absl::OkStatus();
}

absl::StatusOr<Scores> Decoder::Begin(absl::Span<const int64_t> prompt) {
  ONWARD_RETURN_IF_ERROR(CheckPrompt(signature_, context_, prompt));
  constexpr int64_t kRoom = 16;  // for tokens to come
  if (signature_.past_length) capacity_ = static_cast<int64_t>(prompt.size()) + kRoom;
  rows_ = {std::vector<int64_t>(prompt.begin(), prompt.end())};
  MakeGroups();
  for (const DecoderSignature::Cache& cache : signature_.caches)
    groups_[0].caches.push_back(EmptyCache(session_->inputs(), cache, 1, capacity_));
  return Read(prompt.size());
}

absl::StatusOr<Scores> Decoder::Next(absl::Span<const int64_t> tokens,
                                     absl::Span<const int> parents) {
  if (tokens.empty() || tokens.size() != parents.size())
    return absl::InvalidArgumentError(absl::StrCat("each row needs a token and a parent: got ",
                                                   tokens.size(), " tokens and ", parents.size(),
                                                   " parents"));
  for (const int parent : parents) {
    if (parent < 0 || parent >= static_cast<int>(rows_.size()))
      return absl::InvalidArgumentError(
          absl::StrCat("there is no row ", parent, ": the decoder has ", rows_.size(), " rows"));
  }
  ONWARD_RETURN_IF_ERROR(CheckTokens(signature_, tokens));
  if (full())
    return absl::OutOfRangeError(absl::StrCat("the context of ", context_, " tokens is full"));
  if (!IsIdentity(parents, rows_.size())) {
    std::vector<std::vector<int64_t>> rows;
    for (const int parent : parents) rows.push_back(rows_[static_cast<size_t>(parent)]);
    std::vector<Group> before = std::move(groups_);
    rows_ = std::move(rows);
    MakeGroups();
    ONWARD_RETURN_IF_ERROR(TakeCaches(before, parents));
  }
  for (size_t i = 0; i < tokens.size(); ++i) rows_[i].push_back(tokens[i]);
  return Read(1);
}

absl::Status Decoder::TakeCaches(absl::Span<const Group> before, absl::Span<const int> parents) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    const Group& from = before[signature_.any_batch ? 0 : static_cast<size_t>(parents[g])];
    for (const Value& cache : from.caches) {
      // Caches that are written in place cannot be shared.
      if (!signature_.any_batch && !signature_.past_length) {
        groups_[g].caches.push_back(cache);
        continue;
      }
      ONWARD_ASSIGN_OR_RETURN(const Tensor held, ToHost(cache.tensor()));
      groups_[g].caches.push_back(signature_.any_batch ? Gathered(held, parents) : held.Clone());
    }
  }
  return absl::OkStatus();
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
      scores[group.rows[i]] = ScoresAt(last, static_cast<int64_t>(i), read);
  }
  return scores;
}

// `width` columns, those from `count` on being padding.
Tensor Decoder::Ids(const Group& group, size_t input, size_t begin, size_t count,
                    size_t width) const {
  const bool mask = signature_.mask == input, positions = signature_.positions == input;
  return IdTensor(session_->inputs()[input].type.dtype, group.rows.size(), width,
                  [&](size_t row, size_t i) {
                    return mask        ? int64_t{i < count}
                           : positions ? static_cast<int64_t>(begin + i)
                           : i < count ? rows_[group.rows[row]][begin + i]
                                       : 0;
                  });
}

absl::StatusOr<Tensor> Decoder::Run(Group& group, size_t begin, size_t count) {
  const bool cached = !signature_.caches.empty();
  const size_t width = signature_.length ? static_cast<size_t>(*signature_.length) : count;
  if (cached && count != width) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model takes ", width,
                     " tokens at a time, which does not divide the number of tokens to read"));
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
  ONWARD_RETURN_IF_ERROR(MakeRoom(group, begin + count));
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
  ONWARD_ASSIGN_OR_RETURN(
      const int64_t length,
      ScoredPlaces(outputs_[signature_.scores], static_cast<int64_t>(group.rows.size()),
                   static_cast<int64_t>(width)));
  if (length == 1 && count != width) {
    return absl::InvalidArgumentError(absl::StrCat("the model scores only the last of ", width,
                                                   " tokens, and there are ", count));
  }
  return outputs_[signature_.scores].tensor();
}

}  // namespace onward::generation

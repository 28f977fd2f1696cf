// TfIdfVectorizer.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

enum class Weighting { kTf, kIdf, kTfIdf };

// A tree of tokens: a path from the root is an n-gram.
template <typename Token>
struct Trie {
  struct Entry {
    std::unordered_map<Token, int32_t> next;
    int64_t column = -1;  // of the output; -1: no n-gram ends here
  };
  std::vector<Entry> entries = std::vector<Entry>(1);

  void Insert(const Token* tokens, int64_t count, int64_t column) {
    size_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto [found, added] =
          entries[at].next.try_emplace(tokens[i], static_cast<int32_t>(entries.size()));
      at = static_cast<size_t>(found->second);
      if (added) entries.emplace_back();
    }
    entries[at].column = column;
  }
};

struct Grams {
  int64_t min_length = 1, max_length = 1, max_skip = 0;
  Weighting weighting = Weighting::kTf;
  int64_t columns = 0;
  std::vector<float> weights;  // per column; empty: all 1
};

template <typename Token, typename Element>
class TfIdfVectorizer : public Kernel {
 public:
  TfIdfVectorizer(Grams grams, Trie<Token> trie)
      : grams_(std::move(grams)), trie_(std::move(trie)) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (dims.empty() || dims.size() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("X has shape ", DimsString(dims), ", not [C] or [N,C]"));
    }
    Dims out(dims.begin(), dims.end());
    out.back() = grams_.columns;
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kFloat32, out).status());
    context.SetOutput(0, out);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const int64_t length = in.dims.back(), rows = in.rank() == 1 ? 1 : in.dim(0);
    context.ParallelFor(rows, std::max<int64_t>(1, 1024 / (length + 1)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t r = begin; r < end; ++r)
                            CountRow(context.in<Element>(0) + r * length, length,
                                     context.out<float>(0) + r * grams_.columns);
                        });
    return absl::OkStatus();
  }

 private:
  void CountRow(const Element* tokens, int64_t length, float* out) const {
    std::fill_n(out, grams_.columns, 0.0f);
    int64_t shortest = grams_.min_length;
    // Beyond the row's length a larger skip finds only single tokens.
    const int64_t skips = std::min(grams_.max_skip, length);
    for (int64_t step = 1; step <= skips + 1; ++step) {
      for (int64_t start = 0; start < length; ++start)
        CountFrom(tokens, start, length, step, shortest, out);
      // Single tokens are the same for every skip and count once.
      if (shortest == 1 && ++shortest > grams_.max_length) break;
    }
    if (grams_.weighting == Weighting::kTf) return;
    for (int64_t c = 0; c < grams_.columns; ++c) {
      if (grams_.weighting == Weighting::kIdf) out[c] = out[c] > 0 ? 1.0f : 0.0f;
      if (!grams_.weights.empty()) out[c] *= grams_.weights[static_cast<size_t>(c)];
    }
  }
  void CountFrom(const Element* tokens, int64_t start, int64_t length, int64_t step,
                 int64_t shortest, float* out) const {
    size_t at = 0;
    int64_t position = start;
    for (int64_t n = 1; n <= grams_.max_length && position < length; ++n, position += step) {
      const auto& entry = trie_.entries[at];
      const auto found = entry.next.find(static_cast<Token>(tokens[position]));
      if (found == entry.next.end()) return;
      at = static_cast<size_t>(found->second);
      if (const int64_t column = trie_.entries[at].column; column >= 0 && n >= shortest)
        out[column] += 1;
    }
  }
  Grams grams_;
  Trie<Token> trie_;
};

// Fills the tree from the pool: ngram_counts[i] is where the n-grams of i + 1 tokens start.
template <typename Token>
absl::StatusOr<Trie<Token>> BuildTrie(const std::vector<Token>& pool,
                                      const std::vector<int64_t>& starts,
                                      const std::vector<int64_t>& columns, const Grams& grams) {
  Trie<Token> trie;
  const auto size = static_cast<int64_t>(pool.size());
  size_t gram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t begin = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : size;
    const int64_t length = static_cast<int64_t>(i) + 1;
    if (begin < 0 || begin > end || end > size || (end - begin) % length != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("ngram_counts ", DimsString(starts), " do not fit a pool of ", size));
    }
    for (int64_t at = begin; at < end; at += length, ++gram) {
      if (gram >= columns.size())
        return absl::InvalidArgumentError(
            "ngram_indexes has fewer elements than there are n-grams");
      if (length >= grams.min_length && length <= grams.max_length)
        trie.Insert(pool.data() + at, length, columns[gram]);
    }
  }
  return trie;
}

absl::StatusOr<Grams> ReadGrams(const Attributes& attributes, const std::vector<int64_t>& columns) {
  Grams grams;
  grams.min_length = attributes.Int("min_gram_length", 1);
  grams.max_length = attributes.Int("max_gram_length", 1);
  grams.max_skip = attributes.Int("max_skip_count", 0);
  grams.weights = attributes.Floats("weights");
  const std::string mode = attributes.String("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return absl::InvalidArgumentError(absl::StrCat("mode is '", mode, "', not TF, IDF or TFIDF"));
  grams.weighting = mode == "TF"    ? Weighting::kTf
                    : mode == "IDF" ? Weighting::kIdf
                                    : Weighting::kTfIdf;
  for (const int64_t column : columns) {
    if (column < 0 || column > std::numeric_limits<int32_t>::max())
      return absl::InvalidArgumentError(absl::StrCat("ngram_indexes has ", column));
    grams.columns = std::max(grams.columns, column + 1);
  }
  if (grams.min_length < 1 || grams.max_length < grams.min_length || grams.max_skip < 0 ||
      grams.columns == 0 ||
      (!grams.weights.empty() && static_cast<int64_t>(grams.weights.size()) < grams.columns)) {
    return absl::InvalidArgumentError("lengths, skip count, indexes or weights contradict");
  }
  return grams;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTfIdfVectorizer(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  const std::vector<int64_t> columns = attributes.Ints("ngram_indexes");
  const std::vector<int64_t> starts = attributes.Ints("ngram_counts");
  ONWARD_ASSIGN_OR_RETURN(Grams grams, ReadGrams(attributes, columns));
  if (spec.input_dtype(0) == DType::kString) {
    ONWARD_ASSIGN_OR_RETURN(
        Trie<std::string> trie,
        BuildTrie<std::string>(attributes.Strings("pool_strings"), starts, columns, grams));
    return std::make_unique<TfIdfVectorizer<std::string, std::string>>(std::move(grams),
                                                                       std::move(trie));
  }
  ONWARD_ASSIGN_OR_RETURN(Trie<int64_t> trie, BuildTrie<int64_t>(attributes.Ints("pool_int64s"),
                                                                 starts, columns, grams));
  if (spec.input_dtype(0) == DType::kInt32) {
    return std::make_unique<TfIdfVectorizer<int64_t, int32_t>>(std::move(grams), std::move(trie));
  }
  return std::make_unique<TfIdfVectorizer<int64_t, int64_t>>(std::move(grams), std::move(trie));
}

constexpr KernelEntry kKernels[] = {
    {"", "TfIdfVectorizer", "tfidf_vectorizer_reference", MakeTfIdfVectorizer},
};

}  // namespace

KernelList ReferenceTfidf() { return kKernels; }

}  // namespace onward::kernels::cpu

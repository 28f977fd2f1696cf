// Embeddings of integer ids.
#pragma once

#include <optional>

#include "onward/nn/module.h"

namespace onward::nn {

struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = std::nullopt;  // its row starts as zeros and does not learn
  // Rows that are looked up are scaled to at most this norm, of the order `norm_type`. An optimizer
  // (training/optimizers) steps from the scaled rows, as PyTorch scales them in the table.
  std::optional<double> max_norm = std::nullopt;
  double norm_type = 2;
};

class Embedding : public Layer {
 public:
  using Options = EmbeddingOptions;
  Embedding(Module& parent, std::string_view name, int64_t count, int64_t size,
            const Options& options = {});
  Expr Forward(const Expr& ids) override;

  Expr weight;

 private:
  const Options options_;
};

enum class BagMode : uint8_t { kSum, kMean, kMax };

struct EmbeddingBagOptions {
  BagMode mode = BagMode::kMean;
  std::optional<int64_t> padding_idx = std::nullopt;  // ids that count for nothing
  std::optional<double> max_norm = std::nullopt;      // as Embedding's
  double norm_type = 2;
};

// One vector a bag of ids. Ids are [bags, size], or [ids] with the offsets [bags] at which bags
// begin. An empty bag is zeros.
class EmbeddingBag : public Module {
 public:
  using Options = EmbeddingBagOptions;
  EmbeddingBag(Module& parent, std::string_view name, int64_t count, int64_t size,
               const Options& options = {});
  // `weights` of the ids' shape: only of sums.
  Expr operator()(const Expr& ids, const Expr& offsets = {}, const Expr& weights = {});

  Expr weight;

 private:
  // `vectors`: [bags, n, size]; `counts`: [bags, n] of 0 and 1, or weights.
  Expr Combine(const Expr& vectors, const Expr& counts);

  const Options options_;
};

}  // namespace onward::nn

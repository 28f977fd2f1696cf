// Normalizations. What is not affine has no parameters.
#pragma once

#include "onward/nn/module.h"

namespace onward::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // PyTorch's: the share of the new batch
  bool affine = true;
  bool track_running_stats = true;  // false: always the batch's own
};

// The input is [batch, channels, ...] with any number of axes.
class BatchNorm : public Layer {
 public:
  using Options = BatchNormOptions;
  BatchNorm(Module& parent, std::string_view name, int64_t channels, const Options& options = {});
  Expr Forward(const Expr& x) override;

  Expr weight, bias, running_mean, running_var;

 private:
  Expr OfBatch(const Expr& x);

  const int64_t channels_;
  const Options options_;
};
using BatchNorm1d = BatchNorm;
using BatchNorm2d = BatchNorm;
using BatchNorm3d = BatchNorm;
using SyncBatchNorm = BatchNorm;  // a training is on one device

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
};

// Over the last axes, of the sizes `shape`.
class LayerNorm : public Layer {
 public:
  using Options = LayerNormOptions;
  LayerNorm(Module& parent, std::string_view name, std::vector<int64_t> shape,
            const Options& options = {});
  LayerNorm(Module& parent, std::string_view name, int64_t size, const Options& options = {})
      : LayerNorm(parent, name, std::vector<int64_t>{size}, options) {}
  Expr Forward(const Expr& x) override;

  Expr weight, bias;

 private:
  const std::vector<int64_t> shape_;
  const Options options_;
};

struct RMSNormOptions {
  double eps = 0;  // 0: PyTorch's default, the dtype's epsilon
  bool elementwise_affine = true;
};

class RMSNorm : public Layer {
 public:
  using Options = RMSNormOptions;
  RMSNorm(Module& parent, std::string_view name, int64_t size, const Options& options = {});
  Expr Forward(const Expr& x) override;

  Expr weight;

 private:
  const int64_t size_;
  const Options options_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
};

class GroupNorm : public Layer {
 public:
  using Options = GroupNormOptions;
  GroupNorm(Module& parent, std::string_view name, int64_t groups, int64_t channels,
            const Options& options = {});
  Expr Forward(const Expr& x) override;

  Expr weight, bias;

 private:
  const int64_t groups_, channels_;
  const Options options_;
};

struct InstanceNormOptions {
  double eps = 1e-5;
  bool affine = false;
  double momentum = 0.1;  // the share of the new batch
  bool track_running_stats = false;
};

// In the metadata of a BatchNormalization that training/prepare/mode.h makes an
// InstanceNormalization while the model trains, whose running statistics are means over the batch.
inline constexpr char kPerInstanceKey[] = "onward.per_instance";

class InstanceNorm : public Layer {
 public:
  using Options = InstanceNormOptions;
  InstanceNorm(Module& parent, std::string_view name, int64_t channels,
               const Options& options = {});
  Expr Forward(const Expr& x) override;

  Expr weight, bias, running_mean, running_var;

 private:
  const int64_t channels_;
  const Options options_;
};
using InstanceNorm1d = InstanceNorm;
using InstanceNorm2d = InstanceNorm;
using InstanceNorm3d = InstanceNorm;

// x / (k + alpha / size * sum of squares of `size` channels around it) ^ beta.
struct LocalResponseNorm {
  int64_t size;
  double alpha = 1e-4, beta = 0.75, k = 1;
  Expr operator()(const Expr& x) const;
};

}  // namespace onward::nn

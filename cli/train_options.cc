#include "cli/train_options.h"

#include "absl/strings/str_cat.h"

namespace onward::cli {

absl::Status ApplyCommonOptions(const CommonOptions& common, TrainConfig& config) {
  if (common.provider != "cpu") config.set_provider(common.provider);
  if (common.threads > 0) config.set_threads(common.threads);
  if (common.seed) config.set_seed(*common.seed);
  if (common.deterministic) config.set_deterministic(true);
  if (common.max_memory > 0) config.set_max_memory(absl::StrCat(common.max_memory));
  if (common.precision == "strict")
    config.mutable_precision()->set_arithmetic(PrecisionConfig::STRICT);
  if (common.precision == "fast") config.mutable_precision()->set_arithmetic(PrecisionConfig::FAST);
  return absl::OkStatus();
}

}  // namespace onward::cli

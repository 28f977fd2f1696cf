// Models by name, as configurations and tests build them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/nn/module.h"

namespace onward {

// In the graph's metadata of a language model: the most tokens that it can see.
inline constexpr char kContextKey[] = "onward.context";

// Numbers, switches being 0 or 1. Complete: every option of the model is there.
class ModelOptions {
 public:
  explicit ModelOptions(std::map<std::string, double> values) : values_(std::move(values)) {}
  double number(const std::string& name) const { return values_.at(name); }
  int64_t size(const std::string& name) const { return static_cast<int64_t>(values_.at(name)); }
  bool on(const std::string& name) const { return values_.at(name) != 0; }

 private:
  std::map<std::string, double> values_;
};

struct ModelOption {
  std::string_view name;
  double default_value;
  double least, most;  // both included
  bool whole = true;   // a whole number
};

struct ModelEntry {
  std::string_view name;
  std::string_view summary;
  std::vector<ModelOption> options;
  // Writes the model's inputs and outputs.
  void (*build)(GraphBuilder& builder, nn::Module& root, const ModelOptions& options);
};

// Every model. Images are the input "image" [batch, channels, height, width], texts "tokens"
// int64[batch, length]; scores are the output "logits".
const std::vector<ModelEntry>& Models();

// The model with parameters drawn from `seed`, in float, or in double for the option "double".
// InvalidArgument: an unknown name or option (with the known ones), a value out of range.
absl::StatusOr<Model> BuildModel(std::string_view name,
                                 const std::map<std::string, double>& options = {},
                                 uint64_t seed = 0);

}  // namespace onward

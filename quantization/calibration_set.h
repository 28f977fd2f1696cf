// Samples of a model's inputs in a directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/session.h"

namespace onward::quantization {

// One sample is
//   NAME.npz          arrays by the names of inputs,
//   a directory       NAME.npy by the names of inputs (unsafe characters as "_"), or input_K.pb in
//                     the order of inputs, as the data sets of the standard's cases have them,
//   NAME.npy          where the model has one input.
// Samples are ordered by name; other files, such as output_K.pb, are passed over.
class CalibrationSet {
 public:
  // The samples in `directory`, or `directory` itself where it is one. NotFound: there is none.
  static absl::StatusOr<CalibrationSet> Open(const std::string& directory, const Graph& graph);

  // One sample that is in no file.
  static CalibrationSet Of(Session::Inputs inputs);

  size_t size() const { return samples_.size(); }
  const std::string& path(size_t i) const { return samples_[i]; }
  // InvalidArgument names the sample, and the input that it lacks.
  absl::StatusOr<Session::Inputs> Read(size_t i) const;

 private:
  struct Input {
    std::string name;
    Type type;
    bool optional = false;
  };
  absl::StatusOr<Session::Inputs> ReadAny(const std::string& path) const;

  std::vector<Input> inputs_;
  std::vector<std::string> samples_;
  std::optional<Session::Inputs> given_;
};

}  // namespace onward::quantization

// A model's notes on the data that it was trained on (docs/data.md).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/data_config.pb.h"
#include "training/data/model_notes.h"

namespace onward::cli {

// Lets the notes stand for what `data` leaves out: how images are prepared, and which folder is
// which class. Says on stderr how images are prepared. Returns the names of the model's classes;
// none where it does not name them.
absl::StatusOr<std::vector<std::string>> ApplyNotes(const training::Notes& metadata,
                                                    DataConfig& data);

}  // namespace onward::cli

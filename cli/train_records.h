// The files that `onward train` leaves in its output directory besides checkpoints and the model.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "onward/train_config.pb.h"
#include "onward/training.h"
#include "training/log/confusion_table.h"
#include "training/log/curve_plot.h"
#include "training/log/event_file.h"
#include "training/log/metrics_file.h"

namespace onward::cli {

// metrics.jsonl, loss.svg, and TensorBoard's files where the config asks for them. Not thread-safe.
class TrainRecords {
 public:
  // `done`: the step that a resumed training continues after, whose records are read; 0: a new one.
  // `evaluated`: false: its evaluation is still to be made.
  absl::Status Open(const std::filesystem::path& output, const LogConfig& config, int64_t done,
                    bool evaluated);
  absl::Status Step(const StepReport& report);
  absl::Status Evaluation(const EvaluationReport& report);
  absl::Status Close();  // writes loss.svg
  // Prints the last evaluation's table on the standard output; `classes`: names, or none.
  void PrintConfusion(const std::vector<std::string>& classes) const;
  // ", 3 of them skipped", ", broken examples left out 2 times": what was, of the steps.
  std::string LeftOut() const;
  // {"loss", "skipped_steps", "broken_examples", "evaluation"}: of the last step, and of the last
  // evaluation if any.
  nlohmann::json Summary() const;
  // {"classes", "confusion"} of the last evaluation: what PrintConfusion prints.
  nlohmann::json ConfusionSummary(const std::vector<std::string>& classes) const;

 private:
  void ReadHistory(const std::string& path);
  absl::Status Events(const StepReport& report);
  absl::Status Histograms(const StepReport& report);

  std::filesystem::path output_;
  LogConfig config_;
  std::unique_ptr<training::MetricsFile> metrics_;
  std::unique_ptr<training::EventFile> events_;
  training::Curve loss_{"training", {}}, evaluation_{"evaluation", {}};
  training::Confusion confusion_;
  // As metrics.jsonl has them; null where there is none.
  nlohmann::json last_step_, last_evaluation_;
};

// True if confusions tell something: of classes of examples, not of the tokens of a language.
bool ShowsConfusion(const TrainConfig& config);
// [{"target", "prediction", "count"}, ...]: classes by name where they have names, else by number.
nlohmann::json ConfusionJson(const training::Confusion& confusion,
                             const std::vector<std::string>& classes);

}  // namespace onward::cli

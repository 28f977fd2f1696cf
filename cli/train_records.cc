#include "cli/train_records.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "files/write_file.h"
#include "onward/status.h"
#include "training/config/make_loss.h"

namespace onward::cli {
namespace {

// "group0" is optimizer.group[0].
std::string GroupName(size_t group, const StepReport& report) {
  return group + 1 == report.rates.size() ? "default" : absl::StrCat("group", group);
}

nlohmann::json JsonOf(const StepReport& report) {
  nlohmann::json line = {{"step", report.step},        {"epoch", report.epoch},
                         {"loss", report.loss},        {"lr", report.rate},
                         {"seconds", report.seconds},  {"data_seconds", report.data_seconds},
                         {"examples", report.examples}};
  for (size_t i = 0; report.rates.size() > 1 && i < report.rates.size(); ++i)
    line["lr_groups"][GroupName(i, report)] = report.rates[i];
  if (!report.losses.empty()) line["losses"] = report.losses;
  if (report.gradient_norm) line["gradient_norm"] = *report.gradient_norm;
  if (!report.gradient_norms.empty()) line["gradient_norms"] = report.gradient_norms;
  if (report.loss_scale) line["loss_scale"] = *report.loss_scale;
  if (report.skipped) line["skipped"] = true;
  if (report.loss_scale || report.skipped_steps > 0) line["skipped_steps"] = report.skipped_steps;
  if (report.broken_examples > 0) line["broken_examples"] = report.broken_examples;
  return line;
}

nlohmann::json JsonOf(const EvaluationReport& report) {
  nlohmann::json line = {
      {"step", report.step},
      {"epoch", report.epoch},
      {"evaluation", {{"loss", report.evaluation.loss}, {"examples", report.evaluation.examples}}}};
  if (!report.evaluation.losses.empty()) line["evaluation"]["losses"] = report.evaluation.losses;
  if (const auto accuracy = report.evaluation.accuracy())
    line["evaluation"]["accuracy"] = *accuracy;
  for (const auto& [name, value] : report.evaluation.metrics) line["evaluation"][name] = value;
  return line;
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.num_elements()));
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* elements = tensor.view().as<const T>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(elements[i]);
  });
  return values;
}

}  // namespace

absl::Status TrainRecords::Open(const std::filesystem::path& output, const LogConfig& config,
                                int64_t done, bool evaluated) {
  output_ = output;
  config_ = config;
  const std::string path = output / "metrics.jsonl";
  absl::StatusOr<training::MetricsFile> metrics =
      done > 0 ? training::MetricsFile::Continue(path, done, evaluated)
               : training::MetricsFile::Create(path);
  if (!metrics.ok()) return metrics.status();
  metrics_ = std::make_unique<training::MetricsFile>(*std::move(metrics));
  if (done > 0) ReadHistory(path);
  if (!config.tensorboard()) return absl::OkStatus();
  const std::string events = output / "tensorboard";
  // A training that was killed before its first checkpoint left events too.
  absl::StatusOr<std::unique_ptr<training::EventFile>> made =
      training::EventFile::Continue(events, done, evaluated);
  if (!made.ok()) return made.status();
  events_ = *std::move(made);
  return absl::OkStatus();
}

void TrainRecords::ReadHistory(const std::string& path) {
  for (nlohmann::json& line : training::ReadMetrics(path)) {
    if (!line.contains("step") || !line["step"].is_number()) continue;
    const auto step = line["step"].get<double>();
    if (line.contains("evaluation")) {
      evaluation_.points.emplace_back(step, training::MetricOf(line["evaluation"]["loss"]));
      last_evaluation_ = std::move(line);
    } else if (line.contains("loss")) {
      loss_.points.emplace_back(step, training::MetricOf(line["loss"]));
      last_step_ = std::move(line);
    }
  }
}

absl::Status TrainRecords::Step(const StepReport& report) {
  loss_.points.emplace_back(report.step, report.loss);
  last_step_ = {{"loss", report.loss},
                {"skipped_steps", report.skipped_steps},
                {"broken_examples", report.broken_examples}};
  if (metrics_ == nullptr) return absl::OkStatus();  // its error was that of Open
  if (report.step % config_.every_steps() == 0) {
    ONWARD_RETURN_IF_ERROR(metrics_->Write(JsonOf(report)));
    if (events_ != nullptr) ONWARD_RETURN_IF_ERROR(Events(report));
  }
  if (events_ == nullptr) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(Histograms(report));
  // A checkpoint of this step must find it in the files of a process that is killed.
  return events_->Flush();
}

absl::Status TrainRecords::Events(const StepReport& report) {
  ONWARD_RETURN_IF_ERROR(events_->Scalar("train/loss", report.step, report.loss));
  for (size_t i = 0; i < report.losses.size(); ++i) {
    ONWARD_RETURN_IF_ERROR(
        events_->Scalar(absl::StrCat("train/losses/", i), report.step, report.losses[i]));
  }
  ONWARD_RETURN_IF_ERROR(events_->Scalar("train/lr", report.step, report.rate));
  for (size_t i = 0; i + 1 < report.rates.size(); ++i)
    ONWARD_RETURN_IF_ERROR(events_->Scalar(absl::StrCat("train/lr/", GroupName(i, report)),
                                           report.step, report.rates[i]));
  if (report.gradient_norm)
    ONWARD_RETURN_IF_ERROR(
        events_->Scalar("train/gradient_norm", report.step, *report.gradient_norm));
  if (report.loss_scale)
    ONWARD_RETURN_IF_ERROR(events_->Scalar("train/loss_scale", report.step, *report.loss_scale));
  for (const auto& [name, norm] : report.gradient_norms)
    ONWARD_RETURN_IF_ERROR(
        events_->Scalar(absl::StrCat("gradient_norm/", name), report.step, norm));
  return absl::OkStatus();
}

absl::Status TrainRecords::Histograms(const StepReport& report) {
  for (const auto& [name, weights] : report.weights)
    ONWARD_RETURN_IF_ERROR(
        events_->Histogram(absl::StrCat("weight/", name), report.step, FloatsOf(weights)));
  for (const auto& [name, gradient] : report.gradients)
    ONWARD_RETURN_IF_ERROR(
        events_->Histogram(absl::StrCat("gradient/", name), report.step, FloatsOf(gradient)));
  return absl::OkStatus();
}

absl::Status TrainRecords::Evaluation(const EvaluationReport& report) {
  evaluation_.points.emplace_back(report.step, report.evaluation.loss);
  confusion_ = report.evaluation.confusion;
  last_evaluation_ = JsonOf(report);
  if (metrics_ == nullptr) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(metrics_->Write(last_evaluation_));
  if (events_ == nullptr) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(events_->Scalar("evaluation/loss", report.step, report.evaluation.loss));
  if (const auto accuracy = report.evaluation.accuracy())
    ONWARD_RETURN_IF_ERROR(events_->Scalar("evaluation/accuracy", report.step, *accuracy));
  for (const auto& [name, value] : report.evaluation.metrics)
    ONWARD_RETURN_IF_ERROR(events_->Scalar("evaluation/" + name, report.step, value));
  return events_->Flush();
}

absl::Status TrainRecords::Close() {
  training::CurvePlot plot{"loss", "step", "loss", {loss_, evaluation_}};
  ONWARD_RETURN_IF_ERROR(files::WriteFile(output_ / "loss.svg", training::DrawSvg(plot)));
  return events_ == nullptr ? absl::OkStatus() : events_->Flush();
}

void TrainRecords::PrintConfusion(const std::vector<std::string>& classes) const {
  if (!confusion_.empty()) std::printf("%s", training::ConfusionTable(confusion_, classes).c_str());
}

nlohmann::json TrainRecords::ConfusionSummary(const std::vector<std::string>& classes) const {
  nlohmann::json summary = nlohmann::json::object();
  if (!classes.empty()) summary["classes"] = classes;
  if (!confusion_.empty()) summary["confusion"] = ConfusionJson(confusion_, classes);
  return summary;
}

bool ShowsConfusion(const TrainConfig& config) {
  return !config.data().has_text() && training::ClassAxis(config.loss()) != -1;
}

nlohmann::json ConfusionJson(const training::Confusion& confusion,
                             const std::vector<std::string>& classes) {
  const auto named = [&](int64_t label) -> nlohmann::json {
    if (label >= 0 && label < static_cast<int64_t>(classes.size()))
      return classes[static_cast<size_t>(label)];
    return label;
  };
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [pair, count] : confusion) {
    list.push_back(
        {{"target", named(pair.first)}, {"prediction", named(pair.second)}, {"count", count}});
  }
  return list;
}

std::string TrainRecords::LeftOut() const {
  std::string text;
  if (last_step_.is_null()) return text;
  if (const int64_t steps = last_step_.value("skipped_steps", int64_t{0}); steps > 0)
    absl::StrAppend(&text, ", ", steps, " of them skipped");
  if (const int64_t examples = last_step_.value("broken_examples", int64_t{0}); examples > 0)
    absl::StrAppend(&text, ", broken examples left out ", examples, " times");
  return text;
}

nlohmann::json TrainRecords::Summary() const {
  nlohmann::json summary = nlohmann::json::object();
  if (!last_step_.is_null()) {
    summary["loss"] = last_step_["loss"];
    summary["skipped_steps"] = last_step_.value("skipped_steps", int64_t{0});
    summary["broken_examples"] = last_step_.value("broken_examples", int64_t{0});
  }
  if (!last_evaluation_.is_null()) summary["evaluation"] = last_evaluation_["evaluation"];
  return summary;
}

}  // namespace onward::cli

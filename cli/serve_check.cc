#include "cli/serve_check.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serving/repository/load_model.h"

namespace onward::cli {
namespace {

// Keeps what was loaded, so that memory is asked for as the server would.
class ServedCheck {
 public:
  explicit ServedCheck(const serving::ServerOptions& options) : options_(options) {}

  void AddPlace(const serving::ModelSource& place) {
    const auto sources = serving::SourcesAt(place, options_.log);
    if (!sources.ok()) return Note(sources.status());
    sources_.insert(sources_.end(), sources->begin(), sources->end());
  }
  // Ensembles look for their steps among all places.
  void CheckSources() {
    for (const serving::ModelSource& source : sources_) CheckSource(source);
  }

  void Note(const absl::Status& status) {
    if (!status.ok()) problems_.emplace_back(status.message());
  }

  nlohmann::json Json() const {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& model : models_)
      list.push_back({{"name", model->name()}, {"version", model->version()}});
    return {{"models", list}, {"problems", problems_}};
  }

  void Print() const {
    for (const auto& model : models_)
      std::printf("model '%s' version %s can be served\n", model->name().c_str(),
                  model->version().c_str());
    for (const std::string& problem : problems_)
      std::fprintf(stderr, "problem: %s\n", problem.c_str());
  }

  absl::Status status() const {
    if (problems_.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "the server would not start: ", problems_.size(),
        problems_.size() == 1 ? " problem: " : " problems, the first: ", problems_.front()));
  }

 private:
  void CheckSource(const serving::ModelSource& source) {
    if (!names_.insert(source.name).second)
      return Note(absl::AlreadyExistsError(
          absl::StrCat("two models are named '", source.name, "': NAME=MODEL gives another name")));
    serving::LoadContext context;
    context.load_session = options_.load_session;
    context.load_generator = options_.load_generator;
    context.log = options_.log;
    context.find = [this](const std::string& name) { return Find(name); };
    const auto models = serving::LoadModel(source, {}, context);
    if (!models.ok()) return Note(models.status());
    models_.insert(models_.end(), models->begin(), models->end());
  }

  absl::StatusOr<serving::ModelSource> Find(const std::string& name) const {
    for (const serving::ModelSource& source : sources_)
      if (source.name == name) return source;
    return absl::NotFoundError(absl::StrCat("there is no model '", name, "'"));
  }

  const serving::ServerOptions& options_;
  std::vector<serving::ModelSource> sources_;
  std::set<std::string> names_;
  std::vector<std::shared_ptr<serving::ServedModel>> models_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::Status CheckServed(const std::vector<serving::ModelSource>& places,
                         const serving::ServerOptions& options, bool json) {
  ServedCheck check(options);
  check.Note(serving::CheckAddress(options.address));
  for (const serving::ModelSource& place : places) check.AddPlace(place);
  check.CheckSources();
  if (json) {
    std::printf("%s\n",
                check.Json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    check.Print();
  }
  return check.status();
}

}  // namespace onward::cli

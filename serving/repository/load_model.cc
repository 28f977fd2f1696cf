#include "serving/repository/load_model.h"

#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/rewrite/cut_zip_maps.h"
#include "onward/status.h"
#include "serving/repository/config_text.h"
#include "serving/repository/ensemble.h"
#include "serving/repository/labels.h"
#include "serving/repository/or_no_memory.h"
#include "serving/repository/warm_up.h"
#include "serving/repository/without_path.h"

namespace onward::serving {
namespace {

namespace fs = std::filesystem;
using Versions = std::vector<std::shared_ptr<ServedModel>>;

absl::StatusOr<config::ModelConfig> ReadConfig(const ModelSource& source,
                                               const LoadRequest& request, const LogSink& log) {
  if (request.config) return ReadConfigJson(*request.config, source.name, log);
  return ReadConfigFile(source.path, source.name, log);
}

// A model of its own or, where `file` is empty, an ensemble.
absl::StatusOr<ReadEnsembleModel> ReadModel(const ModelSource& source, const std::string& file,
                                            const config::ModelConfig& config,
                                            const LoadContext& context) {
  if (file.empty()) return ReadEnsemble(source, config, context);
  ReadEnsembleModel read;
  ONWARD_ASSIGN_OR_RETURN(read.model, context.load_session.import(file));
  read.labels = CutZipMaps(read.model.graph);
  return read;
}

// Makes the sessions of the places behind the first one.
absl::Status LoadOthers(const ModelSource& source, const std::string& file,
                        const config::ModelConfig& config, const LoadContext& context,
                        ServedModelFacts& facts) {
  if (facts.text != nullptr && facts.text->generates() && facts.places.size() > 1) {
    return absl::UnimplementedError(
        "a model that generates text runs on one device: its instance_group names several");
  }
  for (size_t i = 1; i < facts.places.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(ReadEnsembleModel read, ReadModel(source, file, config, context));
    ONWARD_ASSIGN_OR_RETURN(
        std::shared_ptr<Session> session,
        context.load_session.create(std::move(read.model), facts.places[i].provider));
    facts.others.push_back(std::move(session));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ServedModel>> LoadVersion(const ModelSource& source, int64_t version,
                                                         const std::string& file,
                                                         const config::ModelConfig& config,
                                                         const LoadContext& context) {
  ONWARD_ASSIGN_OR_RETURN(ReadEnsembleModel read, ReadModel(source, file, config, context));
  ServedModelFacts facts;
  ONWARD_ASSIGN_OR_RETURN(
      facts.places,
      InstancePlacesOf(source.name, config, context.load_session.provider, context.log));
  ONWARD_ASSIGN_OR_RETURN(
      std::shared_ptr<Session> session,
      context.load_session.create(std::move(read.model), facts.places[0].provider));
  if (!file.empty()) {
    ONWARD_ASSIGN_OR_RETURN(facts.text, LoadText(*session, {source.name, file, source.path,
                                                            context.load_generator, context.log}));
  }
  ONWARD_RETURN_IF_ERROR(LoadOthers(source, file, config, context, facts));
  // The generator's session has the weights: they are held once.
  if (facts.text != nullptr && facts.text->generates())
    session = std::shared_ptr<Session>(facts.text, facts.text->session());
  facts.version = version;
  facts.deterministic = context.load_session.deterministic;
  facts.directory = source.path;
  facts.config = std::make_shared<config::ModelConfig>(config);
  ONWARD_ASSIGN_OR_RETURN(facts.labels, ReadLabels(config, source.path));
  facts.labels.merge(read.labels);  // labels of files come first
  if (context.statistics != nullptr) facts.statistics = context.statistics(version);
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<ServedModel> model,
                          ServedModel::Create(source.name, std::move(session), std::move(facts)));
  for (Session* each : model->instances().all())
    ONWARD_RETURN_IF_ERROR(RunWarmUp(model->config(), source.path, *each));
  return model;
}

absl::StatusOr<Versions> LoadVersions(const ModelSource& source, const LoadRequest& request,
                                      const LoadContext& context) {
  absl::StatusOr<config::ModelConfig> config = ReadConfig(source, request, context.log);
  if (!config.ok()) return Annotate(config.status(), absl::StrCat("model '", source.name, "':"));
  absl::StatusOr<std::map<int64_t, std::string>> files =
      std::map<int64_t, std::string>{{EnsembleVersion(source), ""}};
  if (!config->has_ensemble_scheduling()) files = VersionsOf(source, *config);
  if (!files.ok()) return Annotate(files.status(), absl::StrCat("model '", source.name, "':"));
  Versions versions;
  for (const auto& [version, file] : *files) {
    auto model = LoadVersion(source, version, file, *config, context);
    if (!model.ok()) {
      return Annotate(model.status(),
                      absl::StrCat("model '", source.name, "', version ", version, ":"));
    }
    versions.push_back(*std::move(model));
  }
  return versions;
}

absl::StatusOr<Versions> LoadFromRequest(const ModelSource& source, const LoadRequest& request,
                                         const LoadContext& context) {
  if (request.files.empty()) return LoadVersions(source, request, context);
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<PrivateDirectory> directory,
                          PrivateDirectory::Create());
  for (const auto& [name, bytes] : request.files)
    ONWARD_RETURN_IF_ERROR(directory->Write(name, bytes));
  absl::StatusOr<Versions> versions =
      LoadVersions({source.name, directory->path()}, request, context);
  if (versions.ok()) return versions;
  return WithoutPath(versions.status(), directory->path());
}

}  // namespace

absl::StatusOr<Versions> LoadModel(const ModelSource& source, const LoadRequest& request,
                                   const LoadContext& context) {
  try {
    return LoadFromRequest(source, request, context);
  } catch (const std::bad_alloc&) {
    return OrNoMemory([&] {
      return absl::ResourceExhaustedError(
          absl::StrCat("there is not enough memory to load the model '", source.name, "'"));
    });
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("the model '", source.name, "' cannot be loaded: ", error.what()));
  }
}

}  // namespace onward::serving

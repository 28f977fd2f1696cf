#include "serving/repository/instance_places.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

constexpr char kCuda[] = "cuda:";

absl::Status Differs(const char* field, const std::string& expected, int64_t got) {
  return absl::InvalidArgumentError(absl::StrCat("the model's configuration: instance_group: ",
                                                 field, ": expected ", expected, ", got ", got));
}

std::vector<std::string> AllDevices() {
  std::vector<std::string> all;
  while (executors::FindProvider(absl::StrCat(kCuda, all.size())).ok())
    all.push_back(absl::StrCat(kCuda, all.size()));
  return all;
}

absl::StatusOr<std::vector<std::string>> ProvidersOf(const config::InstanceGroup& group,
                                                     const std::string& provider) {
  if (provider == "cpu" || group.kind() == config::InstanceGroup::KIND_CPU)
    return std::vector<std::string>{"cpu"};
  if (group.gpus().empty()) {
    if (group.kind() == config::InstanceGroup::KIND_GPU) return AllDevices();
    return std::vector<std::string>{provider};
  }
  std::vector<std::string> providers;
  for (const int32_t gpu : group.gpus()) {
    if (gpu < 0 || gpu >= executors::kMostDevices)
      return Differs("gpus", absl::StrCat("from 0 to ", executors::kMostDevices - 1), gpu);
    providers.push_back(absl::StrCat(kCuda, gpu));
  }
  return providers;
}

}  // namespace

absl::StatusOr<std::vector<InstancePlace>> InstancePlacesOf(const std::string& name,
                                                            const config::ModelConfig& config,
                                                            const std::string& provider,
                                                            const LogSink& log) {
  std::vector<InstancePlace> places;
  for (const config::InstanceGroup& group : config.instance_group()) {
    if (group.count() < 0) return Differs("count", "0 or more", group.count());
    if (provider == "cpu" &&
        (group.kind() == config::InstanceGroup::KIND_GPU || group.gpus_size() > 0))
      Warn(log, "repository",
           absl::StrCat("the instances of '", name,
                        "' that want a GPU run on the cpu (--provider cuda serves on GPUs)"));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> providers, ProvidersOf(group, provider));
    for (const std::string& each : providers) {
      const auto there =
          std::find_if(places.begin(), places.end(),
                       [&](const InstancePlace& place) { return place.provider == each; });
      const auto runs = static_cast<size_t>(group.count());
      if (there == places.end()) {
        places.push_back({each, runs});
      } else {
        there->runs += runs;
      }
    }
  }
  if (places.empty()) places.push_back({provider, 0});
  return places;
}

void SetInstancePlaces(const std::string& name, const std::vector<InstancePlace>& places,
                       config::ModelConfig& config) {
  if (!config.instance_group().empty()) return;
  for (const InstancePlace& place : places) {
    config::InstanceGroup& group = *config.add_instance_group();
    group.set_name(name);
    group.set_count(static_cast<int>(std::max<size_t>(place.runs, 1)));
    group.set_kind(config::InstanceGroup::KIND_CPU);
    if (place.provider == "cpu") continue;
    group.set_kind(config::InstanceGroup::KIND_GPU);
    int gpu = 0;
    if (place.provider.starts_with(kCuda))
      (void)absl::SimpleAtoi(place.provider.substr(sizeof(kCuda) - 1), &gpu);
    group.add_gpus(gpu);
  }
}

}  // namespace onward::serving

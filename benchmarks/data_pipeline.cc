// Images per second that a data set gives, by the number of reading threads.
// Usage: data_pipeline DATA.textproto [DIRECTORY [BATCH [SECONDS]]], with a message
// onward.DataConfig such as benchmarks/cifar10_data.textproto; its paths are below DIRECTORY.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "google/protobuf/text_format.h"
#include "onward/status.h"
#include "training/data/loader.h"

namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

absl::Status Measure(const std::string& path, const std::string& directory, int64_t batch,
                     double seconds) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  onward::DataConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(text.str(), &config))
    return absl::InvalidArgumentError("'" + path + "' is not an onward.DataConfig");
  const auto opened = Clock::now();
  ONWARD_ASSIGN_OR_RETURN(const auto data, onward::OpenDataset(config, directory));
  std::printf("%lld examples, opened in %.2f s\n", static_cast<long long>(data->size()),
              Seconds(opened));
  ONWARD_ASSIGN_OR_RETURN(onward::training::LoaderOptions options,
                          onward::training::OptionsOf(config, *data, /*training=*/true));
  options.batch_size = batch;
  for (const int workers : {0, 1, 2, 4}) {
    options.workers = workers;
    ONWARD_ASSIGN_OR_RETURN(const auto loader, onward::training::Loader::Create(data, options));
    ONWARD_RETURN_IF_ERROR(loader->Next().status());
    int64_t examples = 0;
    const auto begin = Clock::now();
    while (Seconds(begin) < seconds) {
      ONWARD_ASSIGN_OR_RETURN(const onward::training::Batch got, loader->Next());
      examples += got.begin()->second.dims()[0];
    }
    std::printf("%d workers: %8.0f examples/s\n", workers,
                static_cast<double>(examples) / Seconds(begin));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: data_pipeline DATA.textproto [DIRECTORY [BATCH [SECONDS]]]\n");
    return 2;
  }
  const absl::Status status =
      Measure(argv[1], argc > 2 ? argv[2] : "", argc > 3 ? std::atoll(argv[3]) : 128,
              argc > 4 ? std::atof(argv[4]) : 3);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

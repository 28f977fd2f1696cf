// What loading MODEL adds to the process's memory, as factors of the file's size: at the peak, and
// when the session is ready. Usage: load_memory MODEL
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "onward/session.h"

namespace {

// A field of /proc/self/status, which has KiB, in MB (10^6 bytes): "VmHWM", "RssAnon".
double Megabytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    std::istringstream rest(line.substr(field.size() + 1));
    double kilobytes = 0;
    rest >> kilobytes;
    return kilobytes * 1024 / 1e6;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: load_memory MODEL\n");
    return 2;
  }
  const double before = Megabytes("VmRSS");
  const auto session = onward::Session::Load(argv[1]);
  if (!session.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(session.status().message()).c_str());
    return 1;
  }
  const double file = static_cast<double>(std::filesystem::file_size(argv[1])) / 1e6;
  const double peak = Megabytes("VmHWM") - before, ready = Megabytes("VmRSS") - before;
  std::printf("file %.1f MB; added at the peak %.1f MB (%.2fx), when ready %.1f MB (%.2fx)\n", file,
              peak, peak / file, ready, ready / file);
  return 0;
}

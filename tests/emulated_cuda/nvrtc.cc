// NVRTC on the emulated device: sources are compiled by the host's compiler, a second each. A
// library of its own, which the provider loads as it loads NVRTC.
#include <nvrtc.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/emulated_cuda/library.h"
#include "tests/emulated_cuda/state.h"

namespace fs = std::filesystem;
namespace emulated = onward::emulated_cuda;

struct _nvrtcProgram {
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string log, code;
};

namespace {

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// The standard library is the host's own.
bool IsOurs(const std::string& header) { return header.find('/') != std::string::npos; }

void WriteSources(const _nvrtcProgram& program, const fs::path& folder) {
  for (const auto& [name, text] : program.headers) {
    if (!IsOurs(name)) continue;
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  std::ofstream source(folder / "kernel.cc");
  source << program.source << "\n";
  static const std::regex kernel(R"(__global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\()");
  for (std::sregex_iterator it(program.source.begin(), program.source.end(), kernel), end;
       it != end; ++it) {
    const std::string name = (*it)[1];
    source << "extern \"C\" cudaError_t " << emulated::kLaunchPrefix << name
           << "(const cudaLaunchConfig_t* config, void** arguments) {\n"
           << "  return onward::emulated_cuda::LaunchWith(config, " << name << ", arguments);\n}\n";
  }
}

// Returns whether the compiler made the library.
bool Compile(_nvrtcProgram& program, const fs::path& folder) {
  WriteSources(program, folder);
  const std::string command =
      std::string(ONWARD_COMPILER) + " -std=c++20 -O1 -shared -fPIC -w -Werror=narrowing " +
      ONWARD_SANITIZER_OPTIONS + " -isystem " + ONWARD_CUDA_INCLUDE + " -include " +
      ONWARD_DEVICE_CODE + " -I '" + folder.string() + "' '" + (folder / "kernel.cc").string() +
      "' -o '" + (folder / "kernel.so").string() + "' '" + ONWARD_DEVICE_LIBRARY + "' > '" +
      (folder / "log").string() + "' 2>&1";
  const bool made = std::system(command.c_str()) == 0;
  program.log = ReadFile(folder / "log");
  if (!made) return false;
  const std::string library = ReadFile(folder / "kernel.so");
  emulated::CodeHead head = {};
  std::memcpy(head.magic, emulated::kCodeMagic, sizeof(head.magic));
  head.size = library.size();
  program.code.assign(reinterpret_cast<const char*>(&head), sizeof(head));
  program.code += library;
  return true;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*,
                               int num_headers, const char* const* headers,
                               const char* const* names) {
  *program = new _nvrtcProgram{source, {}, {}, {}};
  for (int i = 0; i < num_headers; ++i) (*program)->headers.emplace_back(names[i], headers[i]);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  {
    const emulated::Entry entry("nvrtcCompileProgram");
    ++emulated::GetState().counters.compilations;
    if (entry.error() != cudaSuccess) {
      program->log = "kernel.cu(1): error: a failure that was asked for";
      return NVRTC_ERROR_COMPILATION;
    }
  }
  std::string folder = (fs::temp_directory_path() / "emulated_nvrtc_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return NVRTC_ERROR_OUT_OF_MEMORY;
  const bool made = Compile(*program, folder);
  fs::remove_all(folder);
  return made ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  *size = program->code.size();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  std::memcpy(code, program->code.data(), program->code.size());
  return NVRTC_SUCCESS;
}

}  // extern "C"

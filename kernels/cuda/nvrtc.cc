#include "kernels/cuda/nvrtc.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/kernel_headers.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr size_t kLongestLog = 2000;

// The calls of the library that are used here.
struct Nvrtc {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) code_size = nullptr;
  decltype(&nvrtcGetCUBIN) code = nullptr;
};

template <typename F>
bool Find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

// The library stays loaded.
absl::StatusOr<Nvrtc> Load() {
  const std::string name = absl::StrCat("libnvrtc.so.", CUDART_VERSION / 1000);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  Nvrtc nvrtc;
  if (library == nullptr || !Find(library, "nvrtcVersion", nvrtc.version) ||
      !Find(library, "nvrtcGetErrorString", nvrtc.error_string) ||
      !Find(library, "nvrtcCreateProgram", nvrtc.create) ||
      !Find(library, "nvrtcDestroyProgram", nvrtc.destroy) ||
      !Find(library, "nvrtcCompileProgram", nvrtc.compile) ||
      !Find(library, "nvrtcGetProgramLogSize", nvrtc.log_size) ||
      !Find(library, "nvrtcGetProgramLog", nvrtc.log) ||
      !Find(library, "nvrtcGetCUBINSize", nvrtc.code_size) ||
      !Find(library, "nvrtcGetCUBIN", nvrtc.code)) {
    return absl::UnimplementedError(absl::StrCat("NVRTC cannot be loaded (", dlerror(), ")"));
  }
  return nvrtc;
}

const absl::StatusOr<Nvrtc>& Loaded() {
  static const auto* nvrtc = new absl::StatusOr<Nvrtc>(Load());
  return *nvrtc;
}

// The compiler's messages for the program, "" for none.
std::string LogOf(const Nvrtc& nvrtc, nvrtcProgram program) {
  size_t size = 0;
  if (nvrtc.log_size(program, &size) != NVRTC_SUCCESS || size == 0) return "";
  std::string log(size, '\0');
  if (nvrtc.log(program, log.data()) != NVRTC_SUCCESS) return "";
  log.resize(std::min(log.find('\0'), kLongestLog));
  return std::string(absl::StripAsciiWhitespace(log));
}

absl::Status Refused(const Nvrtc& nvrtc, nvrtcResult result, const std::string& log) {
  if (result == NVRTC_SUCCESS) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("NVRTC: ", nvrtc.error_string(result), log.empty() ? "" : ": ", log));
}

absl::StatusOr<MachineCode> Compile(const Nvrtc& nvrtc, nvrtcProgram program,
                                    const std::vector<const char*>& options) {
  const nvrtcResult result =
      nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  MachineCode code;
  code.log = LogOf(nvrtc, program);
  ONWARD_RETURN_IF_ERROR(Refused(nvrtc, result, code.log));
  size_t size = 0;
  ONWARD_RETURN_IF_ERROR(Refused(nvrtc, nvrtc.code_size(program, &size), ""));
  code.bytes.resize(size);
  ONWARD_RETURN_IF_ERROR(Refused(nvrtc, nvrtc.code(program, code.bytes.data()), ""));
  return code;
}

}  // namespace

absl::Status FindNvrtc() { return Loaded().status(); }

absl::StatusOr<std::string> NvrtcIdentity() {
  ONWARD_RETURN_IF_ERROR(FindNvrtc());
  int major = 0, minor = 0;
  ONWARD_RETURN_IF_ERROR(Refused(*Loaded(), Loaded()->version(&major, &minor), ""));
  return absl::StrCat("nvrtc ", major, ".", minor, " cuda ", CUDART_VERSION, " headers ",
                      std::string(KernelHeadersDigest()));
}

absl::StatusOr<MachineCode> CompileToMachineCode(const std::string& source,
                                                 const std::string& architecture,
                                                 const std::vector<std::string>& options) {
  ONWARD_RETURN_IF_ERROR(FindNvrtc());
  const Nvrtc& nvrtc = *Loaded();
  std::vector<const char*> names, texts;
  for (const KernelHeader& header : KernelHeaders()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  nvrtcProgram program = nullptr;
  ONWARD_RETURN_IF_ERROR(
      Refused(nvrtc,
              nvrtc.create(&program, source.c_str(), "kernel.cu", static_cast<int>(names.size()),
                           texts.data(), names.data()),
              ""));
  const std::string target = absl::StrCat("--gpu-architecture=", architecture);
  std::vector<const char*> all = {target.c_str(), "--std=c++20",
                                  "--device-as-default-execution-space"};
  for (const std::string& option : options) all.push_back(option.c_str());
  absl::StatusOr<MachineCode> code = Compile(nvrtc, program, all);
  nvrtc.destroy(&program);
  return code;
}

}  // namespace onward::kernels::cuda

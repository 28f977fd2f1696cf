// A driver of CUDA for planning alone: what cuDNN asks of libcuda.so.1 before it says that its
// compiled kernels are supported. Code is taken and thrown away; nothing runs.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace {

constexpr int kSuccess = 0, kNotSupported = 801, kNotFound = 500;
char object[64];  // what all handles point to

int Give(void** handle) {
  *handle = object;
  return kSuccess;
}

}  // namespace

// Calls that succeed and do nothing.
#define ONWARD_DRIVER_CALL(name) \
  extern "C" int name() { return kSuccess; }
ONWARD_DRIVER_CALL(cuInit)
ONWARD_DRIVER_CALL(cuCtxGetLimit)
ONWARD_DRIVER_CALL(cuCtxPopCurrent_v2)
ONWARD_DRIVER_CALL(cuCtxPushCurrent_v2)
ONWARD_DRIVER_CALL(cuCtxPopCurrent)
ONWARD_DRIVER_CALL(cuCtxPushCurrent)
ONWARD_DRIVER_CALL(cuCtxSetCurrent)
ONWARD_DRIVER_CALL(cuFuncSetAttribute)
ONWARD_DRIVER_CALL(cuKernelSetAttribute)
ONWARD_DRIVER_CALL(cuLaunchCooperativeKernel)
ONWARD_DRIVER_CALL(cuLaunchKernel)
ONWARD_DRIVER_CALL(cuLaunchKernelEx)
ONWARD_DRIVER_CALL(cuLibraryLoadFromFile)
ONWARD_DRIVER_CALL(cuLibraryUnload)
ONWARD_DRIVER_CALL(cuLinkAddData)
ONWARD_DRIVER_CALL(cuLinkAddData_v2)
ONWARD_DRIVER_CALL(cuLinkComplete)
ONWARD_DRIVER_CALL(cuLinkCreate)
ONWARD_DRIVER_CALL(cuLinkCreate_v2)
ONWARD_DRIVER_CALL(cuLinkDestroy)
ONWARD_DRIVER_CALL(cuMemcpyDtoH)
ONWARD_DRIVER_CALL(cuMemcpyDtoH_v2)
ONWARD_DRIVER_CALL(cuMemcpyHtoD)
ONWARD_DRIVER_CALL(cuMemcpyHtoD_v2)
ONWARD_DRIVER_CALL(cuModuleUnload)
ONWARD_DRIVER_CALL(cuOccupancyMaxActiveClusters)
ONWARD_DRIVER_CALL(cuOccupancyMaxPotentialClusterSize)
ONWARD_DRIVER_CALL(cuStreamGetCtx)
ONWARD_DRIVER_CALL(cuTensorMapEncodeIm2col)
ONWARD_DRIVER_CALL(cuTensorMapEncodeTiled)

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
int cuCtxGetDevice(int* device) {
  *device = 0;
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int, int) {
  *value = 1;
  return kSuccess;
}
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return kSuccess;
}
int cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return kSuccess;
}

int cuCtxGetCurrent(void** context) { return Give(context); }
int cuLibraryLoadData(void** library) { return Give(library); }
int cuLibraryGetKernel(void** kernel) { return Give(kernel); }
int cuLibraryGetModule(void** module) { return Give(module); }
int cuKernelGetFunction(void** function) { return Give(function); }
int cuModuleLoadData(void** module) { return Give(module); }
int cuModuleLoadDataEx(void** module) { return Give(module); }
int cuModuleGetFunction(void** function) { return Give(function); }
int cuLibraryGetGlobal(void** address, size_t* bytes) {
  if (bytes != nullptr) *bytes = 8;
  return Give(address);
}
int cuModuleGetGlobal(void** address, size_t* bytes) { return cuLibraryGetGlobal(address, bytes); }
int cuModuleGetGlobal_v2(void** address, size_t* bytes) {
  return cuLibraryGetGlobal(address, bytes);
}

int cuGetErrorString(int, const char** text) {
  *text = "an error of the driver that only plans";
  return kSuccess;
}
int cuGetErrorName(int, const char** text) { return cuGetErrorString(0, text); }
int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotSupported;
}

int cuGetProcAddress_v2(const char* name, void** address, int, uint64_t, void*) {
  *address = dlsym(RTLD_DEFAULT, name);
  if (*address == nullptr) *address = dlsym(RTLD_DEFAULT, (std::string(name) + "_v2").c_str());
  return *address == nullptr ? kNotFound : kSuccess;
}
int cuGetProcAddress(const char* name, void** address, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, address, version, flags, nullptr);
}

}  // extern "C"

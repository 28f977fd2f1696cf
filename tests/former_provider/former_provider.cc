// A provider's library of another build, whose types may be laid out otherwise.
#include <cstdlib>

extern "C" const char* onward_provider_interface() { return "former"; }

extern "C" const void* onward_cuda_provider() { std::abort(); }

# The CUDA provider, where nvcc is found (ONWARD_CUDA=OFF leaves it out): a library that the program loads when it is asked for.
find_program(ONWARD_NVCC nvcc PATHS /usr/local/cuda/bin)
set(ONWARD_CUDA_DEFAULT OFF)
if(ONWARD_NVCC)
  set(ONWARD_CUDA_DEFAULT ON)
endif()
option(ONWARD_CUDA "Build the CUDA provider" ${ONWARD_CUDA_DEFAULT})
find_path(ONWARD_CUDA_INCLUDE cuda_runtime_api.h PATHS /usr/local/cuda/include)
# The emulated device of tests (tests/emulated_cuda) needs the headers alone. Builds with sanitizers have no other.
set(ONWARD_EMULATED_CUDA OFF)
if(ONWARD_CUDA AND EXISTS ${ONWARD_CUDA_INCLUDE}/cudnn.h AND EXISTS ${ONWARD_CUDA_INCLUDE}/nvrtc.h)
  set(ONWARD_EMULATED_CUDA ON)
endif()

# What kernels that are compiled at run time include, as texts in the provider.
set(kernel_headers
    kernels/cuda/nvrtc_standard.h graph/ops/selu.h include/onward/small_float.h kernels/binary_functors.h
    kernels/cast_convert.h kernels/cuda/elementwise_arguments.h kernels/cuda/elementwise_loop.cuh
    kernels/cuda/elements.cuh kernels/cuda/index_math.cuh kernels/cuda/pack.cuh kernels/functor.h
    kernels/unary_functors.h)
list(JOIN kernel_headers "," kernel_header_list)
set(ONWARD_KERNEL_HEADERS ${CMAKE_BINARY_DIR}/kernel_headers/kernel_headers.cc)
add_custom_command(
  OUTPUT ${ONWARD_KERNEL_HEADERS}
  COMMAND ${CMAKE_COMMAND} -D ROOT=${CMAKE_SOURCE_DIR} -D FILES=${kernel_header_list} -D OUTPUT=${ONWARD_KERNEL_HEADERS}
          -P ${CMAKE_SOURCE_DIR}/cmake/kernel_headers.cmake
  DEPENDS ${kernel_headers} ${CMAKE_SOURCE_DIR}/cmake/kernel_headers.cmake COMMENT "kernel_headers.cc" VERBATIM)
# Programs in other folders that have it as a source depend on this.
add_custom_target(onward_kernel_headers DEPENDS ${ONWARD_KERNEL_HEADERS})
if(NOT ONWARD_CUDA OR ONWARD_SANITIZE)
  return()
endif()

find_package(CUDAToolkit REQUIRED)
find_path(CUDNN_INCLUDE cudnn.h PATHS ${CUDAToolkit_INCLUDE_DIRS})
find_library(CUDNN_LIBRARY cudnn PATHS ${CUDAToolkit_LIBRARY_DIR} /usr/local/cuda/lib)
if(NOT CUDNN_INCLUDE OR NOT CUDNN_LIBRARY)
  message(STATUS "Built without the CUDA provider: nvcc is there, but not cuDNN (cudnn.h and libcudnn.so)")
  return()
endif()
if(NOT EXISTS ${ONWARD_CUDA_INCLUDE}/nvrtc.h)
  message(STATUS "Built without the CUDA provider: nvcc is there, but not NVRTC (nvrtc.h)")
  return()
endif()
set(CMAKE_CUDA_COMPILER ${ONWARD_NVCC})
# Flags of our own below: each virtual architecture is one more pass of the front end over every header.
set(CMAKE_CUDA_ARCHITECTURES OFF)
enable_language(CUDA)
# CMake 3.25 does not know the dialects of CUDA 13.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA_STANDARD 20)

file(GLOB sources CONFIGURE_DEPENDS kernels/cuda/*.cc kernels/cuda/*.cu executors/cuda/*.cc)
add_library(onward_cuda MODULE ${sources} ${ONWARD_KERNEL_HEADERS})
set_target_properties(onward_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_include_directories(onward_cuda PUBLIC ${CMAKE_SOURCE_DIR} PRIVATE ${CMAKE_BINARY_DIR}/interface)
target_include_directories(onward_cuda SYSTEM PUBLIC ${CUDNN_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
# Functors that CPU kernels share read std::numeric_limits, whose functions are constexpr and of the host alone.
target_compile_options(onward_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall;--expt-relaxed-constexpr>")
# Machine code for both, and the form from which drivers make that of later ones.
target_compile_options(onward_cuda PRIVATE
                       "$<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_80,code=[compute_80,sm_80,sm_90]>")
install(TARGETS onward_cuda LIBRARY DESTINATION lib)
target_link_libraries(onward_cuda PRIVATE onward_kernels absl CUDA::cudart CUDA::cublasLt ${CUDNN_LIBRARY} ${CMAKE_DL_LIBS})
onward_precompiled_headers(onward_cuda onward_graph)
add_dependencies(onward_cuda onward_kernel_headers)

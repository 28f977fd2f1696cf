# Packages; docs/dependencies.md says why each is there. scripts/setup installs them.
if(DEFINED ENV{ONWARD_DEPS})
  set(onward_deps $ENV{ONWARD_DEPS})
else()
  set(onward_deps $ENV{HOME}/.cache/onward)
endif()
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
find_package(nlohmann_json REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)  # Debian ships no config file for it
# Not find_package(ONNX): its config asks for Protobuf's own config file, which Debian does not ship.
include(${onward_deps}/onnx-1.23.2/lib/cmake/ONNX/ONNXTargets.cmake)

add_library(absl INTERFACE)
target_link_libraries(absl INTERFACE absl::status absl::statusor absl::strings absl::flat_hash_map
                                     absl::inlined_vector absl::span absl::function_ref)
add_library(onnx INTERFACE)
target_link_libraries(onnx INTERFACE ONNX::onnx ONNX::onnx_proto protobuf::libprotobuf)
# Other people's headers do not have to pass our warnings.
foreach(library ONNX::onnx ONNX::onnx_proto protobuf::libprotobuf)
  get_target_property(directories ${library} INTERFACE_INCLUDE_DIRECTORIES)
  if(directories)
    target_include_directories(onnx SYSTEM INTERFACE ${directories})
  endif()
endforeach()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # The sloppiness lets objects with a precompiled header be cached; relative paths let every clone share the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${CCACHE_PROGRAM})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()

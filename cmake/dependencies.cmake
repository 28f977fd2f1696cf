# The packages as two libraries, and the tools of the build.
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)

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
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/compile_cached ${CMAKE_SOURCE_DIR})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()

# The messages that configure training, compiled from training/**/*.proto into the library.
file(GLOB_RECURSE protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/training/*.proto)
protobuf_generate(TARGET onward_training LANGUAGE cpp PROTOS ${protos} IMPORT_DIRS ${CMAKE_SOURCE_DIR} PROTOC_OUT_DIR ${CMAKE_BINARY_DIR}
                  OUT_VAR generated)
set_source_files_properties(${generated} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-w;-Og")
target_include_directories(onward_training SYSTEM PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)
if(ONWARD_SANITIZE STREQUAL "thread")
  target_include_directories(onward_training BEFORE PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/cmake/thread_sanitizer>)
endif()

# The server is part of the command alone: it is not installed as a library.
find_package(Boost 1.81 REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
file(GLOB_RECURSE sources CONFIGURE_DEPENDS serving/*.cc)
list(FILTER sources EXCLUDE REGEX "/serving/grpc/[^/]*\\.cc$")
# Requests wait for these; the others work when a model is loaded, when somebody administers, for a text, or in the client.
set(hot "/serving/(http/|protocol/|scheduling/|statistics/model_|endpoints/(call|infer)|repository/queue_|\
(keys|model_repository|request_trace|routes|served_model)\\.cc)")
# Boost's headers leave no room for others' precompiled ones.
set(with_boost "/serving/(client/(http_client|load|reply_reader|server_connection)|\
http/(client_place|connection|connection_body|connection_reply|http_server|reply_mail))\\.cc")
add_library(onward_serving STATIC)
foreach(reads_boost INCLUDE EXCLUDE)
  foreach(is_hot INCLUDE EXCLUDE)
    set(some ${sources})
    list(FILTER some ${reads_boost} REGEX ${with_boost})
    list(FILTER some ${is_hot} REGEX ${hot})
    onward_units(units serving_${reads_boost}_${is_hot} 8 ${some})
    target_sources(onward_serving PRIVATE ${units})
    if(reads_boost STREQUAL "INCLUDE")
      set_source_files_properties(${units} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(is_hot STREQUAL "EXCLUDE")
      set_source_files_properties(${units} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Og>)
    endif()
  endforeach()
endforeach()
target_include_directories(onward_serving SYSTEM PRIVATE ${Boost_INCLUDE_DIRS})
target_link_libraries(onward_serving PUBLIC onward_options onward_generation onward_executors onward_telemetry nlohmann_json::nlohmann_json absl
                                            simdjson::simdjson Threads::Threads ZLIB::ZLIB OpenSSL::SSL)
onward_precompiled_headers(onward_serving onward_graph ${ONWARD_PRECOMPILED})

# The configuration of a model, as repositories have it, and the messages of gRPC, whose tests need no gRPC.
set(serving_messages ${CMAKE_BINARY_DIR}/serving_messages)
file(MAKE_DIRECTORY ${serving_messages})
foreach(proto serving/repository/model_config serving/grpc/messages/inference)
  set(made ${serving_messages}/${proto}.pb.h ${serving_messages}/${proto}.pb.cc)
  add_custom_command(OUTPUT ${made}
                     COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR} --cpp_out ${serving_messages} ${CMAKE_SOURCE_DIR}/${proto}.proto
                     DEPENDS ${CMAKE_SOURCE_DIR}/${proto}.proto protobuf::protoc COMMENT "protoc ${proto}.proto" VERBATIM)
  set_source_files_properties(${made} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-w;-Og")
  target_sources(onward_serving PRIVATE ${made})
endforeach()
target_include_directories(onward_serving SYSTEM PUBLIC ${serving_messages})
target_link_libraries(onward_serving PUBLIC protobuf::libprotobuf)
if(ONWARD_SANITIZE STREQUAL "thread")
  target_include_directories(onward_serving BEFORE PUBLIC ${CMAKE_SOURCE_DIR}/cmake/thread_sanitizer)
endif()

# The page at /: its files become texts in the program.
file(GLOB page_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/serving/page/*.html ${CMAKE_SOURCE_DIR}/serving/page/*.css
     ${CMAKE_SOURCE_DIR}/serving/page/*.js ${CMAKE_SOURCE_DIR}/serving/page/*.svg)
list(JOIN page_files "," page_file_list)
set(page_source ${CMAKE_BINARY_DIR}/serving_page/page_files.cc)
add_custom_command(
  OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -D FILES=${page_file_list} -D OUTPUT=${page_source} -P ${CMAKE_SOURCE_DIR}/cmake/page_files.cmake
  DEPENDS ${page_files} ${CMAKE_SOURCE_DIR}/cmake/page_files.cmake COMMENT "page_files.cc" VERBATIM)
target_sources(onward_serving PRIVATE ${page_source})
if(ONWARD_SANITIZE MATCHES "thread")
  # The sanitizer does not know fences; Asio's queues have locks besides.
  target_compile_definitions(onward_serving PRIVATE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()

# gRPC, off by default: Debian's version lacks years of fixes, and most servers need none.
option(ONWARD_GRPC "Serve by gRPC too; needs libgrpc++-dev (scripts/setup grpc)" OFF)
if(ONWARD_GRPC)
  pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc++)
  file(GLOB grpc_sources CONFIGURE_DEPENDS serving/grpc/*.cc)
  add_library(onward_serving_grpc STATIC ${grpc_sources})
  target_link_libraries(onward_serving_grpc PUBLIC onward_serving PRIVATE PkgConfig::GRPC)
  onward_precompiled_headers(onward_serving_grpc onward_graph ${ONWARD_PRECOMPILED})
  onward_compile_quickly(onward_serving_grpc)
endif()

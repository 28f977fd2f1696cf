# The server is part of the command alone: it is not installed as a library.
find_package(Boost 1.81 REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
file(GLOB_RECURSE sources CONFIGURE_DEPENDS serving/*.cc)
add_library(onward_serving STATIC ${sources})
target_include_directories(onward_serving SYSTEM PRIVATE ${Boost_INCLUDE_DIRS})
target_link_libraries(onward_serving PUBLIC onward_options onward_executors onward_telemetry nlohmann_json::nlohmann_json absl
                                            simdjson::simdjson Threads::Threads ZLIB::ZLIB OpenSSL::SSL)
onward_precompiled_headers(onward_serving onward_graph ${ONWARD_PRECOMPILED})
set_source_files_properties(serving/http/connection.cc serving/http/http_server.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
onward_compile_quickly(onward_serving)

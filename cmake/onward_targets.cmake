# Compiler settings of our own code, and the one way to declare a library of a top folder.
set(ONWARD_SANITIZE "" CACHE STRING "Sanitizers to build with, as of the presets asan and tsan")

add_library(onward_options INTERFACE)
target_compile_options(
  onward_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-Wno-sign-compare;-fno-math-errno;-fstack-protector-strong>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees uninitialised reads in Abseil's inlined vectors that are none.
  target_compile_options(onward_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
endif()
target_compile_definitions(onward_options INTERFACE $<$<CONFIG:Release>:_GLIBCXX_ASSERTIONS>)
if(ONWARD_SANITIZE)
  add_compile_options(-fsanitize=${ONWARD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${ONWARD_SANITIZE})
endif()

# Headers of the standard library and of packages that most sources read: two thirds of what a source costs to compile. None of
# ours, which change, and none that few read: every source pays for what is here (ONNX's schemas 0.3 s each, GoogleTest 0.2 s).
# Sources that are compiled with other options leave them out.
set(ONWARD_PRECOMPILED
    <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <optional> <set> <string> <string_view>
    <unordered_map> <utility> <vector> <absl/container/inlined_vector.h> <absl/status/status.h> <absl/status/statusor.h>
    <absl/strings/str_cat.h> <absl/strings/str_join.h> <absl/types/span.h>)

# onward_precompiled_headers(<target> <owner> <header>...): <owner> compiles the headers, all other targets use its file.
function(onward_precompiled_headers target owner)
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # for ccache
  endif()
endfunction()

# onward_compile_quickly(<target>): for code whose own speed is nobody's concern.
function(onward_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Og>)
endfunction()

# onward_units(<result> <name> <most> <source>...): sources of which each includes about <most> of one folder, whose headers the
# compiler then reads once. They name what they include as seen from the root, so that all clones share their objects. The name of
# a source decides which others stand beside it: a new one changes its own unit only. Builds without ONWARD_UNITS compile each
# source alone, which shows what a source forgot to include.
option(ONWARD_UNITS "Compile several sources of a folder as one" ON)
function(onward_units result name most)
  if(NOT ONWARD_UNITS)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(folders "")
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    cmake_path(GET path PARENT_PATH folder)
    list(APPEND folders ${folder})
    list(APPEND sources_of_${folder} ${path})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(units "")
  foreach(folder IN LISTS folders)
    list(LENGTH sources_of_${folder} count)
    set(parts 1)  # a power of two, which seldom changes
    while(count GREATER most)
      math(EXPR parts "${parts} * 2")
      math(EXPR count "${count} / 2")
    endwhile()
    set(made "")
    foreach(path IN LISTS sources_of_${folder})
      string(MD5 digest ${path})
      string(SUBSTRING ${digest} 0 4 digest)
      math(EXPR part "0x${digest} % ${parts}")
      string(APPEND text_of_${folder}_${part} "#include \"${path}\"\n")
      list(APPEND made ${part})
    endforeach()
    list(REMOVE_DUPLICATES made)
    foreach(part IN LISTS made)
      set(unit ${CMAKE_BINARY_DIR}/units/${name}/${folder}_${part}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text_of_${folder}_${part}}" @ONLY)
      list(APPEND units ${unit})
    endforeach()
  endforeach()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

# onward_library(<folder> DEPENDS <library>... [SOURCES <source>...] [QUICKLY <regex>] [TOGETHER <regex>]): all sources below
# <folder>, CUDA ones excepted, and SOURCES as onward_<folder>. Those that match QUICKLY hold no loop over elements and are
# compiled quickly, those that match TOGETHER in units.
function(onward_library folder)
  cmake_parse_arguments(ARG "" "QUICKLY;TOGETHER" "DEPENDS;SOURCES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/${folder}/cuda/")
  set(units "")
  if(ARG_TOGETHER)
    set(together ${sources})
    list(FILTER together INCLUDE REGEX ${ARG_TOGETHER})
    list(REMOVE_ITEM sources ${together})
    onward_units(units ${folder} 4 ${together})
  endif()
  add_library(onward_${folder} STATIC ${sources} ${units} ${ARG_SOURCES})
  if(ARG_QUICKLY)
    list(FILTER sources INCLUDE REGEX ${ARG_QUICKLY})
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Og>)
  endif()
  target_include_directories(onward_${folder} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                             $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(onward_${folder} PUBLIC $<BUILD_INTERFACE:onward_options> ${ARG_DEPENDS})
  onward_precompiled_headers(onward_${folder} onward_graph ${ONWARD_PRECOMPILED})
  set_target_properties(onward_${folder} PROPERTIES EXPORT_NAME ${folder})
  install(TARGETS onward_${folder} EXPORT onward ARCHIVE DESTINATION lib)
endfunction()

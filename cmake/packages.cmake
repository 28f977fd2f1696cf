# Packages that Onward's libraries link; docs/dependencies.md says why each is there, scripts/setup installs them. Installed
# with the libraries: find_package(onward) reads it too.
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
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
# Optional: formats of ImageDecoder.
find_package(TIFF QUIET)
pkg_check_modules(WEBP QUIET IMPORTED_TARGET libwebp)
pkg_check_modules(OPENJPEG QUIET IMPORTED_TARGET libopenjp2)
# Optional: training in several processes.
find_package(Gloo QUIET CONFIG)
find_package(nlohmann_json REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)  # Debian ships no config file for it
# Not find_package(ONNX): its config asks for Protobuf's own config file, which Debian does not ship.
include(${onward_deps}/onnx-1.23.2/lib/cmake/ONNX/ONNXTargets.cmake)

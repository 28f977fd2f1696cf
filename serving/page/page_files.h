// The files of the page at /, which the build puts into the program.
#pragma once

#include <string_view>

#include "absl/types/span.h"

namespace onward::serving {

struct PageFile {
  std::string_view name;  // "page.css"
  std::string_view text;
};

// index.html and what it refers to. The definition is made by cmake/page_files.cmake.
absl::Span<const PageFile> PageFiles();

}  // namespace onward::serving

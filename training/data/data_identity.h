// The identity of a training's data, so that one that resumes can tell whether they are the same.
#pragma once

#include <map>
#include <string>

#include "onward/data_config.pb.h"

namespace onward::training {

// The fields of `config` that decide what the examples are, by their paths; files and directories
// by their contents, so that data that were only moved stay the same. Files up to 4 GiB and
// directories up to 1 GiB and 20,000 files are read whole, of larger ones 4096 places in the file,
// or files that make about so much, beside all names and sizes: a change of the others that keeps
// the size is not seen. Relative paths are below `directory`.
std::map<std::string, std::string> DataIdentity(const DataConfig& config,
                                                const std::string& directory);

// The contents of one file or directory, in words: "9912422 bytes, checksum 7f3a09c1".
std::string ContentsOf(const std::string& path);

}  // namespace onward::training

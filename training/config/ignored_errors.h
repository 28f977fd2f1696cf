// Drops what a parser of the text format says, for callers that only ask whether it could read.
#pragma once

#include <google/protobuf/io/tokenizer.h>

#include <string>

namespace onward::training {

class IgnoredErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

}  // namespace onward::training

// Where the fields of a message are in a JSON text, for errors that name line and column.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace onward {

class JsonPlaces {
 public:
  struct Place {
    int line = 0, column = 0;  // from 0
  };

  // `text` is sound JSON. InvalidArgument, with file, line and column: a member that the message
  // has no field for, or nesting deeper than 100.
  absl::Status Scan(const std::string& path, std::string_view text,
                    const google::protobuf::Descriptor& type);

  // Of "a.b[2].c", or of the innermost field around it that the text has.
  Place Of(std::string field) const;

 private:
  std::map<std::string, Place> places_;
};

}  // namespace onward

// The places of a message's fields in a text, for errors that name line and column.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

namespace onward::training {

class FieldPlaces {
 public:
  struct Place {
    int line = 0, column = 0;  // from 0
  };

  // The field `name` of the message at `path`, which is at `place`. InvalidArgument, without the
  // place: no such field (field_names.h), or a second one of those that exclude each other.
  absl::StatusOr<const google::protobuf::FieldDescriptor*> Enter(
      const google::protobuf::Descriptor& type, const std::string& path, const std::string& name,
      const std::string& value, Place place);
  void Note(const std::string& path, Place place) { places_.emplace(path, place); }

  // The place of "a.b[2].c", or of the innermost field around it that the text has.
  Place Of(std::string field) const;

 private:
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> chosen_;  // by the path of a oneof: its field
};

// "c.textproto:3:7: message"; the message alone where there is no file.
absl::Status ErrorAt(const std::string& file, FieldPlaces::Place place, const std::string& message);

// The places of a sound JSON text. InvalidArgument, with file, line and column: what Enter refuses,
// or nesting deeper than 100.
absl::Status ScanJson(const std::string& file, std::string_view text,
                      const google::protobuf::Descriptor& type, FieldPlaces& places);
// The same of the text format. Where the text is not sound the scan ends; its parser says why.
absl::Status ScanText(const std::string& file, std::string_view text,
                      const google::protobuf::Descriptor& type, FieldPlaces& places);

}  // namespace onward::training

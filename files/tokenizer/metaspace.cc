#include "files/tokenizer/metaspace.h"

#include "absl/strings/str_cat.h"
#include "files/tokenizer/characters.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {

absl::StatusOr<Metaspace> Metaspace::Read(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only(
      {"type", "replacement", "str_rep", "prepend_scheme", "split", "add_prefix_space"}));
  Metaspace made;
  ONWARD_ASSIGN_OR_RETURN(made.replacement, field.String("replacement"));
  if (CountCharacters(made.replacement) != 1)
    return absl::InvalidArgumentError(
        absl::StrCat(field.path(), ".replacement: must be one character"));
  ONWARD_ASSIGN_OR_RETURN(made.split, field.Bool("split", true));
  // Older files have the flag alone.
  ONWARD_ASSIGN_OR_RETURN(const bool add, field.Bool("add_prefix_space", true));
  ONWARD_ASSIGN_OR_RETURN(const std::string scheme,
                          field.String("prepend_scheme", add ? "always" : "never"));
  if (scheme == "always") {
    made.prepend = Prepend::kAlways;
  } else if (scheme == "first") {
    made.prepend = Prepend::kFirst;
  } else if (scheme == "never") {
    made.prepend = Prepend::kNever;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        field.path(), ".prepend_scheme: '", files::PrintableUtf8(scheme), "' is not supported"));
  }
  return made;
}

}  // namespace onward::tokenizer

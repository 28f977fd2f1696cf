// One field of a configuration by its path, as `--set path.to.field=value` names it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace onward::training {

// Sets one field: names joined by dots, an element of a repeated field by its index
// ("optimizer.group.0.adamw.lr"), an entry of a map by its key ("built.options.width"). `value`
// is written as in the text format, strings without quotes; "[a, b]" gives a repeated field several
// elements. What the field held before is gone. An empty value clears the field, removes the
// element or removes the entry: optimizer.adamw.lr is then the optimizer's default again. A message
// of another kind takes the place of the one that is there ("optimizer.sgd={lr: 0.1}"); one of its
// fields ("optimizer.sgd.lr") is an error where there is one.
// InvalidArgument names the field, with the closest name where there is none such.
absl::Status SetField(google::protobuf::Message& message, std::string_view path,
                      const std::string& value);

// "path=value" as SetField; "path+=value" adds an element to a repeated field.
absl::Status ApplyOverride(google::protobuf::Message& message, std::string_view override_text);

}  // namespace onward::training

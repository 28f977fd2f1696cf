#include "training/config/field_names.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/closest_name.h"
#include "training/config/kinds.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;

// "optimizer.group[0].schedule" -> "schedule".
std::string LastName(const std::string& path) {
  const size_t dot = path.rfind('.');
  std::string last = dot == std::string::npos ? path : path.substr(dot + 1);
  if (const size_t bracket = last.find('['); bracket != std::string::npos) last.resize(bracket);
  return last;
}

// The kind that the value of a former `kind` or `name` stands for: "" for none.
std::string FormerKind(const proto::Descriptor& type, const std::string& value) {
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"kl", "kl_div"}, {"output", "from_model"}, {"poisson", "poisson_nll"}};
  std::string kind = absl::AsciiStrToLower(value);
  for (const auto& [former, now] : kRenamed)
    if (kind == former) kind = std::string(now);
  for (const proto::FieldDescriptor* each : KindsOf(type))
    if (each->name() == kind) return kind;
  return "";
}

// `kind: "mse"`, `name: "Adam"`, `options { ... }`: what is written instead; "" for other fields.
std::string FormerSpelling(const proto::Descriptor& type, const std::string& path,
                           const std::string& name, const std::string& value) {
  const std::vector<const proto::FieldDescriptor*> kinds = KindsOf(type);
  if (kinds.empty() || (name != "kind" && name != "name" && name != "options")) return "";
  const std::string message = LastName(path);
  const bool has_options =
      type.name() == "OptimizerSettings" || type.name() == "ParameterGroupConfig";
  if (name == "options") {
    if (!has_options) return "";
    return absl::StrCat(" is written as the fields of the optimizer's kind now: ", message,
                        " { adamw { lr: 0.001 } }");
  }
  if (name != (type.name() == "OptimizerSettings" ? "name" : "kind")) return "";
  const std::string kind = FormerKind(type, value);
  if (kind.empty())
    return absl::StrCat(" is written as a message of its own now: ", message, " { ",
                        kinds[0]->name(), " {} }; there are ", KindNames(type));
  return absl::StrCat(" is written as a message of its own now: ", message, " { ", kind,
                      has_options ? " { lr: 0.001 } }" : " {} }");
}

// The name today of what had a former name, or has another one in PyTorch.
std::string CalledNow(const proto::Descriptor& type, const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"T_0", "t_0"},
      {"T_max", "total"},
      {"T_mult", "t_mult"},
      {"betas", "beta1 and beta2"},
      {"decoupled", "decoupled_weight_decay"},
      {"eta_min", "least"},
      {"every", "step_size (step) or t_0 (cosine_restarts)"},
      {"frames", "input_lengths (ctc)"},
      {"lengths", "target_lengths (ctc)"},
      {"max_lr", "the optimizer's lr"},
      {"milestone", "milestones (multistep, sequential)"},
      {"min_lr", "least"},
      {"multiplier", "t_mult (cosine_restarts)"},
      {"part", "schedule (sequential)"},
      {"positive_weight", "pos_weight (bce_with_logits)"},
      {"rising", "pct_start (one_cycle)"},
      {"schedulers", "schedule"},
      {"strong_wolfe", "line_search_fn: STRONG_WOLFE"},
      {"sum", "reduction: SUM"},
      {"t_max", "total"},
      {"total_iters", "total"},
      {"total_steps", "total"},
  };
  const std::string& file = type.file()->name();
  if (!absl::EndsWith(file, "/loss_config.proto") &&
      !absl::EndsWith(file, "/optimizer_config.proto") &&
      !absl::EndsWith(file, "/schedule_config.proto"))
    return "";
  for (const auto& [given, now] : kNames)
    if (name == given) return std::string(now);
  return "";
}

// The kinds that have a field of this name: "huber".
std::vector<std::string> KindsWith(const proto::Descriptor& type, const std::string& name) {
  std::vector<std::string> names;
  for (const proto::FieldDescriptor* kind : KindsOf(type))
    if (kind->message_type()->FindFieldByName(name) != nullptr) names.push_back(kind->name());
  return names;
}

std::string Closest(const std::string& name, const std::vector<std::string>& names) {
  const auto begun = std::find_if(names.begin(), names.end(), [&](const std::string& each) {
    return !name.empty() && absl::StartsWith(each, name);
  });
  return begun == names.end() ? ClosestName(name, names) : *begun;
}

absl::Status UnknownField(const proto::Descriptor& type, const std::string& path,
                          const std::string& name, const std::string& value) {
  const std::string field = FieldPath(path, name);
  const std::string former = FormerSpelling(type, path, name, value);
  if (!former.empty()) return absl::InvalidArgumentError(field + former);
  const std::string text = absl::StrCat(field, ": no such field; ");
  if (const std::string now = CalledNow(type, name); !now.empty())
    return absl::InvalidArgumentError(absl::StrCat(text, "it is called ", now));
  if (const auto kinds = KindsWith(type, name); !kinds.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, "it is a field of ", absl::StrJoin(kinds, ", "), ": ", LastName(path),
                     " { ", kinds[0], " { ", name, ": ", value.empty() ? "..." : value, " } }"));
  }
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  if (names.empty())
    return absl::InvalidArgumentError(absl::StrCat(text, LastName(path), " has none"));
  const std::string closest = Closest(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat(text, closest.empty() ? "" : absl::StrCat("did you mean ", closest, "? "),
                   closest.empty() ? "there are " : "There are ", absl::StrJoin(names, ", ")));
}

}  // namespace

std::string FieldPath(const std::string& message, const std::string& name) {
  return message.empty() ? name : absl::StrCat(message, ".", name);
}

absl::StatusOr<const proto::FieldDescriptor*> FindField(const proto::Descriptor& type,
                                                        const std::string& path,
                                                        const std::string& name,
                                                        const std::string& value) {
  const proto::FieldDescriptor* field = type.FindFieldByName(name);
  if (field == nullptr) return UnknownField(type, path, name, value);
  return field;
}

}  // namespace onward::training

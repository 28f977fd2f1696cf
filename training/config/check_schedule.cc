#include "training/config/check_schedule.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace onward {
namespace {

struct KindFields {
  std::string_view kind;
  std::vector<std::string> fields;
};

const std::vector<KindFields>& Table() {
  static const auto* table = new std::vector<KindFields>{
      {"constant", {"start_factor", "total"}},
      {"cosine", {"total", "least"}},
      {"cosine_restarts", {"every", "multiplier", "least"}},
      {"exponential", {"gamma"}},
      {"linear", {"start_factor", "end_factor", "total"}},
      {"multistep", {"milestone", "gamma"}},
      {"one_cycle", {"total", "rising"}},
      {"plateau", {"gamma", "patience", "least", "threshold", "threshold_mode", "cooldown"}},
      {"polynomial", {"total", "power"}},
      {"sequential", {"part", "milestone", "total"}},
      {"step", {"every", "gamma"}},
      {"wsd", {"total", "stable", "decay", "least"}},
  };
  return *table;
}

// The fields of every kind.
constexpr std::string_view kCommon[] = {"kind", "warmup", "warmup_start"};

}  // namespace

ConfigProblem FindUnusedField(const ScheduleConfig& schedule) {
  const auto entry = std::find_if(Table().begin(), Table().end(), [&](const KindFields& each) {
    return each.kind == schedule.kind();
  });
  if (entry == Table().end()) return {};
  if (schedule.has_warmup_start() && schedule.warmup() == 0)
    return {"warmup_start", "is the share of lr that a warm-up starts with; there is no `warmup`"};
  std::vector<const google::protobuf::FieldDescriptor*> given;
  schedule.GetReflection()->ListFields(schedule, &given);
  for (const auto* field : given) {
    const std::string name(field->name());
    if (std::find(std::begin(kCommon), std::end(kCommon), name) != std::end(kCommon)) continue;
    if (std::find(entry->fields.begin(), entry->fields.end(), name) != entry->fields.end())
      continue;
    return {name, absl::StrCat("has no effect on the schedule '", schedule.kind(), "', which has ",
                               absl::StrJoin(entry->fields, ", "), ", warmup and warmup_start")};
  }
  for (const ScheduleConfig& part : schedule.part()) {
    if (part.kind() == "plateau")
      return {"part", "is a plateau, which waits for evaluations and is no function of the step"};
  }
  return {};
}

}  // namespace onward

#include "cli/run_memory.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/byte_text.h"
#include "onward/status.h"

namespace onward::cli {

int64_t RunMemory::total() const {
  return std::max(creation, weights + inputs + values + outputs + measured);
}

nlohmann::json RunMemory::json() const {
  return {{"weights_bytes", weights},       {"inputs_bytes", inputs},
          {"values_bytes", values},         {"outputs_bytes", outputs},
          {"measured_bytes", measured},     {"sized_at_run", sized_at_run},
          {"loading_peak_bytes", creation}, {"total_bytes", total()}};
}

std::string RunMemory::text() const { return absl::StrCat(BytesText(total()), ": ", parts()); }

std::string RunMemory::parts() const {
  std::vector<std::string> parts;
  const auto add = [&](int64_t bytes, const char* what) {
    if (bytes > 0) parts.push_back(absl::StrCat(BytesText(bytes), " of ", what));
  };
  add(weights, "weights");
  add(inputs, "inputs");
  add(values, "values and scratch");
  add(outputs, "outputs");
  std::string text = absl::StrJoin(parts, ", ");
  if (measured > 0)
    absl::StrAppend(&text, ", ", BytesText(measured), " measured in a run, of ", sized_at_run,
                    " nodes whose sizes data decides");
  if (!unmeasured.empty())
    absl::StrAppend(
        &text, "; ", sized_at_run,
        " nodes whose sizes data decides need more, which no run measured: ", unmeasured);
  if (total() == creation && total() > weights + inputs + values + outputs + measured)
    absl::StrAppend(&text, "; loading the model takes most");
  return text;
}

absl::StatusOr<RunMemory> MemoryOfRun(Session& session, const Session::Inputs& inputs,
                                      bool may_run) {
  RunMemory memory;
  ONWARD_ASSIGN_OR_RETURN(const PlannedMemory planned, session.PlanMemory(inputs));
  for (const auto& [name, value] : inputs)
    if (value.is_tensor()) memory.inputs += value.tensor().byte_size();
  MemoryLimit& limit = session.memory();
  memory.creation = limit.peak();
  memory.weights = limit.used() - memory.inputs;
  memory.values = planned.arena;
  memory.outputs = planned.outputs + planned.updates + planned.copied_updates;
  memory.sized_at_run = planned.sized_at_run;
  if (memory.sized_at_run == 0) return memory;
  if (!may_run) {
    memory.unmeasured = "the model is not run";
    return memory;
  }
  const int64_t before = limit.used();
  limit.ResetPeak();
  const auto outputs = session.Run(inputs);
  if (!outputs.ok()) {
    memory.unmeasured = std::string(outputs.status().message());
    return memory;
  }
  memory.measured = std::max<int64_t>(0, limit.peak() - before - memory.values - memory.outputs);
  return memory;
}

absl::StatusOr<PlannedRun> PlanRun(Session& session, InputOptions inputs, bool may_run) {
  ONWARD_RETURN_IF_ERROR(ParseShapes(session.inputs(), inputs.shapes).status());
  inputs.random = true;
  PlannedRun plan;
  const absl::StatusOr<Session::Inputs> fed =
      MakeInputs(session.inputs(), inputs, &plan.taken_as_one);
  if (!fed.ok()) {
    plan.unknown = std::string(fed.status().message());
    return plan;
  }
  ONWARD_ASSIGN_OR_RETURN(plan.memory, MemoryOfRun(session, *fed, may_run));
  return plan;
}

}  // namespace onward::cli

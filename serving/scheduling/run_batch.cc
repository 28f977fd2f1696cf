#include "serving/scheduling/run_batch.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <utility>

#include "onward/status.h"
#include "serving/http/reply_batch.h"
#include "serving/request_trace.h"
#include "serving/scheduling/batch.h"

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;

// Asks the run to stop once all clients have left.
class AllHaveLeft {
 public:
  explicit AllHaveLeft(const WaitingRequests& batch) : here_(batch.size()) {
    for (const WaitingRequest& each : batch)
      callbacks_.emplace_back(each.scheduled.client_left, [this] {
        if (here_.fetch_sub(1) == 1) stop_.request_stop();
      });
  }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::atomic<size_t> here_;
  std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

bool HaveRows(const Session::Outputs& outputs, int64_t rows) {
  return std::all_of(outputs.begin(), outputs.end(), [&](const auto& output) {
    const Value& value = output.second;
    return value.is_tensor() && value.tensor().rank() > 0 && value.tensor().dims()[0] == rows;
  });
}

void RunAlone(WaitingRequest& request, RunPriority priority) {
  const ServedModel& model = *request.scheduled.model;
  RunOptions options;
  options.priority = priority;
  options.cancel = request.scheduled.client_left;
  options.trace = request.scheduled.trace.get();
  if (request.request->timeout) options.deadline = request.arrived + *request.request->timeout;
  const Clock::time_point begin = Clock::now();
  const auto outputs = model.Run(request.request->inputs, options);
  request.times.compute_infer = Nanoseconds(Clock::now() - begin);
  if (!outputs.ok()) return request.Fail(outputs.status());
  if (request.turn != nullptr) request.turn->Keep(*outputs, /*copy=*/false);
  const int64_t rows = model.RowsOf(request.request->inputs);
  request.Reply({model.Reply(*request.request, *outputs), request.times, rows,
                 /*executed_rows=*/rows,
                 /*batch_rows=*/rows});
}

// The requests of a batch that are traced, of which each has the steps of the run.
class BatchTrace {
 public:
  explicit BatchTrace(const WaitingRequests& batch) {
    for (const WaitingRequest& each : batch)
      if (each.scheduled.trace != nullptr) traces_.push_back(each.scheduled.trace);
  }
  ~BatchTrace() {
    for (const TraceEvent& event : run_.events())
      for (const auto& trace : traces_) trace->Add(event);
  }
  // Null: none is traced.
  Trace* run() { return traces_.empty() ? nullptr : &run_; }

 private:
  std::vector<std::shared_ptr<Trace>> traces_;
  Trace run_;
};

absl::StatusOr<Session::Outputs> RunTraced(const ServedModel& model, const Session::Inputs& inputs,
                                           RunOptions options, const WaitingRequests& batch,
                                           Clock::time_point joining) {
  BatchTrace trace(batch);
  options.trace = trace.run();
  AddSpan(trace.run(), "joining", joining, Clock::now());
  return model.Run(inputs, options);
}

// False: they have to run one by one.
bool RunTogether(WaitingRequests& batch, RunPriority priority) {
  const Clock::time_point joining = Clock::now();
  const ServedModel& model = *batch.front().scheduled.model;
  std::vector<const Session::Inputs*> parts;
  int64_t rows = 0;
  for (const WaitingRequest& each : batch) {
    parts.push_back(&each.request->inputs);
    rows += RowsOf(each.request->inputs);
  }
  const auto inputs = Join(parts);
  if (!inputs.ok()) return false;
  const AllHaveLeft left(batch);
  RunOptions options;
  options.priority = priority;
  options.cancel = left.token();
  const Clock::time_point begin = Clock::now();
  const auto outputs = RunTraced(model, *inputs, options, batch, joining);
  const int64_t taken = Nanoseconds(Clock::now() - begin);
  if (!outputs.ok() || !HaveRows(*outputs, rows)) return false;
  int64_t first = 0;
  const ReplyBatch together;
  for (WaitingRequest& each : batch) {
    const int64_t own = RowsOf(each.request->inputs);
    each.times.compute_infer = taken;
    const Session::Outputs part = RowsFrom(*outputs, first, own);
    if (each.turn != nullptr) each.turn->Keep(part, /*copy=*/true);
    each.Reply({model.Reply(*each.request, part), each.times, own, first == 0 ? rows : 0, rows});
    first += own;
  }
  return true;
}

}  // namespace

void RunBatch(WaitingRequests& batch, RunPriority priority) {
  if (batch.size() > 1 && RunTogether(batch, priority)) return;
  for (WaitingRequest& each : batch) {
    if (each.has_left()) {
      each.Fail(absl::CancelledError("the client has left"));
    } else {
      RunAlone(each, priority);
    }
  }
}

}  // namespace onward::serving

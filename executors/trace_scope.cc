#include "executors/trace_scope.h"

#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace onward::executors {

void TraceScope::Record() {
  const auto end = std::chrono::steady_clock::now();
  const Node& node = program_.graph.node(step_.node);
  TraceEvent event;
  event.op = node.op_type;
  event.name = program_.graph.Describe(step_.node);
  event.kernel = step_.kernel_name;
  event.begin_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(begin_.time_since_epoch()).count();
  event.live_bytes = live_bytes_;
  event.inputs = std::move(inputs_);
  event.duration_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin_).count();
  event.thread =
      static_cast<uint32_t>(std::hash<std::thread::id>()(std::this_thread::get_id()) % 100000);
  trace_->Add(std::move(event));
}

}  // namespace onward::executors

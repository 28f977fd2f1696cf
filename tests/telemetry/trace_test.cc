#include "onward/trace.h"

#include <gtest/gtest.h>

namespace onward {
namespace {

TraceEvent Event(const std::string& op, const std::string& kernel, int64_t begin, int64_t duration,
                 uint32_t thread = 1) {
  TraceEvent event;
  event.op = op;
  event.kernel = kernel;
  event.begin_ns = begin;
  event.duration_ns = duration;
  event.thread = thread;
  return event;
}

std::vector<std::string> Rows(const std::vector<TraceEvent>& events) {
  std::vector<std::string> rows;
  for (const OpTime& time : OpTimesOf(events))
    rows.push_back(time.op + " " + time.kernel + " " + std::to_string(time.calls) + " " +
                   std::to_string(time.self_ns));
  return rows;
}

using Strings = std::vector<std::string>;

TEST(OpTimesOf, AddsUpOperatorsByKernel) {
  EXPECT_EQ(Rows({Event("Add", "a", 0, 5), Event("Conv", "direct", 5, 40),
                  Event("Conv", "winograd", 45, 20), Event("Add", "a", 65, 7)}),
            (Strings{"Conv direct 1 40", "Conv winograd 1 20", "Add a 2 12"}));
  EXPECT_EQ(Rows({}), Strings());
  // Equal times: by name.
  EXPECT_EQ(Rows({Event("B", "k", 0, 3), Event("A", "k", 3, 3)}), (Strings{"A k 1 3", "B k 1 3"}));
}

// Events are recorded when they end: those of a body before the node that it belongs to.
TEST(OpTimesOf, ABodyDoesNotCountTwice) {
  EXPECT_EQ(Rows({Event("Sin", "s", 10, 20), Event("Sin", "s", 40, 30), Event("If", "i", 5, 80),
                  Event("Add", "a", 90, 5), Event("Loop", "l", 0, 100), Event("Add", "a", 100, 4)}),
            (Strings{"Sin s 2 50", "If i 1 30", "Loop l 1 15", "Add a 2 9"}));
  // As long as its node, and of no time at all.
  EXPECT_EQ(Rows({Event("Sin", "s", 0, 8), Event("If", "i", 0, 8)}),
            (Strings{"Sin s 1 8", "If i 1 0"}));
  EXPECT_EQ(Rows({Event("Sin", "s", 0, 0), Event("If", "i", 0, 0), Event("Add", "a", 0, 4)}),
            (Strings{"Add a 1 4", "If i 1 0", "Sin s 1 0"}));
}

TEST(OpTimesOf, ThreadsDoNotNest) {
  EXPECT_EQ(Rows({Event("Add", "a", 10, 20, 2), Event("Conv", "c", 0, 100, 1)}),
            (Strings{"Conv c 1 100", "Add a 1 20"}));
}

}  // namespace
}  // namespace onward

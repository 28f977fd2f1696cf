#include "kernels/cpu/recurrent_states.h"

#include <algorithm>
#include <numeric>

#include "onward/status.h"

namespace onward::kernels::cpu {

int64_t RecurrentStates::Active(int64_t step) const {
  if (lens == nullptr) return step < g.steps ? g.batch : 0;
  int64_t rows = 0;
  while (rows < g.batch && Length(rows) > step) ++rows;
  return rows;
}

absl::Status RecurrentStates::Order(const RunContext& context, int32_t* room) {
  if (!context.has_input(4)) return absl::OkStatus();
  const absl::Span<const int32_t> given(context.in<int32_t>(4), static_cast<size_t>(g.batch));
  ONWARD_RETURN_IF_ERROR(CheckSequenceLens(given, g.steps));
  std::iota(room, room + given.size(), 0);
  std::sort(room, room + given.size(), [&](int32_t a, int32_t b) {
    return given[a] != given[b] ? given[a] > given[b] : a < b;
  });
  lens = given.data();
  sequences = room;
  return absl::OkStatus();
}

void RecurrentStates::Load(const RunContext& context, int input, float* rows) const {
  const float* from = context.has_input(input) ? context.in<float>(input) : nullptr;
  std::fill_n(rows, directions * g.batch * padded, 0.0f);
  for (int64_t d = 0; from != nullptr && d < directions; ++d) {
    for (int64_t n = 0; n < g.batch; ++n, rows += padded)
      std::copy_n(from + d * g.h_direction + Sequence(n) * g.h_batch, g.hidden, rows);
  }
}

void RecurrentStates::Store(const RunContext& context, int output, const float* rows,
                            int64_t row) const {
  for (int64_t d = 0; d < directions; ++d) {
    for (int64_t n = row; n < g.batch; ++n)
      StoreUnits(context, output, d, n, 0, g.hidden, rows + (d * g.batch + n) * padded);
  }
}

void RecurrentStates::StoreUnits(const RunContext& context, int output, int64_t direction,
                                 int64_t row, int64_t unit, int64_t count,
                                 const float* from) const {
  if (!context.has_output(output)) return;
  std::copy_n(
      from, count,
      context.out<float>(output) + direction * g.h_direction + Sequence(row) * g.h_batch + unit);
}

}  // namespace onward::kernels::cpu

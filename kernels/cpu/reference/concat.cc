// Concat and Split: rows of several tensors side by side in one.
#include "kernels/bind/concat.h"

#include <algorithm>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// Calls move(part, part's offset, whole's offset, count) for the runs that make up elements
// [begin, end) of the whole.
template <typename Move>
void ForEachRun(const Parts& parts, int64_t begin, int64_t end, const Move& move) {
  int64_t row = begin / parts.row, at = begin % parts.row;
  int64_t part = std::upper_bound(parts.ends, parts.ends + parts.count, at) - parts.ends;
  for (int64_t position = begin; position < end;) {
    const int64_t start = part == 0 ? 0 : parts.ends[part - 1];
    const int64_t run = std::min(parts.ends[part] - at, end - position);
    if (run > 0) move(part, row * (parts.ends[part] - start) + at - start, position, run);
    position += run;
    at += run;
    if (at < parts.ends[part]) continue;
    if (++part < parts.count) continue;
    part = 0, at = 0, ++row;
  }
}

template <int64_t kWidth, typename T>
void CopyNarrow(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride)
    for (int64_t c = 0; c < kWidth; ++c) to[c] = from[c];
}

// Copies the first `width` elements of each row.
template <typename T>
void CopyColumns(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t width,
                 int64_t rows) {
  if (width == 1) return CopyNarrow<1>(from, from_stride, to, to_stride, rows);
  if (width == 2) return CopyNarrow<2>(from, from_stride, to, to_stride, rows);
  if (width == 4) return CopyNarrow<4>(from, from_stride, to, to_stride, rows);
  for (int64_t r = 0; r < rows; ++r) CopyRun(from + r * from_stride, width, to + r * to_stride);
}

// Whether rows are so short that parts are moved column by column, many rows at a time.
template <typename T>
bool HasShortRows(const Parts& parts) {
  constexpr int64_t kShortRow = 256;  // bytes
  return parts.row > 0 && parts.row * static_cast<int64_t>(sizeof(T)) <= kShortRow;
}

// Calls move(part, its width, its first column, begin, end) for all parts of rows [begin, end): as
// many rows as the nearest cache holds.
template <typename T, typename Move>
void ForEachColumn(const RunContext& context, const Parts& parts, const Move& move) {
  const int64_t block = 8192 / (parts.row * static_cast<int64_t>(sizeof(T))) + 1;
  const int64_t grain = std::max<int64_t>(1, CopyGrain<T>() / parts.row);
  context.ParallelFor(parts.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row += block) {
      for (int64_t part = 0, start = 0; part < parts.count; start = parts.ends[part++])
        move(static_cast<int>(part), parts.ends[part] - start, start, row,
             std::min(end, row + block));
    }
  });
}

class ConcatInputs : public Kernel {
 public:
  explicit ConcatInputs(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindConcat(context, axis_, *context.NewState<Parts>());
  }
  absl::Status Run(RunContext& context) const override {
    const auto& parts = context.state<Parts>();
    // An empty part may lie where the output does.
    if (parts.count == 1 && context.input(0).data == context.output(0).data)
      return absl::OkStatus();
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = context.out<T>(0);
      if (HasShortRows<T>(parts)) {
        return ForEachColumn<T>(
            context, parts, [&](int part, int64_t width, int64_t at, int64_t begin, int64_t end) {
              CopyColumns(context.in<T>(part) + begin * width, width, out + begin * parts.row + at,
                          parts.row, width, end - begin);
            });
      }
      context.ParallelFor(parts.rows * parts.row, CopyGrain<T>(), [&](int64_t begin, int64_t end) {
        ForEachRun(parts, begin, end, [&](int64_t part, int64_t from, int64_t to, int64_t run) {
          CopyRun(context.in<T>(static_cast<int>(part)) + from, run, out + to);
        });
      });
    });
    return absl::OkStatus();
  }

 private:
  int64_t axis_;
};

class Split : public Kernel {
 public:
  explicit Split(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindSplit(context, axis_, *context.NewState<Parts>());
  }
  absl::Status Run(RunContext& context) const override {
    const auto& parts = context.state<Parts>();
    if (parts.count == 1 && context.has_output(0) &&
        context.input(0).data == context.output(0).data) {
      return absl::OkStatus();
    }
    DispatchElement(context.input(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* in = context.in<T>(0);
      if (HasShortRows<T>(parts)) {
        return ForEachColumn<T>(
            context, parts, [&](int part, int64_t width, int64_t at, int64_t begin, int64_t end) {
              if (!context.has_output(part)) return;
              CopyColumns(in + begin * parts.row + at, parts.row,
                          context.out<T>(part) + begin * width, width, width, end - begin);
            });
      }
      context.ParallelFor(parts.rows * parts.row, CopyGrain<T>(), [&](int64_t begin, int64_t end) {
        ForEachRun(parts, begin, end, [&](int64_t part, int64_t to, int64_t from, int64_t run) {
          const int output = static_cast<int>(part);
          if (context.has_output(output)) CopyRun(in + from, run, context.out<T>(output) + to);
        });
      });
    });
    return absl::OkStatus();
  }

 private:
  int64_t axis_;
};

Made MakeConcat(const NodeSpec& spec) {
  return std::make_unique<ConcatInputs>(spec.attributes().Int("axis", 0));
}

Made MakeSplit(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckSplit(spec));
  return std::make_unique<Split>(spec.attributes().Int("axis", 0));
}

constexpr KernelEntry kKernels[] = {
    {"", "Concat", "concat_reference", MakeConcat},
    {"", "Split", "split_reference", MakeSplit},
};

}  // namespace

KernelList ReferenceConcat() { return kKernels; }

}  // namespace onward::kernels::cpu

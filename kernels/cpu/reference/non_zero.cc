// NonZero and Compress: sizes depend on data.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using NonZeroTypes = Concat<Concat<NumericTypes, ComplexTypes>, TypeList<bool, std::string>>;

template <typename T>
bool IsNonZero(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return !value.empty();
  } else {
    return value != T();
  }
}

// Elements of one parallel chunk, and of one piece of it whose positions a thread keeps.
constexpr int64_t kChunk = 1 << 15, kPiece = 256;

// Writes which of `count` elements are not zero to positions[0, result), of `count` numbers.
template <typename T>
int64_t Positions(const T* data, int64_t count, int64_t* positions) {
  int64_t found = 0, i = 0;
  if constexpr (sizeof(T) == 1) {
    for (; i + 8 <= count; i += 8) {
      uint64_t all;
      std::memcpy(&all, data + i, sizeof(all));
      if (all == 0) continue;
      for (int64_t j = i; j < i + 8; ++j) {
        positions[found] = j;
        found += IsNonZero(data[j]) ? 1 : 0;
      }
    }
  }
  for (; i < count; ++i) {
    positions[found] = i;
    found += IsNonZero(data[i]) ? 1 : 0;
  }
  return found;
}

// Writes the places of elements [begin, end) that are not zero as columns of `indices`, from
// column `k` on; rows of `indices` have `found` elements, one row an axis.
template <typename T>
void WritePlaces(const TensorView& in, int64_t begin, int64_t end, int64_t k, int64_t found,
                 int64_t* indices) {
  const int64_t rank = in.rank();
  if (rank == 0) return;
  const int64_t columns = in.dims.back();
  int64_t positions[kPiece];
  for (int64_t i = begin; i < end;) {
    const int64_t first = i % columns;
    const int64_t count = std::min({columns - first, end - i, kPiece});
    const int64_t here = Positions(in.as<const T>() + i, count, positions);
    int64_t rest = i / columns;
    for (int64_t axis = rank - 1; axis-- > 0 && here > 0; rest /= in.dim(axis))
      std::fill_n(indices + axis * found + k, here, rest % in.dim(axis));
    int64_t* last = indices + (rank - 1) * found + k;
    for (int64_t j = 0; j < here; ++j) last[j] = first + positions[j];
    k += here;
    i += count;
  }
}

int64_t NumChunks(int64_t elements) { return (elements + kChunk - 1) / kChunk; }

template <typename T>
class NonZero : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    context.SetScratch(NumChunks(NumElements(context.input_dims(0))) *
                       static_cast<int64_t>(sizeof(int64_t)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const int64_t count = in.num_elements(), chunks = NumChunks(count);
    auto* before = context.scratch<int64_t>();  // how many a chunk has, then how many are before it
    const auto for_each_chunk = [&](auto body) {
      context.ParallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c)
          body(c * kChunk, std::min(count, (c + 1) * kChunk), before[c]);
      });
    };
    for_each_chunk([&](int64_t begin, int64_t end, int64_t& number) {
      number = 0;
      for (int64_t i = begin; i < end; ++i) number += IsNonZero(in.as<const T>()[i]) ? 1 : 0;
    });
    int64_t found = 0;
    for (int64_t c = 0; c < chunks; ++c) found += std::exchange(before[c], found);
    ONWARD_ASSIGN_OR_RETURN(const TensorView out,
                            context.AllocateOutput(0, DType::kInt64, {in.rank(), found}));
    for_each_chunk([&](int64_t begin, int64_t end, int64_t number) {
      WritePlaces<T>(in, begin, end, number, found, out.as<int64_t>());
    });
    return absl::OkStatus();
  }
};

class Compress : public Kernel {
 public:
  explicit Compress(std::optional<int64_t> axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    context.SetScratch(NumElements(context.input_dims(1)) * static_cast<int64_t>(sizeof(int64_t)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const absl::Span<const bool> condition = context.input(1).span<bool>();
    int64_t outer = 1, dim = in.num_elements(), inner = 1;
    Dims out(1, 0);
    size_t axis = 0;
    if (axis_) {
      ONWARD_ASSIGN_OR_RETURN(const int64_t normalized, NormalizeAxis(*axis_, in.rank()));
      axis = static_cast<size_t>(normalized);
      outer = NumElements(in.dims, 0, normalized);
      dim = in.dims[axis];
      inner = NumElements(in.dims, normalized + 1, in.rank());
      out.assign(in.dims.begin(), in.dims.end());
    }
    auto* positions = context.scratch<int64_t>();
    const int64_t kept =
        Positions(condition.data(), static_cast<int64_t>(condition.size()), positions);
    if (kept > 0 && positions[kept - 1] >= dim) {
      return absl::InvalidArgumentError(absl::StrCat(
          "condition selects position ", positions[kept - 1], " of an axis of size ", dim));
    }
    out[axis] = kept;
    ONWARD_ASSIGN_OR_RETURN(const TensorView result, context.AllocateOutput(0, in.dtype, out));
    DispatchElement(in.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = in.as<const T>();
      T* to = result.as<T>();
      const int64_t grain = std::max<int64_t>(1, CopyGrain<T>() / std::max<int64_t>(1, inner));
      context.ParallelFor(outer * kept, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t at = row / kept * dim + positions[row % kept];
          CopyRun(from + at * inner, inner, to + row * inner);
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  std::optional<int64_t> axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeNonZero(const NodeSpec& spec) {
  std::unique_ptr<Kernel> made;
  DispatchDType(NonZeroTypes(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<NonZero<typename decltype(tag)::type>>();
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCompress(const NodeSpec& spec) {
  std::optional<int64_t> axis;
  if (spec.attributes().Has("axis")) axis = spec.attributes().Int("axis", 0);
  return std::make_unique<Compress>(axis);
}

constexpr KernelEntry kKernels[] = {
    {"", "NonZero", "non_zero_reference", MakeNonZero},
    {"", "Compress", "compress_reference", MakeCompress},
};

}  // namespace

KernelList ReferenceNonZero() { return kKernels; }

}  // namespace onward::kernels::cpu

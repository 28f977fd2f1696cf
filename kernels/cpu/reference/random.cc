// RandomUniform, RandomNormal (and Like), Bernoulli and Multinomial.
#include "kernels/bind/random.h"

#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/random_source.h"

namespace onward::kernels::cpu {
namespace {

// Elements [begin, end), of which the first one has number `at` of the stream.
struct Part {
  int64_t begin, end, at;
};

// Calls use(i, number) for the elements of a part.
template <typename Numbers, typename C, typename Use>
void ForEachNumber(const RandomStream& stream, const Part& part, const Use& use) {
  C numbers[Numbers::kPerBlock];
  int64_t at = part.at;
  for (int64_t i = part.begin; i < part.end;) {
    Numbers::Draw(stream, static_cast<uint64_t>(at / Numbers::kPerBlock), numbers);
    for (int64_t k = at % Numbers::kPerBlock; k < Numbers::kPerBlock && i < part.end; ++k, ++at)
      use(i++, numbers[k]);
  }
}

// out = first + number * second: [low, high) or mean and deviation.
template <typename T, bool normal>
void Fill(const RandomStream& stream, float first, float second, const Part& part, void* out_data) {
  using C = ComputeType<T>;
  using Numbers = std::conditional_t<normal, NormalNumbers<C>, UniformNumbers<C>>;
  T* out = static_cast<T*>(out_data);
  ForEachNumber<Numbers, C>(stream, part, [&](int64_t i, C number) {
    if constexpr (normal) {
      out[i] = static_cast<T>(C(first) + number * C(second));
    } else {
      out[i] = static_cast<T>(C(first) + number * (C(second) - C(first)));
      // Rounding may reach the bound that is excluded.
      if (static_cast<C>(out[i]) >= C(second)) out[i] = static_cast<T>(C(first));
    }
  });
}

using FillLoop = void (*)(const RandomStream& stream, float first, float second, const Part& part,
                          void* out);

class RandomFill : public Kernel {
 public:
  RandomFill(FillLoop loop, RandomSource source, RandomFillAttributes attributes)
      : loop_(loop), source_(source), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, attributes_.OutputDims(context));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const RandomStream stream = source_.Stream(context);
    void* out = context.output(0).data;
    const BatchElements elements = source_.Elements(context, context.output(0).dims);
    const auto draw = [&](int64_t begin, int64_t end, int64_t at) {
      loop_(stream, attributes_.first, attributes_.second, {begin, end, at}, out);
    };
    context.ParallelFor(
        context.output(0).num_elements(), kMathGrain,
        [&](int64_t begin, int64_t end) { elements.ForEachPart(begin, end, draw); });
    return absl::OkStatus();
  }
  bool pure() const override { return false; }

 private:
  FillLoop loop_;
  RandomSource source_;
  RandomFillAttributes attributes_;
};

template <bool normal, bool like>
absl::StatusOr<std::unique_ptr<Kernel>> MakeRandomFill(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(RandomFillAttributes attributes, ParseRandomFill(spec, normal, like));
  FillLoop loop = nullptr;
  DispatchDType(FloatTypes(), attributes.dtype,
                [&](auto tag) { loop = Fill<typename decltype(tag)::type, normal>; });
  if (loop == nullptr) return NoLoopFor(attributes.dtype);
  return std::make_unique<RandomFill>(loop, RandomSource(spec), std::move(attributes));
}

// 1 with the probability that the input gives.
template <typename P, typename T>
void DrawBernoulli(const RandomStream& stream, const void* probabilities, void* out_data,
                   const Part& part) {
  using C = ComputeType<P>;
  const P* p = static_cast<const P*>(probabilities);
  T* out = static_cast<T*>(out_data);
  ForEachNumber<UniformNumbers<C>, C>(stream, part, [&](int64_t i, C number) {
    out[i] = static_cast<T>(number < static_cast<C>(p[i]) ? 1.0f : 0.0f);
  });
}

using BernoulliLoop = void (*)(const RandomStream& stream, const void* probabilities, void* out,
                               const Part& part);

class Bernoulli : public Kernel {
 public:
  Bernoulli(BernoulliLoop loop, RandomSource source) : loop_(loop), source_(source) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const RandomStream stream = source_.Stream(context);
    const void* in = context.input(0).data;
    void* out = context.output(0).data;
    const BatchElements elements = source_.Elements(context, context.input(0).dims);
    const auto draw = [&](int64_t begin, int64_t end, int64_t at) {
      loop_(stream, in, out, {begin, end, at});
    };
    context.ParallelFor(
        context.input(0).num_elements(), kMathGrain,
        [&](int64_t begin, int64_t end) { elements.ForEachPart(begin, end, draw); });
    return absl::OkStatus();
  }
  bool pure() const override { return false; }

 private:
  BernoulliLoop loop_;
  RandomSource source_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeBernoulli(const NodeSpec& spec) {
  const DType dtype = DTypeAttribute(spec, spec.input_dtype(0));
  BernoulliLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto in) {
    DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto out) {
      loop = DrawBernoulli<typename decltype(in)::type, typename decltype(out)::type>;
    });
  });
  if (loop == nullptr) return NoLoopFor(dtype);
  return std::make_unique<Bernoulli>(loop, RandomSource(spec));
}

// Samples one row: the first class whose cumulative probability exceeds the number.
template <typename T>
void CumulateRow(const void* in, int64_t row, int64_t classes, double* cumulative) {
  const T* x = static_cast<const T*>(in) + row * classes;
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t c = 0; c < classes; ++c)
    top = std::max(top, static_cast<double>(static_cast<ComputeType<T>>(x[c])));
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    sum += std::exp(static_cast<double>(static_cast<ComputeType<T>>(x[c])) - top);
    cumulative[c] = sum;
  }
}

using CumulateLoop = void (*)(const void* in, int64_t row, int64_t classes, double* cumulative);

class Multinomial : public Kernel {
 public:
  Multinomial(CumulateLoop loop, RandomSource source, int64_t samples)
      : loop_(loop), source_(source), samples_(samples) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (dims.size() != 2 || (dims[1] == 0 && dims[0] > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input has shape ", DimsString(dims), ", must be [batch, classes] with classes > 0"));
    }
    context.SetOutput(0, {dims[0], samples_});
    context.SetScratch(dims[1] * static_cast<int64_t>(sizeof(double)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const RandomStream stream = source_.Stream(context);
    const int64_t rows = context.input(0).dim(0), classes = context.input(0).dim(1);
    double* cumulative = context.scratch<double>();
    const TensorView& out = context.output(0);
    const BatchElements elements = source_.Elements(context, out.dims);
    for (int64_t row = 0; row < rows; ++row) {
      loop_(context.input(0).data, row, classes, cumulative);
      for (int64_t s = 0; s < samples_; ++s) {
        double numbers[2];
        UniformNumbers<double>::Draw(stream, static_cast<uint64_t>(elements.At(row * samples_ + s)),
                                     numbers);
        const double wanted = numbers[0] * cumulative[classes - 1];
        const int64_t index = std::min<int64_t>(
            classes - 1, std::upper_bound(cumulative, cumulative + classes, wanted) - cumulative);
        if (out.dtype == DType::kInt64) {
          out.as<int64_t>()[row * samples_ + s] = index;
        } else {
          out.as<int32_t>()[row * samples_ + s] = static_cast<int32_t>(index);
        }
      }
    }
    return absl::OkStatus();
  }
  bool pure() const override { return false; }

 private:
  CumulateLoop loop_;
  RandomSource source_;
  int64_t samples_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMultinomial(const NodeSpec& spec) {
  const DType dtype = DTypeAttribute(spec, DType::kInt32);
  const int64_t samples = spec.attributes().Int("sample_size", 1);
  if (samples < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("sample_size is ", samples, ", must be at least 0"));
  CumulateLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = CumulateRow<typename decltype(tag)::type>; });
  if (loop == nullptr || (dtype != DType::kInt32 && dtype != DType::kInt64))
    return NoLoopFor(loop == nullptr ? spec.input_dtype(0) : dtype);
  return std::make_unique<Multinomial>(loop, RandomSource(spec), samples);
}

constexpr KernelEntry kKernels[] = {
    {"", "Bernoulli", "bernoulli_reference", MakeBernoulli},
    {"", "Multinomial", "multinomial_reference", MakeMultinomial},
    {"", "RandomNormal", "random_normal_reference", MakeRandomFill<true, false>},
    {"", "RandomNormalLike", "random_normal_like_reference", MakeRandomFill<true, true>},
    {"", "RandomUniform", "random_uniform_reference", MakeRandomFill<false, false>},
    {"", "RandomUniformLike", "random_uniform_like_reference", MakeRandomFill<false, true>},
};

}  // namespace

KernelList ReferenceRandom() { return kKernels; }

}  // namespace onward::kernels::cpu

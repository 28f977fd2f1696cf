#include "cli/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace onward::cli {
namespace {

constexpr int64_t kShown = 6;

struct Statistics {
  double min = 0, max = 0, mean = 0;
  int64_t not_finite = 0;
};

template <typename T>
Statistics StatisticsOf(absl::Span<const T> values) {
  Statistics s;
  int64_t finite = 0;
  for (const T& element : values) {
    const auto x = static_cast<double>(element);
    if (!std::isfinite(x)) {
      ++s.not_finite;
      continue;
    }
    s.min = finite == 0 ? x : std::min(s.min, x);
    s.max = finite == 0 ? x : std::max(s.max, x);
    s.mean += x;
    ++finite;
  }
  if (finite > 0) s.mean /= static_cast<double>(finite);
  return s;
}

using Summarizable = Concat<Concat<NumericTypes, Float8Types>, TypeList<bool>>;

void AddNumbers(const Tensor& tensor, ValueSummary& summary) {
  DispatchDType(Summarizable(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Statistics s = StatisticsOf(tensor.span<T>());
    std::vector<std::string> shown;
    for (int64_t i = 0; i < std::min(kShown, tensor.num_elements()); ++i) {
      shown.push_back(absl::StrFormat("%.6g", static_cast<double>(tensor.data<T>()[i])));
    }
    summary.json["min"] = s.min;
    summary.json["max"] = s.max;
    summary.json["mean"] = s.mean;
    summary.json["not_finite"] = s.not_finite;
    absl::StrAppend(&summary.text,
                    absl::StrFormat("  min %.6g  max %.6g  mean %.6g", s.min, s.max, s.mean));
    if (s.not_finite > 0) absl::StrAppend(&summary.text, "  not finite: ", s.not_finite);
    absl::StrAppend(&summary.text, "  [", absl::StrJoin(shown, ", "),
                    tensor.num_elements() > kShown ? ", ..." : "", "]");
  });
}

nlohmann::json ScalarJson(const Tensor& tensor) {
  nlohmann::json json;
  if (tensor.dtype() == DType::kString) return *tensor.data<std::string>();
  DispatchDType(NumericTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      json = *tensor.data<T>();
    } else {
      json = static_cast<double>(*tensor.data<T>());
    }
  });
  return json;
}

// "map {setosa: 0.97, ...}"
std::string MapText(const nlohmann::json& map) {
  std::string text = "map {";
  int count = 0;
  for (const auto& [key, value] : map.items()) {
    if (count++ == 6) {
      text += ", ...";
      break;
    }
    absl::StrAppend(&text, count > 1 ? ", " : "", key, ": ",
                    value.is_number_float() ? absl::StrCat(value.get<double>()) : value.dump());
  }
  return text + "}";
}

}  // namespace

nlohmann::json MapJson(const MapData& map) {
  nlohmann::json json = nlohmann::json::object();
  if (const auto* numbers = std::get_if<std::map<int64_t, Tensor>>(&map)) {
    for (const auto& [key, value] : *numbers) json[std::to_string(key)] = ScalarJson(value);
  } else {
    for (const auto& [key, value] : std::get<std::map<std::string, Tensor>>(map))
      json[key] = ScalarJson(value);
  }
  return json;
}

ValueSummary Summarize(const std::string& name, const Value& value) {
  ValueSummary summary;
  summary.json["name"] = name;
  if (value.is_tensor()) {
    const Tensor& tensor = value.tensor();
    summary.json["dtype"] = std::string(DTypeName(tensor.dtype()));
    summary.json["shape"] = std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end());
    summary.text =
        absl::StrCat(name, ": ", std::string(DTypeName(tensor.dtype())), DimsString(tensor.dims()));
    if (tensor.num_elements() == 0) return summary;
    if (tensor.dtype() == DType::kString) {
      absl::StrAppend(&summary.text, "  [\"", tensor.data<std::string>()[0], "\"",
                      tensor.num_elements() > 1 ? ", ..." : "", "]");
    } else {
      AddNumbers(tensor, summary);
    }
    return summary;
  }
  const std::string kind = value.is_sequence()
                               ? absl::StrCat("sequence of ", value.sequence().size())
                           : value.is_map() ? "map"
                                            : "none";
  summary.json["kind"] = kind;
  summary.text = absl::StrCat(name, ": ", kind);
  if (value.is_map()) {
    summary.json["map"] = MapJson(value.map());
    summary.text = absl::StrCat(name, ": ", MapText(summary.json["map"]));
  }
  if (!value.is_sequence()) return summary;
  summary.json["elements"] = nlohmann::json::array();
  for (size_t i = 0; i < value.sequence().size(); ++i) {
    const ValueSummary element = Summarize(absl::StrCat(name, "[", i, "]"), value.sequence()[i]);
    summary.json["elements"].push_back(element.json);
    if (i < 4) absl::StrAppend(&summary.text, "\n  ", element.text);
  }
  return summary;
}

void AddClasses(const Value& value, const std::vector<std::string>& names, ValueSummary& summary) {
  constexpr int64_t kBest = 3, kRows = 4;
  if (!value.is_tensor() || names.empty()) return;
  const Tensor& tensor = value.tensor();
  const auto count = static_cast<int64_t>(names.size());
  const size_t axis = tensor.rank() == 1 ? 0 : 1;
  if (tensor.rank() == 0 || tensor.dims()[axis] != count || tensor.num_elements() == 0 ||
      NumElements(tensor.dims(), axis + 1, tensor.rank()) != 1)
    return;
  nlohmann::json rows = nlohmann::json::array();
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = 0; row < tensor.num_elements() / count; ++row) {
      const T* scores = tensor.data<T>() + row * count;
      std::vector<int64_t> order(names.size());
      std::iota(order.begin(), order.end(), 0);
      const int64_t best = std::min(kBest, count);
      std::partial_sort(order.begin(), order.begin() + best, order.end(),
                        [&](int64_t a, int64_t b) {
                          return static_cast<double>(scores[a]) > static_cast<double>(scores[b]);
                        });
      nlohmann::json classes = nlohmann::json::array();
      std::string text = absl::StrCat("\n  row ", row, ":");
      for (int64_t i = 0; i < best; ++i) {
        const std::string& name = names[static_cast<size_t>(order[i])];
        const auto score = static_cast<double>(scores[order[i]]);
        classes.push_back({{"class", name}, {"index", order[i]}, {"score", score}});
        absl::StrAppend(&text, i == 0 ? " " : ", ", name, " ", absl::StrFormat("%.4g", score));
      }
      rows.push_back(std::move(classes));
      if (row < kRows) summary.text += text;
    }
  });
  summary.json["classes"] = std::move(rows);
}

}  // namespace onward::cli

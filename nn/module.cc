#include "onward/nn/module.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/base/name_pattern.h"
#include "graph/ir/graph_edit.h"

namespace onward::nn {
namespace {

std::string Joined(const std::string& path, std::string_view name) {
  if (path.empty()) return std::string(name);
  return name.empty() ? path : absl::StrCat(path, ".", std::string(name));
}

}  // namespace

Module::Module(GraphSink& sink, const ModuleOptions& options)
    : sink_(&sink), options_(options), starts_(std::make_shared<std::vector<Start>>()) {
  Require(DispatchDType(FloatTypes(), options.dtype, [](auto) {}),
          "parameters must be float, double, float16 or bfloat16");
  sink.graph().metadata[kModulesKey] = "yes";
}

Module::Module(Module& parent, std::string_view name)
    : sink_(parent.sink_),
      options_(parent.options_),
      starts_(parent.starts_),
      path_(Joined(parent.path_, name)) {}

bool Module::Require(bool condition, std::string_view message) {
  if (condition) return true;
  sink_->Fail(absl::InvalidArgumentError(absl::StrCat(
      path_.empty() ? "" : absl::StrCat("module '", path_, "': "), std::string(message))));
  return false;
}

Expr Module::AddTensor(std::string_view name, Tensor value) {
  const std::string full = Joined(path_, name);
  if (!Require(!sink_->graph().FindValue(full).valid(),
               absl::StrCat("there is already a value '", full, "'")))
    return {};
  const Scope outside(*this, "/");
  return sink_->Constant(std::move(value), full);
}

void Module::StartWith(std::vector<std::string> patterns, Init init) {
  starts_->push_back({std::move(patterns), std::move(init)});
}

Expr Module::AddParameter(std::string_view name, DimsView dims, const Init& own) {
  const std::string full = Joined(path_, name);
  const auto start = std::find_if(starts_->rbegin(), starts_->rend(), [&](const Start& each) {
    return MatchesAny(full, each.patterns);
  });
  const Init& init = start == starts_->rend() ? own : start->init;
  bool fits = CheckedNumElements(dims).ok();
  for (const int64_t dim : dims) fits &= dim >= 1;
  if (!Require(fits, absl::StrCat("parameter ", std::string(name), " cannot have the shape ",
                                  DimsString(dims))) ||
      !sink_->status().ok())
    return {};
  const Expr made = AddTensor(name, Draw(init, options_.dtype, dims, options_.seed, full));
  if (made.valid()) GraphEdit(sink_->graph()).metadata(made.id())[kInitKey] = init.description;
  return made;
}

Expr Module::AddBuffer(std::string_view name, Tensor value) {
  const Expr made = AddTensor(name, std::move(value));
  if (made.valid()) GraphEdit(sink_->graph()).metadata(made.id())[kFrozenKey] = "buffer";
  return made;
}

void Module::Initialize(absl::Span<const std::string> patterns, const Init& init) {
  Graph& graph = sink_->graph();
  const std::string prefix = path_.empty() ? "" : path_ + ".";
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueData& value = graph.value({i});
    if (!value.constant || !value.metadata.contains(kInitKey) || !value.name.starts_with(prefix) ||
        !MatchesAny(std::string_view(value.name).substr(prefix.size()), patterns))
      continue;
    GraphEdit(graph).constant({i}) =
        Draw(init, value.constant->dtype(), value.constant->dims(), options_.seed, value.name);
    GraphEdit(graph).metadata({i})[kInitKey] = init.description;
  }
}

Module::Scope::Scope(const Module& module, std::string_view part)
    : sink_(module.sink()), outer_(sink_.prefix()), outer_module_(sink_.module()) {
  const std::string path = Joined(module.path(), part);
  sink_.set_module(part == "/" ? module.path() : path);
  sink_.set_prefix(part == "/" || path.empty() ? "" : path + "/");
}

Expr Sequential::Forward(const Expr& x) {
  Expr y = x;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Scope scope(*this, std::to_string(i));
    y = steps_[i](y);
  }
  return y;
}

}  // namespace onward::nn

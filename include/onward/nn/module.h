// Models of modules, in the way of torch.nn: a module has parameters and children, and is called on
// expressions.
//
//   struct Classifier : nn::Layer {
//     explicit Classifier(Module& parent) : Layer(parent, "") {}
//     Expr Forward(const Expr& x) override { return fc2(Relu(fc1(x))); }
//     nn::Linear fc1{*this, "fc1", 784, 512}, fc2{*this, "fc2", 512, 10};
//   };
//   GraphBuilder b("classifier");
//   nn::Module root(b, {.seed = 1});
//   b.Output("logits", Classifier(root)(b.Input("image", DType::kFloat32, {"batch", 784})));
//   absl::StatusOr<Model> model = b.Build();
//
// A parameter is a constant of the graph from the module's construction on, named as PyTorch's
// state_dict names it ("fc1.weight"), and starts as PyTorch starts it. Calling a module twice uses
// the same parameters. Graphs are in the form for inference; training/prepare/mode.h makes them
// train. What is wrong with a module's arguments is kept by the sink (GraphBuilder::Build says it).
//
// What has no parameters (activations, pooling, dropout, ...) is a function object: nn::ReLU()(x).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "onward/builder.h"
#include "onward/nn/init.h"

namespace onward::nn {

using expr::Concat;
using expr::Op;
using expr::Ops;

// In the graph's metadata: its parameters are those that say so.
inline constexpr char kModulesKey[] = "onward.modules";
// In the metadata of a parameter's value: its Init's description; for what is not trained, why
// ("buffer", "frozen").
inline constexpr char kInitKey[] = "onward.init";
inline constexpr char kFrozenKey[] = "onward.frozen";

struct SpectralNormOptions;

struct ModuleOptions {
  DType dtype = DType::kFloat32;  // of parameters: float, double, float16, bfloat16
  uint64_t seed = 0;
};

class Module {
 public:
  // The root of a model.
  explicit Module(GraphSink& sink, const ModuleOptions& options = {});
  // A part of `parent`, which must outlive it. An empty name adds nothing to the path.
  Module(Module& parent, std::string_view name);
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  GraphSink& sink() const { return *sink_; }
  DType dtype() const { return options_.dtype; }
  const std::string& path() const { return path_; }  // "layer1.0.conv1"

  // Parameters of the model that are made from now on start with `init` in place of their own where
  // their whole name matches one of the patterns; the latest call that does counts.
  void StartWith(std::vector<std::string> patterns, Init init);
  // Draws anew the parameters of this module and its parts whose name, below this module's path,
  // matches one of the patterns (graph/base/name_pattern.h).
  void Initialize(absl::Span<const std::string> patterns, const Init& init);

 protected:
  Expr AddParameter(std::string_view name, DimsView dims, const Init& init);
  // Adds a tensor that is not trained but belongs to the state: running statistics.
  Expr AddBuffer(std::string_view name, Tensor value);
  // Keeps an InvalidArgument that names this module; returns whether `condition` held.
  bool Require(bool condition, std::string_view message);

  // While it lives, new values' names begin with the module's path, and errors name the module.
  class Scope {
   public:
    explicit Scope(const Module& module, std::string_view part = "");
    ~Scope() {
      sink_.set_prefix(outer_);
      sink_.set_module(outer_module_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphSink& sink_;
    const std::string outer_, outer_module_;
  };

 private:
  friend void WeightNorm(Module& module, Expr& weight, int64_t axis);
  friend void SpectralNorm(Module& module, Expr& weight, const SpectralNormOptions& options);

  Expr AddTensor(std::string_view name, Tensor value);

  struct Start {
    std::vector<std::string> patterns;
    Init init;
  };

  GraphSink* sink_;
  ModuleOptions options_;
  std::shared_ptr<std::vector<Start>> starts_;  // the whole model's
  std::string path_;
};

// A module of one input and one output.
class Layer : public Module {
 public:
  using Module::Module;
  Expr operator()(const Expr& x) {
    const Scope scope(*this);
    return Forward(x);
  }
  virtual Expr Forward(const Expr& x) = 0;
};

using Function = std::function<Expr(const Expr& x)>;

// Layers and functions one after the other, named "0", "1", ... or as given.
class Sequential : public Layer {
 public:
  using Layer::Layer;
  Expr Forward(const Expr& x) override;

  // M(*this, name, arguments...).
  template <typename M, typename... Arguments>
  M& Add(Arguments&&... arguments) {
    return AddNamed<M>(std::to_string(steps_.size()), std::forward<Arguments>(arguments)...);
  }
  template <typename M, typename... Arguments>
  M& AddNamed(std::string_view name, Arguments&&... arguments) {
    auto made = std::make_shared<M>(*this, name, std::forward<Arguments>(arguments)...);
    M& layer = *made;
    steps_.push_back([made](const Expr& x) { return (*made)(x); });
    return layer;
  }
  void Add(Function function) { steps_.push_back(std::move(function)); }
  size_t size() const { return steps_.size(); }

 private:
  std::vector<Function> steps_;
};

// Modules of one type, named "0", "1", ...
template <typename M>
class ModuleList : public Module {
 public:
  using Module::Module;
  template <typename... Arguments>
  M& Add(Arguments&&... arguments) {
    modules_.push_back(std::make_unique<M>(*this, std::to_string(modules_.size()),
                                           std::forward<Arguments>(arguments)...));
    return *modules_.back();
  }
  M& operator[](size_t i) { return *modules_[i]; }
  size_t size() const { return modules_.size(); }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }

 private:
  std::vector<std::unique_ptr<M>> modules_;
};

// Modules of one type by name.
template <typename M>
class ModuleDict : public Module {
 public:
  using Module::Module;
  template <typename... Arguments>
  M& Add(std::string name, Arguments&&... arguments) {
    auto made = std::make_unique<M>(*this, name, std::forward<Arguments>(arguments)...);
    return *(modules_[std::move(name)] = std::move(made));
  }
  M& at(const std::string& name) { return *modules_.at(name); }
  bool contains(const std::string& name) const { return modules_.contains(name); }

 private:
  std::map<std::string, std::unique_ptr<M>> modules_;
};

}  // namespace onward::nn
